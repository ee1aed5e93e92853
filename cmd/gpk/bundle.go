package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gpk-go/gpk/cutlass"
)

// programs are the programs of a bundle, with the go commands that build them.
var programs = []struct {
	file string
	args []string
}{
	{"gpk", []string{"build", "./cmd/gpk"}},
	{"benchmark", []string{"build", "./benchmark"}},
	{"gpktest", []string{"test", "-c", "./gpktest"}},
}

// bundle makes a folder that runs on a machine with only a driver: the programs find the
// library in their own folder.
func bundle(ctx context.Context, args []string, std streams) error {
	fs := flag.NewFlagSet("bundle", flag.ContinueOnError)
	archive := fs.Bool("tar", false, "also write DIR.tar.gz")
	if err := parse(fs, args, std); err != nil {
		return err
	}
	if fs.NArg() != 1 {
		return usageError{errors.New("want one folder")}
	}
	dir, err := filepath.Abs(fs.Arg(0))
	if err != nil {
		return err
	}
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	root, err := checkout(wd)
	if err != nil {
		return err
	}
	library, err := usableLibrary()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files, err := buildPrograms(ctx, root, dir, std)
	if err != nil {
		return err
	}
	libraries, err := copyLibraries(filepath.Dir(library), dir)
	if err != nil {
		return err
	}
	if _, err := complete(filepath.Join(dir, cutlass.LibraryName)); err != nil {
		return err
	}
	if *archive {
		if err := writeTar(dir+".tar.gz", filepath.Base(dir), append(files, libraries...)); err != nil {
			return err
		}
		fmt.Fprintln(std.out, dir+".tar.gz")
	}
	fmt.Fprintf(std.out, "%s\nthere: ./gpktest -test.v, ./benchmark -quick, ./gpk doctor\n", dir)
	return nil
}

// buildPrograms builds the programs of a bundle in dir, from the checkout root, and returns their files.
func buildPrograms(ctx context.Context, root, dir string, std streams) (files []string, err error) {
	for _, p := range programs {
		fmt.Fprintln(std.err, "building", p.file)
		file := filepath.Join(dir, p.file)
		flags := []string{"-trimpath", "-ldflags=-s -w", "-o", file}
		verb := len(p.args) - 1
		cmd := exec.CommandContext(ctx, "go", append(append(p.args[:verb:verb], flags...), p.args[verb])...)
		cmd.Dir, cmd.Stderr = root, std.err
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("building %s: %w", p.file, err)
		}
		files = append(files, file)
	}
	return files, nil
}

// copyLibraries copies the library and its companions, with their sidecars, and returns the copies.
func copyLibraries(from, to string) (files []string, err error) {
	names := []string{cutlass.LibraryName}
	for _, name := range cutlass.Companions() {
		names = append(names, cutlass.CompanionLibrary(name))
	}
	for _, name := range names {
		library, copied := filepath.Join(from, name), filepath.Join(to, name)
		err := errors.Join(copyFile(library, copied, 0o755), copyFile(cutlass.KernelLibrarySidecar(library), cutlass.KernelLibrarySidecar(copied), 0o644))
		if err != nil {
			return nil, err
		}
		files = append(files, copied, cutlass.KernelLibrarySidecar(copied))
	}
	return files, nil
}

// checkout finds the folder of this module's go.mod, in dir or above it.
func checkout(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+module+"\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in a checkout of %s, which a bundle is built from", dir, module)
		}
	}
}

// complete checks the library at path and its companions beside it, and that all are of this
// program's sources and of one build.
func complete(path string) (resolved string, err error) {
	resolved, s, err := cutlass.Check(path)
	if err != nil {
		return "", err
	}
	if s.KernelSet != cutlass.KernelSetHash() {
		return "", fmt.Errorf("%s: built from other sources", resolved)
	}
	for _, name := range cutlass.Companions() {
		file, own, err := cutlass.CheckCompanion(filepath.Join(filepath.Dir(resolved), cutlass.CompanionLibrary(name)))
		if err != nil {
			return "", err
		}
		if !own.SameBuild(s) {
			return "", fmt.Errorf("%s and %s come from different builds", file, resolved)
		}
	}
	return resolved, nil
}

// usableLibrary returns the first library of the search path that is complete, with its
// companions, and was built from this program's sources.
func usableLibrary() (string, error) {
	var errs []error
	for _, c := range cutlass.SearchPath() {
		if c.Err != nil || c.Embedded != nil {
			continue
		}
		path, err := complete(c.Path)
		if err == nil {
			return path, nil
		}
		if _, gone := os.Lstat(c.Path); gone == nil || c.Asked {
			errs = append(errs, err)
		}
	}
	return "", errors.Join(append(errs, fmt.Errorf("no kernel library of this program's sources; first: %s", invocation("setup")))...)
}

// copyFile atomically replaces the file `to` by a copy of from. A program may have the
// old file mapped, and from may be the same file.
func copyFile(from, to string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".copy-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // it no longer exists after the rename
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(mode), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), to)
}

// writeTar packs the files into folder name of a compressed archive.
func writeTar(path, name string, files []string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	zip := gzip.NewWriter(out)
	archive := tar.NewWriter(zip)
	for _, file := range files {
		if err = addFile(archive, name, file); err != nil {
			break
		}
	}
	return errors.Join(err, archive.Close(), zip.Close(), out.Close())
}

func addFile(archive *tar.Writer, name, file string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	header, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	header.Name = name + "/" + filepath.Base(file)
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(archive, in)
	return err
}
