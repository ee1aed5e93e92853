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
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// value is where the elements of an array and of all its views come from: a
// buffer, or an operation that has not started ("open").
type value struct {
	dev    *device.Device
	stream *device.Stream
	lay    layout.Layout // dense, of the whole value
	dt     dtype.DType

	name    string        // of the operation that made it, and
	how     string        // how it is computed, for Explain
	explain func() string // instead of how, where that takes work

	mu    sync.Mutex
	buf   *device.Buffer // nil while open
	op    *operation     // nil once started
	taken bool           // computed into another place, and not stored here
	err   error
	freed bool

	set *openSet // of the device; nil until the value was open

	failedLay layout.Layout // what the in-place write that failed last was to write

	// How often the memory was written or freed since it was filled, and by what.
	version atomic.Uint64
	written atomic.Pointer[write]
}

// write is who wrote or freed a value's memory, and where.
type write struct {
	what string
	at   site
}

// operation is what computes a value. It is one piece of memory for up to
// three operands: making one is most of what a small operation costs.
type operation struct {
	request
	views []device.View // the operands, as run reads them
	reads []*value      // whose values they are; stored, all of them
	seen  []uint64      // their versions when the operation was last run

	// run computes into dst, which has the value's shape. Unless strided is
	// set, dst is dense. dst may overlap the operands only as alias allows.
	run     func(o *operation, s *device.Stream, dst device.View) error
	strided bool
	alias   alias
	how     string        // for Explain
	explain func() string // instead of how, where that takes work

	code        expr.Op // of an operation of the table
	scalar      ops.Scalar
	scalarFirst bool // the scalar is the left operand
	axes        []bool
	product     *product

	viewBuf [3]device.View
	readBuf [3]*value
	seenBuf [3]uint64
}

// request is what errors say of a call: its name, its operands and its place
// in the program.
type request struct {
	name   string
	site   site
	args   []*Array
	argBuf [3]*Array
}

// alias says how a destination may overlap an operation's operands.
type alias uint8

const (
	apart      alias = iota // not at all
	samePlaces              // an operand may have the destination's very layout
)

// allows reports whether the operation may write to dst.
func (o *operation) allows(dst device.View) bool {
	for _, v := range o.views {
		if overlaps(v, dst) && (o.alias == apart || v.DType.Size() != dst.DType.Size() || !sameLayout(v.Layout, dst.Layout)) {
			return false
		}
	}
	return true
}

// fail wraps a cause in the error of this call.
func (o *request) fail(err error) *OpError {
	e := &OpError{Op: o.name, Site: o.site.String(), Err: err}
	for _, a := range o.args {
		if a != nil && a.err == nil {
			e.Shapes, e.DTypes = append(e.Shapes, slices.Clone(a.lay.Shape)), append(e.DTypes, a.dt)
		}
	}
	return e
}

// maxOpen bounds the open values of a device; beyond, the oldest starts. Taken
// ones do not count.
const maxOpen = 64

// openSet lists the open values of one device, oldest first. They are held
// weakly: what the program drops is never computed.
//
// The newest is held firmly, until it starts, is taken, or another comes: most
// arrays are used by the very next call, and need no weak pointer.
type openSet struct {
	mu     sync.Mutex
	newest atomic.Pointer[value]
	values []weak.Pointer[value]
}

// forget drops a value that no longer waits. It takes no lock: the value's own
// is held.
func (s *openSet) forget(v *value) {
	if s != nil {
		s.newest.CompareAndSwap(v, nil)
	}
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
	if reads := v.op.reads; len(reads) > 0 {
		v.set = reads[0].set
	}
	if v.set == nil {
		v.set = openOn(v.dev)
	}
	set := v.set
	set.mu.Lock()
	if last := set.newest.Swap(v); last != nil {
		set.values = append(set.values, weak.Make(last))
	}
	var oldest *value
	if len(set.values) >= maxOpen {
		set.prune()
		if len(set.values) >= maxOpen {
			oldest = set.values[0].Value()
			set.values = slices.Delete(set.values, 0, 1)
		}
	}
	set.mu.Unlock()
	if oldest != nil {
		_ = oldest.start() // kept in the value, for whoever uses it
	}
}

