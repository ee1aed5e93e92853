package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/atomicfile"
	"github.com/gpk-go/gpk/internal/bytesize"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/interop/internal/site"
)

// littleEndian reports whether this machine is little-endian.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Read reads one array from r to the default device. It does not read beyond the last element. If r
// ends too early, the error is ErrFormat.
func Read(r io.Reader) (*gpk.Array, error) { return read(r, -1) }

// ReadFile reads the array of a .npy file, to the default device. A file whose
// length does not fit its header is ErrFormat.
func ReadFile(path string) (*gpk.Array, error) {
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(-1)
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	a, err := read(f, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// Load is ReadFile for use in an expression: on an error it returns an array that carries the
// error.
func Load(path string) *gpk.Array {
	a, err := ReadFile(path)
	if err != nil {
		return array.Failed(site.Fail("npy", "Load", err))
	}
	return a
}

// open opens a file and returns its FileInfo.
func open(path string) (*os.File, os.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// read reads an array from r. total is the number of bytes in r, or -1 if it is not known.
func read(r io.Reader, total int64) (*gpk.Array, error) {
	if r == nil {
		return nil, formatError("cannot read: the Reader is nil")
	}
	counted := &counter{r: r}
	d, err := readHeader(counted)
	if err != nil {
		return nil, err
	}
	if total >= 0 {
		if have, want := total-counted.n, int64(d.size)*int64(d.dt.Size()); have != want {
			return nil, formatError("%v %v takes %d bytes, the file has %d after its header", d.shape, d.dt, want, have)
		}
	}
	known := total >= 0
	if t := typeFor(d.dt); t != nil {
		return t.read(r, d, known)
	}
	return nil, fmt.Errorf("npy: %w: %v", gpk.ErrDType, d.dt)
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// firstPiece is the number of bytes that is allocated before any element of a stream was read,
// because a damaged header may claim any size.
const firstPiece = 1 << 20

// checkMemory returns ErrOutOfMemory if an array of n bytes exceeds the memory limit of the
// default device, or the host's memory, where its elements are read first.
func checkMemory(n int64) error {
	dev := device.Default()
	if limit := dev.Pool().Limit; limit > 0 && n > limit {
		return fmt.Errorf("%w: the elements take %s, and %v may hold %s", gpk.ErrOutOfMemory, bytesize.Format(n), dev, bytesize.Format(limit))
	}
	return deviceapi.HostRoom(n)
}

func elements[T gpk.Elem](r io.Reader, d description, known bool) (*gpk.Array, error) {
	size := int(unsafe.Sizeof(*new(T)))
	var data []T
	for len(data) < d.size {
		more := d.size - len(data)
		if !known { // double the elements read so far
			more = min(more, max(len(data), firstPiece/size))
		}
		at := len(data)
		// Check the claimed size once it is plausible: it matches the length of the file, or the
		// first piece of a stream was read.
		if known || at > 0 {
			if err := checkMemory(int64(d.size) * int64(size)); err != nil {
				return nil, site.Fail("npy", "Read", err)
			}
		}
		data = append(make([]T, 0, at+more), data...)[:at+more]
		if _, err := io.ReadFull(r, bytesOf(data[at:])); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, formatError("it ends before its %d elements: %w", d.size, io.ErrUnexpectedEOF)
			}
			return nil, err
		}
	}
	if d.swap {
		swap(bytesOf(data), d.dt)
	}
	if d.dt == gpk.Bool { // a Go bool must be the byte 0 or 1
		for i, b := range bytesOf(data) {
			if b > 1 {
				bytesOf(data)[i] = 1
			}
		}
	}
	shape := slices.Clone(d.shape)
	if !d.fortran || len(shape) < 2 {
		return checked(gpk.FromSlice(data, atLeast1D(shape)...), d)
	}
	slices.Reverse(shape)
	return checked(gpk.FromSlice(data, shape...).Transpose(), d)
}

// atLeast1D returns shape, or [1] for a 0-d array, because FromSlice cannot make one.
func atLeast1D(shape []int) []int {
	if len(shape) == 0 {
		return []int{1}
	}
	return shape
}

// checked removes the axis that atLeast1D has added, and returns the array's error.
func checked(a *gpk.Array, d description) (*gpk.Array, error) {
	if len(d.shape) == 0 {
		a = a.Squeeze()
	}
	return a, site.Fail("npy", "Read", a.Err())
}

// bytesOf returns the memory of elements as bytes.
func bytesOf[T gpk.Elem](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(*new(T))))
}

// Bytes returns elements in the little-endian form that follows the Header in a .npy file. On a
// little-endian machine it returns their memory itself, else a copy.
func Bytes[T gpk.Elem](v []T) []byte {
	b := bytesOf(v)
	if !littleEndian {
		b = slices.Clone(b)
		swap(b, dtype.Of[T]())
	}
	return b
}

// swap reverses the byte order of every number. The parts of a complex number are two numbers.
func swap(b []byte, dt gpk.DType) {
	n := dt.Size()
	if dt == gpk.Complex64 || dt == gpk.Complex128 {
		n /= 2
	}
	for ; len(b) >= n && n > 1; b = b[n:] {
		slices.Reverse(b[:n])
	}
}

func errNoWriter() error {
	return site.Fail("npy", "Write", fmt.Errorf("%w: a nil Writer", gpk.ErrUnsupported))
}

// Write waits for a and writes it as a .npy file.
func Write(w io.Writer, a *gpk.Array) error {
	h, err := begin(a)
	if err != nil {
		return site.Fail("npy", "Write", err)
	}
	if w == nil {
		return errNoWriter()
	}
	if t := typeFor(a.DType()); t != nil {
		return t.write(w, h, a)
	}
	return fmt.Errorf("npy: %w: %v", gpk.ErrDType, a.DType())
}

func begin(a *gpk.Array) ([]byte, error) {
	if a == nil {
		return nil, fmt.Errorf("%w: a nil Array", gpk.ErrShape)
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	return header(a.DType(), a.Shape())
}

func write[T gpk.Elem](w io.Writer, header []byte, a *gpk.Array) error {
	data, err := gpk.ToSlice[T](a)
	if err != nil {
		return site.Fail("npy", "Write", err)
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	// In pieces: one write of more than 2 GiB fails on some systems.
	for b := Bytes(data); len(b) > 0; {
		n := min(len(b), math.MaxInt32/2)
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// WriteFile writes a .npy file. It writes a temporary file and renames it when all data are on the
// disk, so the file is never incomplete. If it replaces a file, it keeps the file's mode. It
// follows a link.
func WriteFile(path string, a *gpk.Array) error {
	return atomicfile.Write(path, func(w io.Writer) error { return Write(w, a) })
}
