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

// ReadZip reads all arrays of a .npz file of size bytes, by the names that
// NumPy has for them. Where it cannot read some of them, an array of objects, say, or a
// damaged one, it returns the others, and an error that names each of these and says why;
// errors.Is finds the causes. A file that is no .npz gives no arrays.
//
// A compressed file can hold a thousand times its length, and
// reading it takes that much memory; an array that is larger than the host's memory or
// than what the default device may hold is ErrOutOfMemory before it is read.
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
	// What the directory says of the length is not believed either: -1.
	a, err := read(part, -1)
	if err != nil {
		return nil, err
	}
	// The checksum is compared at the end.
	if n, err := io.Copy(io.Discard, io.LimitReader(part, 1)); err != nil || n > 0 {
		a.Free()
		return nil, formatError("more than its elements, or damaged: %v", err)
	}
	return a, nil
}

// ReadZipFile is ReadZip of a file.
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

// WriteZipFile is WriteZip to a file, which is complete or not there.
func WriteZipFile(path string, arrays map[string]*gpk.Array) error {
	return atomicfile.Write(path, func(w io.Writer) error { return WriteZip(w, arrays) })
}
