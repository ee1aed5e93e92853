package safetensors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/internal/site"
)

// The files that are looked for in a folder, in this order.
const (
	modelFile  = "model" + fileSuffix
	modelIndex = "model" + indexSuffix
)

// File is one open file in the safetensors format, or several with an index. It is safe
// for use by many goroutines.
type File struct {
	path    string
	shards  []*shard // by path
	names   []string // sorted
	tensors map[string]tensor
	staged  *stagings
	closed  atomic.Bool
}

// shard is one open file.
type shard struct {
	path string
	f    source
	head *header
}

// source is an *os.File. A test replaces it by one that counts the bytes read.
type source interface {
	io.ReaderAt
	io.Closer
}

// tensor describes the location of a tensor in a shard.
type tensor struct {
	*entry
	in   *shard
	runs *runs // the location of the bytes of a part of a tensor; nil: they are consecutive
}

// Info describes a tensor of a file.
type Info struct {
	Name   string
	Format string    // the format's name of the element type: F32, BF16, F8_E4M3
	DType  gpk.DType // gpk's element type; the zero value if gpk does not have it
	Shape  []int
	Bytes  int64  // bytes in the file
	Path   string // path of the file that contains the tensor; it begins with the path passed to Open
}

// Open opens a file in the safetensors format, an index (model.safetensors.index.json)
// with the files that it names, or a folder, which contains model.safetensors or
// model.safetensors.index.json. It reads and checks the headers of all files, and keeps
// the files open: if a file is replaced by another one with its name, the original is
// still read. A damaged file is ErrFormat. Close the File when it is no longer needed.
func Open(path string) (*File, error) {
	f, err := open(path)
	return f, site.Fail("safetensors", "Open", err)
}

func open(path string) (*File, error) {
	path, err := inFolder(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, tensors: map[string]tensor{}}
	if strings.HasSuffix(path, indexSuffix) {
		err = f.openIndex()
	} else {
		err = f.openSingle()
	}
	if err != nil {
		for _, s := range f.shards {
			s.f.Close()
		}
		return nil, err
	}
	f.names = slices.Sorted(maps.Keys(f.tensors))
	f.staged = &stagings{}
	// The files have cleanups already.
	runtime.AddCleanup(f, (*stagings).close, f.staged)
	return f, nil
}

// inFolder returns path or, if path is a folder, the path of the file to open in it.
func inFolder(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, err
	}
	for _, name := range []string{modelFile, modelIndex} {
		inside := filepath.Join(path, name)
		if _, err := os.Stat(inside); !errors.Is(err, fs.ErrNotExist) {
			return inside, err
		}
	}
	return "", fmt.Errorf("%s: %w: the folder has neither %s nor %s; open a file by its name", path, fs.ErrNotExist, modelFile, modelIndex)
}

// openSingle opens a file without an index.
func (f *File) openSingle() error {
	s, err := f.openShard(f.path)
	if err != nil {
		return err
	}
	for i := range s.head.entries {
		e := &s.head.entries[i]
		f.tensors[e.name] = tensor{entry: e, in: s}
	}
	return nil
}

// openIndex opens the files that an index names.
func (f *File) openIndex() error {
	x, err := readIndex(f.path)
	if err != nil {
		return err
	}
	folder, wanted := filepath.Dir(f.path), map[string][]string{}
	for name, file := range x.shards {
		wanted[file] = append(wanted[file], name)
	}
	for _, file := range slices.Sorted(maps.Keys(wanted)) {
		s, err := f.openShard(filepath.Join(folder, file))
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		held := make(map[string]*entry, len(s.head.entries))
		for i := range s.head.entries {
			held[s.head.entries[i].name] = &s.head.entries[i]
		}
		for _, name := range slices.Sorted(slices.Values(wanted[file])) {
			e := held[name]
			if e == nil {
				return formatted(f.path, formatError("weight_map: tensor %s is not in %s", short(name), short(file)))
			}
			f.tensors[name] = tensor{entry: e, in: s}
			delete(held, name)
		}
		for name := range held { // if there are several, any one of them will do
			return formatted(f.path, formatError("weight_map: it lacks tensor %s of %s, or has it in another file", short(name), short(file)))
		}
	}
	return nil
}

