package setup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpk-go/gpk/cutlass"
)

// ErrPrebuilt is the error for prebuilt kernels that exist but cannot be used.
var ErrPrebuilt = errors.New("prebuilt kernels refused")

func refused(err error) error { return fmt.Errorf("%w: %w", ErrPrebuilt, err) }

// errNoPrebuilt is the error if no release has the kernels.
var errNoPrebuilt = errors.New("no prebuilt kernels")

const (
	// prebuiltInputs is the prefix of Sidecar.Inputs for a library from a module.
	prebuiltInputs = "module "
	orCompile      = "; run `gpk setup -compile` to build the kernels here"
	// downloadLimit bounds the time for the go command to download a module.
	downloadLimit = 5 * time.Minute
)

// driverVersion is the file that contains the version of the kernel driver.
var driverVersion = "/sys/module/nvidia/version"

// mustCompile returns the reason why prebuilt kernels cannot be used, or "".
func (b *builder) mustCompile() string {
	switch {
	case b.Compile:
		return "-compile was given"
	case len(b.Options.Units) > 0 || b.NVCC != "" || b.WheelsDir != "" || b.CheckSASS:
		return "what was asked for needs the compiler"
	case len(b.Archs) != 1:
		return fmt.Sprintf("prebuilt kernels are for one target, wanted are %s", strings.Join(b.Archs, " "))
	}
	return ""
}

// takePrebuilt puts the library of the kernel module for this target into the cache. The
// error is errNoPrebuilt if there is no such module, and ErrPrebuilt if there is one that
// must not be used.
func (b *builder) takePrebuilt(ctx context.Context, res *Result) error {
	library := filepath.Join(cutlass.LibraryDirIn(b.Cache), cutlass.LibraryName)
	at := cutlass.PrebuiltModule(b.Archs[0]) + "@" + cutlass.PrebuiltVersion()
	for _, dir := range []string{b.Cache, filepath.Dir(filepath.Dir(library)), filepath.Dir(library)} {
		if err := ownFolder(dir); err != nil {
			return refused(err)
		}
	}
	res.Library, res.Module = library, at
	if old, ok := b.prebuiltCurrent(library, at); ok {
		res.Sidecar, res.Current, res.CUDA = old, true, cudaText(old.CUDA)
		return checkDriver(at, old)
	}
	dir, err := download(ctx, at)
	if err != nil {
		*res = Result{Archs: res.Archs}
		return err
	}
	p := cutlass.Prebuilt{Module: at}
	read := func(name string, text *string) error {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return refused(fmt.Errorf("%s is not a module of kernels: %w%s", at, err, orCompile))
		}
		*text = string(content)
		return nil
	}
	if err := errors.Join(read(cutlass.PrebuiltLibrary, &p.Library), read(cutlass.PrebuiltDescription, &p.Description)); err != nil {
		return err
	}
	for _, c := range b.Companions {
		library, description := cutlass.PrebuiltCompanionFiles(c.Name)
		packed := cutlass.PrebuiltCompanion{Name: c.Name}
		if err := errors.Join(read(library, &packed.Library), read(description, &packed.Description)); err != nil {
			return err
		}
		p.Companions = append(p.Companions, packed)
	}
	content, sidecar, err := p.Unpack()
	if err != nil {
		return refused(err)
	}
	if !slices.Equal(sidecar.Archs, b.Archs) {
		return refused(fmt.Errorf("%s holds kernels for %s, not %s%s", at, strings.Join(sidecar.Archs, " "), b.Archs[0], orCompile))
	}
	if err := checkDriver(at, sidecar); err != nil {
		return err
	}
	if err := b.placeCompanions(p, sidecar, at); err != nil {
		return err
	}
	sidecar.Inputs = prebuiltInputs + at
	temp := filepath.Join(b.temp, cutlass.LibraryName)
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		return err
	}
	if err := b.place(temp, library, "", sidecar); err != nil {
		return err
	}
	res.Sidecar, res.CUDA = sidecar, cudaText(sidecar.CUDA)
	return nil
}