// prune drops values that are gone, have started or were taken; mu is held.
func (s *openSet) prune() {
	s.values = slices.DeleteFunc(s.values, func(p weak.Pointer[value]) bool {
		v := p.Value()
		return v == nil || !v.waiting()
	})
}

// isOpen reports whether the value is not stored, but can be computed.
func (v *value) isOpen() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.op != nil
}

// waiting reports whether the value is open and nothing has taken it.
func (v *value) waiting() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.op != nil && !v.taken
}

// readersOf returns the open values, taken ones aside, that read x.
func readersOf(x *value) []*value {
	set := x.set
	if set == nil {
		set = openOn(x.dev)
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	var out []*value
	if v := set.newest.Load(); v != nil && v.readsFrom(x) {
		out = append(out, v)
	}
	if len(set.values) == 0 {
		return out
	}
	set.prune()
	for _, p := range set.values {
		if v := p.Value(); v != nil && v.readsFrom(x) {
			out = append(out, v)
		}
	}
	return out
}

func (v *value) readsFrom(x *value) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.op != nil && slices.Contains(v.op.reads, x)
}

// beforeWrite settles the open values that read x, whose memory is about to be
// written or freed: they start. Those that were taken before see by the version
// that they are stale. except is left alone.
func (x *value) beforeWrite(what string, where site, except *value) {
	for _, v := range readersOf(x) {
		if v != except {
			_ = v.start() // kept in the value, for whoever uses it
		}
	}
	x.written.Store(&write{what, where})
	x.version.Add(1)
}

// stale returns the error of an operation that was taken and whose inputs have
// changed since.
func (o *operation) stale() error {
	for i, x := range o.reads {
		if x.version.Load() != o.seen[i] {
			w := x.written.Load()
			return o.fail(fmt.Errorf("%w: an input was changed by %s at %v after this array had been computed into another; Eval it before", ErrStale, w.what, w.at))
		}
	}
	return nil
}

// note remembers the inputs' versions.
func (o *operation) note() {
	o.seen = o.seenBuf[:0]
	for _, x := range o.reads {
		o.seen = append(o.seen, x.version.Load())
	}
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
	if v.taken {
		if err := op.stale(); err != nil {
			v.op, v.err = nil, err
			return err
		}
	} else {
		v.set.forget(v)
	}
	v.op = nil
	buf, err := v.dev.Alloc(int64(v.lay.Size())*int64(v.dt.Size()), v.stream)
	if err == nil {
		v.label(buf, op)
		if err = op.run(op, v.stream, device.View{Buffer: buf, DType: v.dt, Layout: v.lay}); err != nil {
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
	if v.lay.Size()*v.dt.Size() < labelled {
		return
	}
	shape, dt, name, at := v.lay.Shape, v.dt, op.name, op.site
	buf.SetLabel(func() string { return fmt.Sprintf("%v %v of %s at %v", shape, dt, name, at) })
}

// labelled is from how many bytes on an array can be among the largest.
const labelled = 64 << 10

// runInto computes an open value straight into dst, part of the value into,
// and leaves it open, as taken. It reports false when the operation cannot
// write there; the caller then stores the value and copies.
func (v *value) runInto(dst device.View, into *value) (done bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	op := v.op
	if op == nil || !op.strided && !dst.Layout.IsDense() {
		return false, nil
	}
	if v.taken {
		if err := op.stale(); err != nil {
			v.op, v.err = nil, err
			return true, err
		}
	}
	if slices.Contains(op.reads, into) && !op.allows(dst) {
		return false, nil
	}
	if err := op.run(op, v.stream, dst); err != nil {
		return true, op.fail(err)
	}
	if !v.taken {
		v.taken = true
		v.set.forget(v)
	}
	op.note()
	if i := slices.Index(op.reads, into); i >= 0 {
		op.seen[i]-- // its own result has overwritten an input
	}
	return true, nil
}

// free gives the value's memory back.
func (v *value) free(where site) {
	v.mu.Lock()
	buf := v.buf
	v.op, v.freed = nil, true
	v.set.forget(v)
	v.mu.Unlock()
	if buf != nil {
		v.beforeWrite("Free", where, nil)
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
