package npy

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/atomicfile"
	"github.com/gpk-go/gpk/interop/internal/site"
)

// ReadZip reads all arrays of a .npz file of size bytes. The keys are NumPy's names. If
// it cannot read some arrays, for example an array of objects or a damaged one, it
// returns the others with an error that names each failed array and its cause; errors.Is
// finds the causes. For a file that is not a .npz file it returns no arrays.
//
// A compressed file can contain a thousand times its length, and reading it needs that
// much memory. An array that exceeds the host's memory, or the memory limit of the
// default device, is ErrOutOfMemory before it is read.
func ReadZip(r io.ReaderAt, size int64) (map[string]*gpk.Array, error) {
	if r == nil {
		return nil, formatError("there is nothing to read: a nil ReaderAt")
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, formatError("not a .npz file: %w", err)
	}
	arrays := map[string]*gpk.Array{}
	var failed []error
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			continue
		}
		a, err := readMember(f)
		if _, twice := arrays[name]; twice && err == nil {
			a.Free()
			err = formatError("the name appears twice; the first array is returned")
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", f.Name, err))
			continue
		}
		arrays[name] = a
	}
	return arrays, errors.Join(failed...)
}

// readMember reads one array of a .npz file.
func readMember(f *zip.File) (*gpk.Array, error) {
	part, err := f.Open()
	if err != nil {
		return nil, formatError("%w", err)
	}
	defer part.Close()
	// The length in the directory is not trusted either, so it is passed as unknown.
	a, err := read(part, -1)
	if err != nil {
		return nil, err
	}
	// Reading to the end compares the checksum.
	if n, err := io.Copy(io.Discard, io.LimitReader(part, 1)); err != nil || n > 0 {
		a.Free()
		return nil, formatError("the file has more bytes than its elements, or is damaged: %v", err)
	}
	return a, nil
}

// ReadZipFile is ReadZip for a file with a path.
func ReadZipFile(path string) (map[string]*gpk.Array, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	arrays, err := ReadZip(f, info.Size())
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return arrays, err
}

// WriteZip writes arrays as a .npz file, uncompressed as numpy.savez does, in
// the order of their names.
func WriteZip(w io.Writer, arrays map[string]*gpk.Array) error {
	if w == nil {
		return errNoWriter()
	}
	var names []string
	for n := range arrays {
		if n == "" || strings.ContainsAny(n, "\\\x00") || len(n) > math.MaxUint16/2 {
			return site.Fail("npy", "WriteZip", fmt.Errorf("%w: an array named %q", gpk.ErrUnsupported, n))
		}
		names = append(names, n)
	}
	slices.Sort(names)
	z := zip.NewWriter(w)
	for _, n := range names {
		part, err := z.CreateHeader(&zip.FileHeader{Name: n + ".npy", Method: zip.Store})
		if err == nil {
			err = Write(part, arrays[n])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return z.Close()
}

// WriteZipFile is WriteZip to a file with a path. The file is never incomplete; see
// WriteFile.
func WriteZipFile(path string, arrays map[string]*gpk.Array) error {
	return atomicfile.Write(path, func(w io.Writer) error { return WriteZip(w, arrays) })
}
