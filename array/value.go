package array

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// value is where the elements of an array and of all its views come from: a
// buffer, or an operation that has not started ("open").
type value struct {
	dev    *device.Device
	stream *device.Stream
	lay    layout.Layout // dense, of the whole value
	dt     dtype.DType

	explain func() string // how it is computed; nil for plain data

	mu    sync.Mutex
	buf   *device.Buffer // nil while open
	op    *operation     // nil once started
	taken bool           // computed into another place, and not stored here
	err   error
	freed bool

	failedLay layout.Layout // what the in-place write that failed last was to write
}

// operation is what computes a value.
type operation struct {
	name   string
	shapes [][]int
	dtypes []dtype.DType
	site   site
	reads  []*device.Buffer
	// run computes into dst, which has the value's shape. Unless strided is
	// set, dst is dense. dst may be a read operand only if alias allows it.
	run     func(s *device.Stream, dst device.View) error
	strided bool
	alias   func(dst device.View) bool
	explain func() string
}

// fail wraps a cause in the error of this operation.
func (o *operation) fail(err error) *OpError {
	return &OpError{Op: o.name, Shapes: o.shapes, DTypes: o.dtypes, Site: o.site.String(), Err: err}
}

// maxOpen bounds the open values of a device; beyond, the oldest starts.
const maxOpen = 64

// openSet lists the open values of one device, oldest first. They are held
// weakly: what the program drops is never computed.
type openSet struct {
	mu     sync.Mutex
	values []weak.Pointer[value]
}

var openSets sync.Map // *device.Device -> *openSet

func openOn(d *device.Device) *openSet {
	if s, ok := openSets.Load(d); ok {
		return s.(*openSet)
	}
	s, _ := openSets.LoadOrStore(d, &openSet{})
	return s.(*openSet)
}

// eager makes every operation start on its own line.
var eager atomic.Bool

func init() {
	v := os.Getenv("GPK_EAGER")
	eager.Store(v != "" && v != "0")
}

// open registers a value that has an operation to run, and starts the oldest
// where there are too many.
func (v *value) open() {
	set := openOn(v.dev)
	set.mu.Lock()
	set.values = append(set.values, weak.Make(v))
	var oldest *value
	if len(set.values) > maxOpen {
		set.prune()
		if len(set.values) > maxOpen {
			oldest = set.values[0].Value()
			set.values = slices.Delete(set.values, 0, 1)
		}
	}
	set.mu.Unlock()
	if oldest != nil {
		oldest.start()
	}
}

// prune drops values that are gone or have started; mu is held.
func (s *openSet) prune() {
	s.values = slices.DeleteFunc(s.values, func(p weak.Pointer[value]) bool {
		v := p.Value()
		return v == nil || !v.isOpen()
	})
}

func (v *value) isOpen() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.op != nil
}

// readersOf returns the open values that read a buffer.
func readersOf(buf *device.Buffer) []*value {
	set := openOn(buf.Device())
	set.mu.Lock()
	defer set.mu.Unlock()
	if len(set.values) == 0 {
		return nil
	}
	set.prune()
	var out []*value
	for _, p := range set.values {
		if v := p.Value(); v != nil && v.reads(buf) {
			out = append(out, v)
		}
	}
	return out
}

func (v *value) reads(buf *device.Buffer) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.op != nil && slices.Contains(v.op.reads, buf)
}

// beforeWrite settles the open values that read a buffer which is about to
// be written or freed: they start, or, where they had been taken before,
// become stale. except is left alone.
func beforeWrite(buf *device.Buffer, what string, where site, except *value) {
	for _, v := range readersOf(buf) {
		if v == except {
			continue
		}
		v.mu.Lock()
		stale := v.taken && v.op != nil
		if stale {
			v.makeStale(what, where)
		}
		v.mu.Unlock()
		if !stale {
			v.start()
		}
	}
}

// makeStale forgets the operation of a taken value; mu is held.
func (v *value) makeStale(what string, where site) {
	v.err = v.op.fail(fmt.Errorf("%w: an input was changed by %s at %v after this array had been computed into another; Eval it before", ErrStale, what, where))
	v.op = nil
}

// start runs the value's operation into memory of its own, once.
func (v *value) start() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.startLocked()
}

func (v *value) startLocked() error {
	if v.op == nil {
		return v.err
	}
	op := v.op
	v.op = nil
	buf, err := v.dev.Alloc(int64(v.lay.Size())*int64(v.dt.Size()), v.stream)
	if err == nil {
		v.label(buf, op)
		if err = op.run(v.stream, device.View{Buffer: buf, DType: v.dt, Layout: v.lay}); err != nil {
			buf.Free()
		}
	}
	if err != nil {
		v.err = op.fail(err)
		return v.err
	}
	v.buf = buf
	return nil
}

// label tells the list of the largest live arrays what a buffer is.
func (v *value) label(buf *device.Buffer, op *operation) {
	shape, dt, name, at := v.lay.Shape, v.dt, op.name, op.site
	buf.SetLabel(func() string { return fmt.Sprintf("%v %v of %s at %v", shape, dt, name, at) })
}

// runInto computes an open value straight into dst and leaves it open, as
// taken. It reports false when the operation cannot write there; the caller
// then stores the value and copies.
func (v *value) runInto(dst device.View) (done bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	op := v.op
	if op == nil || !op.strided && !dst.Layout.IsDense() {
		return false, nil
	}
	if slices.Contains(op.reads, dst.Buffer) && (op.alias == nil || !op.alias(dst)) {
		return false, nil
	}
	if err := op.run(v.stream, dst); err != nil {
		return true, op.fail(err)
	}
	v.taken = true
	return true, nil
}

// free gives the value's memory back.
func (v *value) free(where site) {
	v.mu.Lock()
	buf := v.buf
	v.op, v.freed = nil, true
	v.mu.Unlock()
	if buf != nil {
		beforeWrite(buf, "Free", where, nil)
		buf.Free()
	}
}

// stored returns the buffer of a value, which must be there.
func (v *value) stored() (*device.Buffer, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.freed {
		return nil, fmt.Errorf("%w", device.ErrFreed)
	}
	if err := v.startLocked(); err != nil {
		return nil, err
	}
	if err := v.buf.Err(); err != nil {
		return nil, err
	}
	if v.buf.Freed() {
		return nil, fmt.Errorf("%w", device.ErrFreed)
	}
	return v.buf, nil
}