// prebuiltCurrent returns the description of the library if it and all companions in the cache
// are those of the module at.
func (b *builder) prebuiltCurrent(library, at string) (cutlass.Sidecar, bool) {
	same := func(s cutlass.Sidecar, err error) bool {
		return err == nil && s.Inputs == prebuiltInputs+at && slices.Equal(s.Archs, b.Archs)
	}
	for _, c := range b.Companions {
		if !same(checkLibrary(companionFile(b.Cache, c.Name), c.Name)) {
			return cutlass.Sidecar{}, false
		}
	}
	s, err := checkLibrary(library, "")
	return s, same(s, err)
}

// placeCompanions unpacks the companions in the module at, whose libgpk.so has the description
// of, and gives them their names in the cache.
func (b *builder) placeCompanions(p cutlass.Prebuilt, of cutlass.Sidecar, at string) error {
	for _, c := range b.Companions {
		content, s, err := p.UnpackCompanion(c.Name)
		if err != nil {
			return refused(err)
		}
		file := companionFile(b.Cache, c.Name)
		if !s.SameBuild(of) {
			return refused(fmt.Errorf("%s holds %s for %s, CUDA %d, and %s for %s, CUDA %d%s", at, filepath.Base(file), strings.Join(s.Archs, " "), s.CUDA,
				cutlass.LibraryName, strings.Join(of.Archs, " "), of.CUDA, orCompile))
		}
		s.Inputs = prebuiltInputs + at
		temp := filepath.Join(b.temp, filepath.Base(file))
		if err := os.WriteFile(temp, content, 0o600); err != nil {
			return err
		}
		if err := b.place(temp, file, c.Name, s); err != nil {
			return err
		}
	}
	return nil
}

func cudaText(version int) string { return fmt.Sprintf("%d.%d", version/1000, version%1000/10) }

// checkDriver rejects kernels that need a newer driver than this machine has. Without a
// driver, the kernels are assumed to be for another machine.
func checkDriver(module string, s cutlass.Sidecar) error {
	text, err := os.ReadFile(driverVersion)
	if err != nil {
		return nil //nolint:nilerr // no driver
	}
	version := strings.TrimSpace(string(text))
	major, _, _ := strings.Cut(version, ".")
	have, err := strconv.Atoi(major)
	if need := cutlass.MinDriver(s.CUDA); err == nil && (need == 0 || have < need) {
		return fmt.Errorf("%w: %s was built with CUDA %s, which needs driver %d or newer, but this machine has %s; install a newer driver, or run `gpk setup -compile` with the CUDA toolkit of this driver",
			ErrPrebuilt, module, cudaText(s.CUDA), need, version)
	}
	return nil
}

// download downloads a module with the go command, which uses the user's GOPROXY, GOSUMDB
// and go.sum. It returns the folder of the module's files.
func download(ctx context.Context, module string) (dir string, err error) {
	limited, cancel := context.WithTimeout(ctx, downloadLimit)
	defer cancel()
	cmd := exec.CommandContext(limited, "go", "mod", "download", "-json", module)
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	var answer struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(stdout.Bytes(), &answer); err == nil {
		err = jsonErr
	}
	why := strings.TrimSpace(cmp.Or(answer.Error, stderr.String()))
	switch {
	case strings.Contains(why, "SECURITY ERROR"): // from go.sum or the checksum database
		return "", fmt.Errorf("%w: the go command found that %s was altered: %s%s", ErrPrebuilt, module, why, orCompile)
	case strings.Contains(why, "zip:"), strings.Contains(why, "malformed"):
		return "", fmt.Errorf("%w: the go command cannot unpack %s: %s%s", ErrPrebuilt, module, why, orCompile)
	case err != nil:
		line, _, _ := strings.Cut(cmp.Or(why, err.Error()), "\n")
		return "", fmt.Errorf("%w: %s", errNoPrebuilt, line)
	}
	return answer.Dir, nil
}
