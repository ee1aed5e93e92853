package safetensors

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/interop/internal/site"
)

// Option is an option of loading tensors.
type Option func(*options)

type options struct {
	dev  *device.Device
	only []string // nil: all
}

// On sets the device to which tensors are loaded. The default is the default device.
func On(dev *device.Device) Option { return func(o *options) { o.dev = dev } }

// Only makes LoadAll and Each load only the tensors with these names. If the file has no
// tensor with a name, the error is fs.ErrNotExist.
func Only(names ...string) Option {
	return func(o *options) { o.only = append([]string{}, names...) }
}

// Load returns the tensor with a name as an array. It copies: the array does not depend
// on the File. Errors: ErrDType for an element type that gpk does not have,
// fs.ErrNotExist if there is no such tensor, and ErrFreed after Close.
func (f *File) Load(name string, opts ...Option) (*gpk.Array, error) {
	a, err := f.loadOne(name, func(t tensor) (tensor, error) { return t, nil }, opts)
	return a, site.Fail("safetensors", "Load", err)
}

// loadOne loads a tensor or, if cut is not nil, the part of it that cut returns.
func (f *File) loadOne(name string, cut func(tensor) (tensor, error), opts []Option) (*gpk.Array, error) {
	o, err := f.options(opts)
	if err != nil {
		return nil, err
	}
	if o.only != nil {
		return nil, fmt.Errorf("%w: the option Only in a call that names its tensor", gpk.ErrUnsupported)
	}
	t, err := f.tensor(name)
	if err == nil {
		err = t.loadable()
	}
	if err == nil {
		t, err = cut(t)
	}
	if err != nil {
		return nil, err
	}
	as, err := f.load([]tensor{t}, o.dev)
	if err != nil {
		return nil, err
	}
	return as[0], nil
}

// LoadAll returns all tensors, or those of Only, by their names. If one cannot be loaded,
// none is: see Load for the errors.
func (f *File) LoadAll(opts ...Option) (map[string]*gpk.Array, error) {
	o, ts, err := f.selected(opts)
	var as []*gpk.Array
	if err == nil {
		as, err = f.load(ts, o.dev)
	}
	if err != nil {
		return nil, site.Fail("safetensors", "LoadAll", err)
	}
	m := make(map[string]*gpk.Array, len(as))
	for i, a := range as {
		m[ts[i].name] = a
	}
	return m, nil
}

// eachBytes is the number of bytes that Each loads at a time, unless one tensor has more.
const eachBytes = 256 << 20

// Each calls fn with all tensors, or those of Only, in the order of their bytes in the
// files. fn must free the array. Each loads about 256 MiB at a time, so that the memory
// that fn frees can be used for the next tensors. If fn returns an error, Each stops and
// returns it unchanged; see Load for other errors.
func (f *File) Each(fn func(name string, a *gpk.Array) error, opts ...Option) error {
	o, ts, err := f.selected(opts)
	if err == nil && fn == nil {
		err = fmt.Errorf("%w: a nil function", gpk.ErrUnsupported)
	}
	if err != nil {
		return site.Fail("safetensors", "Each", err)
	}
	for len(ts) > 0 {
		n, size := 1, ts[0].bytes()
		for ; n < len(ts) && size+ts[n].bytes() <= eachBytes; n++ {
			size += ts[n].bytes()
		}
		as, err := f.load(ts[:n], o.dev)
		if err != nil {
			return site.Fail("safetensors", "Each", err)
		}
		if err := deliver(ts, as, fn); err != nil {
			return err
		}
		ts = ts[n:]
	}
	return nil
}

// deliver passes arrays to fn. It frees those that fn does not receive, even if fn
// panics.
func deliver(ts []tensor, as []*gpk.Array, fn func(string, *gpk.Array) error) error {
	defer func() { free(as) }()
	for i := 0; len(as) > 0; i++ {
		a := as[0]
		as = as[1:]
		if err := fn(ts[i].name, a); err != nil {
			return err
		}
	}
	return nil
}

func free(as []*gpk.Array) {
	for _, a := range as {
		a.Free()
	}
}

// options returns the options of a call, or an error if the file or the device cannot be
// used.
func (f *File) options(opts []Option) (o options, err error) {
	if err := f.err(); err != nil {
		return o, err
	}
	o.dev = device.Default()
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return o, o.dev.Err()
}

// selected returns the tensors that the options select, in the order of their bytes, or
// an error if gpk does not have the type of one.
func (f *File) selected(opts []Option) (options, []tensor, error) {
	o, err := f.options(opts)
	if err != nil {
		return o, nil, err
	}
	names := f.names
	if o.only != nil {
		slices.Sort(o.only)
		names = slices.Compact(o.only)
	}
	ts := make([]tensor, len(names))
	for i, name := range names {
		if ts[i], err = f.tensor(name); err == nil {
			err = ts[i].loadable()
		}
		if err != nil {
			return o, nil, err
		}
	}
	slices.SortFunc(ts, func(a, b tensor) int {
		return cmp.Or(cmp.Compare(a.in.path, b.in.path), cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	return o, ts, nil
}

func (t *tensor) bytes() int64 { return t.end - t.begin }

// loadable returns an error if gpk does not have the element type.
func (t *tensor) loadable() error {
	if of := formats[t.format]; !of.dt.Valid() {
		return t.in.wrap(t.name, fmt.Errorf("%w: gpk has no %s; convert the file to a type that it has", gpk.ErrDType, of.name))
	}
	return nil
}

// load reads tensors to a device.
func (f *File) load(ts []tensor, dev *device.Device) (as []*gpk.Array, err error) {
	defer runtime.KeepAlive(f)
	jobs := make([]job, 0, len(ts))
	defer func() {
		if err != nil {
			for _, j := range jobs {
				j.buf.Free()
			}
		}
	}()
	for _, t := range ts {
		buf, err := dev.Alloc(t.bytes(), nil)
		if err != nil {
			return nil, t.in.wrap(t.name, err)
		}
		shape, dt, name, path := t.shape, formats[t.format].dt, t.name, t.in.path
		buf.State().SetLabel(func() (what, origin string) {
			return fmt.Sprintf("%v %v", shape, dt), fmt.Sprintf("tensor %s of %s", short(name), path)
		})
		jobs = append(jobs, job{t, buf})
	}
	move := transfer{dev: dev, jobs: jobs}
	if dev.Kind() != device.CPU {
		move.slots = f.staged.on(dev)
	}
	if err := move.run(); err != nil {
		return nil, err
	}
	for _, j := range jobs {
		a := array.FromOwnBuffer(j.buf, formats[j.format].dt, j.shape...)
		if err := a.Err(); err != nil {
			return nil, j.in.wrap(j.name, err)
		}
		as = append(as, a)
	}
	return as, nil
}
