package safetensors

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/atomicfile"
	"github.com/gpk-go/gpk/interop/internal/site"
)

// Write waits for arrays and writes them to w as a file in the safetensors format.
// metadata may be nil. The same arrays always produce the same bytes: tensors are in the
// order of the reference implementation, by descending alignment of their types, and then
// by name. Names and texts must be UTF-8, and no tensor may be called __metadata__.
// complex128 is ErrDType. If a type or a name is rejected, nothing is written.
//
// Arrays are read in pieces of 4 MiB, without a copy of the whole. If an array of more
// than one piece is written meanwhile, the file can contain old and new elements. Pass a
// Clone to avoid that.
func Write(w io.Writer, arrays map[string]*gpk.Array, metadata map[string]string) error {
	return site.Fail("safetensors", "Write", write(w, arrays, metadata))
}

// WriteFile is Write to a file with a path. It writes a temporary file and renames it
// when all data are on the disk, so the file is never incomplete. Programs that have the
// previous file open keep that file. If WriteFile replaces a file, it keeps the file's
// mode. It follows a link.
func WriteFile(path string, arrays map[string]*gpk.Array, metadata map[string]string) error {
	return site.Fail("safetensors", "WriteFile", atomicfile.Write(path, func(w io.Writer) error { return write(w, arrays, metadata) }))
}

func write(w io.Writer, arrays map[string]*gpk.Array, metadata map[string]string) error {
	if w == nil {
		return fmt.Errorf("%w: a nil Writer", gpk.ErrUnsupported)
	}
	h, err := describe(arrays, metadata)
	if err != nil {
		return err
	}
	text, err := h.append(nil)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	for _, e := range h.entries {
		if err := writeElements(w, arrays[e.name]); err != nil {
			return inTensor(e.name, err)
		}
	}
	return nil
}

// inTensor adds the tensor to an error. If the error is that of an operation that this
// package called, inTensor removes the operation's name, because the user called another
// function.
func inTensor(name string, err error) error {
	if op, ok := err.(*gpk.OpError); ok && strings.HasPrefix(op.Site, "safetensors/") && !strings.Contains(op.Site, "_test.go:") { //nolint:errorlint // only the outermost error
		err = op.Err
	}
	return fmt.Errorf("tensor %s: %w", short(name), err)
}

// describe returns the header of arrays.
func describe(arrays map[string]*gpk.Array, metadata map[string]string) (*header, error) {
	texts := 0
	for name := range arrays {
		texts += len(name)
	}
	for key, text := range metadata {
		texts += len(key) + len(text)
		if !utf8.ValidString(key) || !utf8.ValidString(text) {
			return nil, fmt.Errorf("%w: metadata: %s: %s is not UTF-8", gpk.ErrUnsupported, short(key), short(text))
		}
	}
	if texts > maxHeader {
		return nil, headerError(texts)
	}
	h := &header{metadata: metadata}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		e, err := describeOne(name, arrays[name])
		if err != nil {
			return nil, inTensor(name, err)
		}
		h.entries = append(h.entries, e)
	}
	slices.SortStableFunc(h.entries, func(a, b entry) int { return cmp.Compare(a.format, b.format) })
	at := int64(0)
	for i := range h.entries {
		e := &h.entries[i]
		n, ok := e.size()
		if !ok || n > math.MaxInt64-at {
			return nil, fmt.Errorf("tensor %s: %w: %v is too large", short(e.name), gpk.ErrShape, e.shape)
		}
		e.begin, e.end = at, at+n
		at += n
	}
	return h, nil
}

func describeOne(name string, a *gpk.Array) (e entry, err error) {
	switch {
	case !utf8.ValidString(name):
		return e, fmt.Errorf("%w: the name is not UTF-8", gpk.ErrUnsupported)
	case name == metadataKey:
		return e, fmt.Errorf("%w: the format keeps this name for metadata", gpk.ErrUnsupported)
	case a == nil:
		return e, fmt.Errorf("%w: a nil Array", gpk.ErrShape)
	case a.Err() != nil:
		return e, a.Err()
	case a.NDim() > maxAxes:
		return e, fmt.Errorf("%w: %d axes; at most %d are allowed", gpk.ErrShape, a.NDim(), maxAxes)
	}
	e = entry{name: name, shape: a.Shape()}
	e.format, err = formatOf(a.DType())
	return e, err
}

// writeElements writes the elements of an array, piece by piece.
func writeElements(w io.Writer, a *gpk.Array) error {
	if a.Size() == 0 {
		return a.Err()
	}
	dense := a.Contiguous()
	if err := gpk.Eval(dense); err != nil {
		return err
	}
	if dense != a {
		defer dense.Free()
	}
	at, err := formatOf(a.DType())
	if err != nil {
		return err
	}
	return formats[at].write(w, dense)
}

func writePieces[T gpk.Elem](w io.Writer, a *gpk.Array) error {
	b, free, err := a.Device().AllocPinned(min(a.NBytes(), slotBytes))
	if err != nil {
		return err
	}
	defer free()
	size := a.DType().Size()
	room := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
	flat := a.Reshape(-1)
	for at := 0; at < a.Size(); at += len(room) {
		n := min(len(room), a.Size()-at)
		if err := gpk.ToSliceInto(room[:n], flat.Slice(0, at, at+n)); err != nil {
			return err
		}
		swap(b[:n*size], a.DType())
		if _, err := w.Write(b[:n*size]); err != nil {
			return err
		}
	}
	return nil
}