func formatted(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }

// openShard opens one file and reads its header.
func (f *File) openShard(path string) (*shard, error) {
	file, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(file, size)
	if err != nil {
		file.Close()
		return nil, formatted(path, err)
	}
	s := &shard{path: path, f: file, head: h}
	f.shards = append(f.shards, s)
	return s, nil
}

// openRegular opens a regular file.
func openRegular(path string) (*os.File, int64, error) {
	// Checked before the file is opened: opening a pipe waits for its other end.
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, formatted(path, formatError("it is not a regular file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func readIndex(path string) (*index, error) {
	f, size, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxHeader {
		return nil, formatted(path, formatError("an index of %d bytes; at most %d are allowed", size, maxHeader))
	}
	text := make([]byte, size)
	err = readFull(f, text, 0)
	if err == nil {
		var x *index
		if x, err = parseIndex(text); err == nil {
			return x, nil
		}
	}
	return nil, formatted(path, err)
}

// Close closes the files and gives staging memory back. It may be called at any time,
// from any goroutine: a Load in progress returns either its complete array or ErrFreed,
// and later ones return ErrFreed. Loaded arrays are not affected. Closing twice does
// nothing.
func (f *File) Close() error {
	if f == nil || f.staged == nil || f.closed.Swap(true) {
		return nil
	}
	f.staged.close()
	var errs []error
	for _, s := range f.shards {
		errs = append(errs, s.f.Close())
	}
	return site.Fail("safetensors", "Close", errors.Join(errs...))
}

// err returns the reason why the file cannot be used, or nil.
func (f *File) err() error {
	switch {
	case f == nil || f.staged == nil:
		return fmt.Errorf("%w: a nil or zero File; Open returns one", gpk.ErrUnsupported)
	case f.closed.Load():
		return fmt.Errorf("%w: %s was closed", gpk.ErrFreed, f.path)
	}
	return nil
}

// Names returns the names of the tensors, sorted.
func (f *File) Names() []string {
	if f == nil {
		return nil
	}
	return slices.Clone(f.names)
}

// Metadata returns the texts under __metadata__. If several files have different texts
// for a key, that of the first file by name counts. An index's metadata is not included.
func (f *File) Metadata() map[string]string {
	if f == nil {
		return nil
	}
	m := map[string]string{}
	for _, s := range slices.Backward(f.shards) {
		maps.Copy(m, s.head.metadata)
	}
	return m
}

// Info describes a tensor, even if gpk does not have its element type. If the file has no
// tensor with the name, the error is fs.ErrNotExist.
func (f *File) Info(name string) (Info, error) {
	t, err := f.tensor(name)
	if err != nil {
		return Info{}, site.Fail("safetensors", "Info", err)
	}
	of := formats[t.format]
	return Info{Name: t.name, Format: of.name, DType: of.dt, Shape: slices.Clone(t.shape), Bytes: t.end - t.begin, Path: t.in.path}, nil
}

// tensor finds a tensor.
func (f *File) tensor(name string) (tensor, error) {
	if err := f.err(); err != nil {
		return tensor{}, err
	}
	t, ok := f.tensors[name]
	if !ok {
		return t, &absent{fmt.Sprintf("%s: it has no tensor %s; Names lists the %d that it has", f.path, short(name), len(f.names))}
	}
	return t, nil
}

// absent is the error of a tensor that a file does not have. It is fs.ErrNotExist, whose text would say that the file
// does not exist.
type absent struct{ text string }

func (e *absent) Error() string { return e.text }
func (*absent) Unwrap() error   { return fs.ErrNotExist }
