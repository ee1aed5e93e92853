package array

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/ops"
)

// value is where the elements of an array and of all its views come from: a
// buffer, or an operation that has not started ("open").
//
// A value that belongs to one Array alone is given up, to be used again, when
// it was freed, or was computed into another array without being stored. What it
// computed moves into that Array, which makes a new value of it should it need
// one (revive). So an operation that ends in Into allocates nothing. gen tells
// an Array that still looks at such a value that it is no longer its own.
type value struct {
	set *openSet // of the device

	buf     atomic.Pointer[device.Buffer] // nil while open
	gen     atomic.Uint64                 // changes under mu, when the value is given up
	version atomic.Uint64                 // how often the memory was written or freed; never goes back
	noted   atomic.Bool                   // an operation that was taken remembers version

	mu     sync.Mutex // guards what follows
	stream *device.Stream
	lay    layout.Layout // dense, of the whole value
	dt     dtype.DType
	op     operation // while open; then what Explain says of it
	open   bool
	taken  bool // by an operation, or computed into another place; not stored here
	lent   bool // taken by an operation, which may yet need what computes it
	shared bool // more than one Array has it, or will
	freed  bool
	limbo  bool // taken by an operation that is not listed yet: still listed itself
	err    error

	changed   change        // the last one that version counts
	failedLay layout.Layout // what the in-place write that failed last was to write
}

// change is who wrote or freed a value's memory, and where.
type change struct {
	what string
	at   site
}

// operation is what computes a value: one piece of memory for up to three
// operands.
type operation struct {
	request
	in   [3]input
	more []input // beyond three
	n    int

	rule
	strided bool // dst need not be dense
	headed  bool // what it took begins with a product
	alias   alias
	depth   int    // operations that were taken, one after the other
	how     string // for Explain; a product says more
	apart   string // why an operand was not taken
	product *product
	fused   *fusedPlan

	precision matmul.Precision // of a product that is not here
	parted    bool             // there is such a product
}

// rule is what an operation computes.
type rule struct {
	// run computes into dst, which has the value's shape and overlaps the
	// operands only as alias allows.
	run         func(o *operation, s *device.Stream, dst device.View) error
	code        expr.Op // of an operation of the table
	fusion      fusion
	out         dtype.DType // of a step
	scalar      ops.Scalar
	numbered    bool    // there is a scalar
	scalarFirst bool    // the scalar is the left operand
	places      *places // of an operation on three operands
	axes        []bool  // of a reduction
	along       *along  // of a norm or softmax
}

// input is an operand of an operation, as run reads it. Where the operand was
// taken the view has no buffer: its elements are what of computes, or, once
// something has started that, where they were stored.
type input struct {
	of   *value
	view device.View
	seen uint64 // of's version when the operation was last run
}

// input returns the i-th operand.
func (o *operation) input(i int) *input {
	if i < len(o.in) {
		return &o.in[i]
	}
	return &o.more[i-len(o.in)]
}

// view returns the i-th operand's elements.
func (o *operation) view(i int) device.View { return o.input(i).view }

// reads reports whether x is an operand, or one of what was taken.
func (o *operation) reads(x *value) bool {
	for i := range o.n {
		in := o.input(i)
		if in.of == x || in.view.Buffer == nil && !o.repeats(i) && in.of.readsFrom(x) {
			return true
		}
	}
	return false
}

// repeats reports whether the i-th operand, which was taken, is one before it too:
// what was taken is so by one operation alone, and has been looked at.
func (o *operation) repeats(i int) bool {
	of := o.input(i).of
	for j := range i {
		if o.input(j).of == of {
			return true
		}
	}
	return false
}

// release drops the memory of an operation that has run and keeps what
// describes it.
func (o *operation) release() {
	o.in, o.more, o.n, o.args, o.run, o.depth = [3]input{}, nil, 0, nil, nil, 0
	if o.product != nil {
		o.product.Product = o.product.Detached()
	}
}

// explain says how the operation computes.
func (o *operation) explain() string {
	switch {
	case o.product != nil:
		return o.name + ": " + o.product.explain()
	case o.fused != nil:
		return o.name + ": " + o.fused.explain(o)
	case o.apart != "":
		return o.name + ": " + o.how + "; an operand is not part of it: " + o.apart
	}
	return o.name + ": " + o.how
}

// alias says how a destination may overlap an operation's operands.
type alias uint8

const (
	apart      alias = iota // not at all
	samePlaces              // an operand may have the destination's very layout
)

// allows reports whether the operation may write to dst.
func (o *operation) allows(dst device.View) bool {
	for i := range o.n {
		v := &o.input(i).view
		if overlaps(v, &dst) && (o.alias == apart || v.DType.Size() != dst.DType.Size() || !sameLayout(&v.Layout, &dst.Layout)) {
			return false
		}
	}
	return true
}

// maxOpen bounds the open values of a device; beyond, the oldest starts. Taken
// ones do not count.
const maxOpen = 64

// openSet lists the open values of one device, oldest first. They are held
// weakly: what the program drops is never computed.
//
// The newest is held firmly, until it starts, is taken, or another comes: most
// arrays are used by the very next call, and need no weak pointer. It comes and
// goes without the lock; who makes it one of the others holds it.
type openSet struct {
	newest atomic.Pointer[value]
	others atomic.Int32  // the length of values
	prunes atomic.Uint32 // how often values may have been dropped from values

	mu      sync.Mutex
	values  []weak.Pointer[value]
	redos   []*value     // taken, and being computed again: they are not listed
	redoing atomic.Int32 // the length of redos

	idle sync.Pool // values that were given up

	layouts keptLayouts
}

var openSets sync.Map // *device.Device -> *openSet

func openOn(d *device.Device) *openSet {
	if s, ok := openSets.Load(d); ok {
		return s.(*openSet)
	}
	s, _ := openSets.LoadOrStore(d, &openSet{})
	return s.(*openSet)
}

// value returns a value for a new operation, locked.
func (s *openSet) value() *value {
	v := s.unlocked()
	v.mu.Lock()
	return v
}

// unlocked returns a value for a new operation whose operands are not there yet:
// one that has lost its value may look at this one, and lock it.
func (s *openSet) unlocked() *value {
	v, _ := s.idle.Get().(*value)
	if v == nil {
		v = &value{set: s}
	}
	return v
}

// forget drops a value that no longer waits, and reports whether it was the
// newest. It takes no lock: the value's own is held.
func (s *openSet) forget(v *value) bool { return s.newest.CompareAndSwap(v, nil) }

// add registers an open value, and starts the oldest where there are too many.
func (s *openSet) add(v *value) {
	if s.newest.CompareAndSwap(nil, v) {
		return
	}
	var oldest *value
	s.mu.Lock()
	s.unseat(v)
	if len(s.values) >= maxOpen {
		s.prune()
		if len(s.values) >= maxOpen {
			oldest = s.oldest()
		}
	}
	s.mu.Unlock()
	if oldest != nil {
		_ = oldest.startLocked(nil) // kept in the value, for whoever uses it
		oldest.mu.Unlock()
	}
}

// oldest returns the oldest value that nobody is at work on, locked; nil for none.
// It stays on the list, so that writers wait for it. mu is held.
func (s *openSet) oldest() *value {
	for _, p := range s.values {
		if v := p.Value(); v != nil && v.mu.TryLock() {
			if v.waiting() {
				return v
			}
			v.mu.Unlock()
		}
	}
	return nil
}

// unseat makes v the newest, and what was one of the others. It reports whether
// there was one. mu is held.
func (s *openSet) unseat(v *value) bool {
	s.others.Store(int32(len(s.values)) + 1) // before it is no longer the newest: see idles
	last := s.newest.Swap(v)
	if last != nil {
		s.values = append(s.values, weak.Make(last))
	}
	s.others.Store(int32(len(s.values)))
	return last != nil
}

// idles reports whether nothing is open but except. The newest becomes one of the
// others, and what takes one of those the newest: so it looks at both, and whether one
// of the others went between.
func (s *openSet) idles(except *value) bool {
	prunes := s.prunes.Load()
	v := s.newest.Load()
	return (v == nil || v == except) && s.others.Load() == 0 && s.prunes.Load() == prunes
}

// loosen lets go of the newest value, which may be all that keeps the memory of
// what the program dropped. It reports whether there was one.
func (s *openSet) loosen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unseat(nil)
}

// alloc returns memory for data from elsewhere. Where there is none, it asks
// once more without the newest value.
func alloc(d *device.Device, n int64, s *device.Stream) (*device.Buffer, error) {
	buf, err := d.Alloc(n, s)
	if errors.Is(err, device.ErrOutOfMemory) && openOn(d).loosen() {
		return d.Alloc(n, s)
	}
	return buf, err
}

// prune drops values that are gone, have started or were taken; mu is held. One
// that somebody is at work on stays: a start may take long.
func (s *openSet) prune() {
	s.values = slices.DeleteFunc(s.values, func(p weak.Pointer[value]) bool {
		v := p.Value()
		if v == nil {
			return true
		}
		if !v.mu.TryLock() {
			return false
		}
		defer v.mu.Unlock()
		return !v.waiting()
	})
	s.prunes.Add(1) // before others tells: see idles
	s.others.Store(int32(len(s.values)))
}

// readersOf returns the open values, taken ones and except aside, that read x. It
// reports whether one that was listed has started and is part of another, which may
// read x through it and was perhaps not listed yet.
func (s *openSet) readersOf(x, except *value) (readers []*value, again bool) {
	if s.idles(except) {
		return nil, false
	}
	var out []*value
	s.mu.Lock()
	s.prune()
	for _, p := range s.values {
		if v := p.Value(); v != nil && v != except {
			out = append(out, v)
		}
	}
	// The newest last: it may have taken one that was on the list just before.
	if v := s.newest.Load(); v != nil && v != except {
		out = append(out, v)
	}
	s.mu.Unlock()
	// Without the lock: a value that is being started answers when it is done.
	out = slices.DeleteFunc(out, func(v *value) bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		again = again || !v.open && v.taken
		return !v.open || !v.op.reads(x)
	})
	return out, again
}

// eager makes every operation start on its own line.
var eager atomic.Bool

func init() { eager.Store(device.Switched("GPK_EAGER")) }

// waiting reports whether the value is open and nothing has taken it; mu is held.
func (v *value) waiting() bool { return v.open && (!v.taken || v.limbo) }

func (v *value) readsFrom(x *value) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.open && v.op.reads(x)
}

func (v *value) readsBuffer(b *device.Buffer) bool { return v.op.readsBuffer(b) }

func (o *operation) readsBuffer(b *device.Buffer) bool {
	for i := range o.n {
		in := o.input(i)
		if in.view.Buffer == b {
			return true
		}
		if in.view.Buffer == nil && !o.repeats(i) {
			in.of.mu.Lock()
			r := in.of.buf.Load() == b || in.of.open && in.of.op.readsBuffer(b)
			in.of.mu.Unlock()
			if r {
				return true
			}
		}
	}
	return false
}

// settle starts the open values that read x, whose memory is about to be
// written or freed, and waits for those that another goroutine is starting. except
// is left alone.
//
// What takes an open value reads x through it as long as that is open, and is
// listed by the time it starts. So where a reader turns out to be taken once it has
// started, the list is read again: what took it found it stored, is there now and
// waited for, or is done.
func (x *value) settle(except *value) {
	for again := true; again; {
		var readers []*value
		readers, again = x.set.readersOf(x, except)
		for _, v := range readers {
			v.mu.Lock()
			_ = v.startLocked(nil) // kept in the value, for whoever uses it
			again = again || v.taken
			v.mu.Unlock()
		}
	}
}

// changedBy notes that x's memory, which is settled, is about to be written or freed.
// Operations that were taken before see by the version that they are stale. Those
// that have looked at it already, and are computed again, have read x when it
// returns.
func (x *value) changedBy(what string, where *site) {
	x.mu.Lock()
	x.changed.what, x.changed.at = what, *where
	x.version.Add(1)
	x.mu.Unlock()
	x.set.awaitRedos(x)
}

// redo has writers wait for v, which was taken and is about to be computed again: it
// looks at the versions of what it reads next. v.mu is held until after redone.
func (s *openSet) redo(v *value) {
	s.mu.Lock()
	s.redos = append(s.redos, v)
	s.redoing.Store(int32(len(s.redos)))
	s.mu.Unlock()
}

// redone ends what redo began.
func (s *openSet) redone(v *value) {
	s.mu.Lock()
	i := slices.Index(s.redos, v)
	s.redos = slices.Delete(s.redos, i, i+1)
	s.redoing.Store(int32(len(s.redos)))
	s.mu.Unlock()
}

// awaitRedos returns once nothing is computed again that may not have seen that x
// changes.
func (s *openSet) awaitRedos(x *value) {
	if s.redoing.Load() == 0 {
		return
	}
	s.mu.Lock()
	redos := slices.Clone(s.redos)
	s.mu.Unlock()
	for _, v := range redos {
		_ = v.readsFrom(x) // it answers when it is done
	}
}

// stale returns the error of an operation that was taken and whose inputs have
// changed since. The change of to that is about to come does not count.
func (o *operation) stale(to *value) error {
	if c, changed := o.changed(to); changed {
		return o.fail(fmt.Errorf("%w: an input was changed by %s at %v after this array had been computed into another; Eval it before", ErrStale, c.what, c.at))
	}
	return nil
}

// changed returns what was done to an input since note, but for the last change of
// to.
func (o *operation) changed(to *value) (c change, changed bool) {
	for i := range o.n {
		in := o.input(i)
		if version := in.of.version.Load(); version != in.seen && (in.of != to || version != in.seen+1) {
			in.of.mu.Lock()
			defer in.of.mu.Unlock()
			return in.of.changed, true
		}
		if in.view.Buffer != nil || o.repeats(i) {
			continue
		}
		in.of.mu.Lock()
		if in.of.open {
			c, changed = in.of.op.changed(to)
		}
		in.of.mu.Unlock()
		if changed {
			return c, true
		}
	}
	return change{}, false
}

// note remembers the inputs' versions; see before.
func (o *operation) note(to *value) {
	for i := range o.n {
		in := o.input(i)
		in.seen = in.of.version.Load()
		if in.of == to {
			in.seen--
		}
		if !in.of.noted.Load() {
			in.of.noted.Store(true)
		}
	}
}

// before has what is remembered of to be from before its last change, which is about
// to come: somebody may have looked since it was announced.
func (o *operation) before(to *value) {
	for i := range o.n {
		if in := o.input(i); in.of == to && in.seen == to.version.Load() {
			in.seen--
		}
	}
}

// start runs the value's operation into memory of its own, once.
func (v *value) start() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.startLocked(nil)
}

// startLocked is start with mu held, by whoever is about to write to; nil for
// nobody.
func (v *value) startLocked(to *value) error {
	if !v.open {
		return v.err
	}
	if v.taken && !v.limbo { // what is listed cannot be stale
		v.set.redo(v)
		defer v.set.redone(v)
		if err := v.op.stale(to); err != nil {
			v.expire(err)
			return err
		}
	}
	return v.compute()
}

// expire notes that the value is stale, unless what took it may yet need what computes
// it: that is as old as this value is, and is computed before its inputs are written,
// which may only have been announced. mu is held.
func (v *value) expire(err error) {
	if !v.lent {
		v.open, v.err = false, err
		v.op.release()
	}
}

// compute is startLocked of an open value that is not stale.
func (v *value) compute() error {
	op := &v.op
	v.open = false
	defer v.set.forget(v) // once what it reads is read: until then writers wait for mu
	buf, err := v.stream.Device().Alloc(int64(v.lay.Size())*int64(v.dt.Size()), v.stream)
	if err == nil {
		label(buf, &op.request, v.lay.Shape, v.dt)
		if err = op.launch(v.stream, device.View{Buffer: buf, DType: v.dt, Layout: v.lay}, v.lay); err != nil {
			buf.Free()
		}
	}
	if err != nil {
		v.err = op.wrap(err)
	} else {
		v.buf.Store(buf)
	}
	op.release()
	return v.err
}

// label tells the list of the largest live arrays what a buffer is.
func label(buf *device.Buffer, r *request, shape []int, dt dtype.DType) {
	if buf.Size() < labelled {
		return
	}
	name, at := r.name, r.site
	buf.SetLabel(func() string { return fmt.Sprintf("%v %v of %s at %v", shape, dt, name, at) })
}

// labelled is from how many bytes on an array can be among the largest.
const labelled = 64 << 10

// hold returns the array's value, locked. It makes one where the array's was
// given up.
func (a *Array) hold() *value {
	v := a.v
	v.mu.Lock()
	if v.gen.Load() == a.gen {
		return v
	}
	// v is another array's by now; its lock still guards what a has instead.
	if a.again == nil {
		a.again = a.revive()
	}
	w := a.again
	v.mu.Unlock()
	w.mu.Lock()
	return w
}

// revive makes a value of what the array's was before it was given up.
func (a *Array) revive() *value {
	v := &value{set: a.v.set, stream: a.stream, lay: a.lay, dt: a.dt, op: a.kept, shared: true, freed: a.freed}
	v.gen.Store(a.gen)
	v.op.remake(a.on())
	switch {
	case v.freed:
	case v.op.run != nil:
		v.open, v.taken = true, true
	default:
		v.err = fmt.Errorf("%w: a copy of the struct that an *Array points to; copy the pointer", expr.ErrUnsupported)
	}
	return v
}

// giveUp makes the value, which is a's alone, ready for another operation. Its
// lock is held and released.
func (v *value) giveUp(a *Array) {
	a.kept, a.freed = v.op, v.freed
	a.kept.part()
	v.gen.Add(1)
	if v.buf.Load() != nil {
		v.buf.Store(nil)
	}
	v.op, v.lay, v.stream, v.failedLay, v.err = operation{}, layout.Layout{}, nil, layout.Layout{}, nil
	v.open, v.taken, v.lent, v.freed = false, false, false, false
	v.mu.Unlock()
	v.set.idle.Put(v)
}

// current returns the array's value, nil once it was given up.
func (a *Array) current() *value {
	if a.v.gen.Load() != a.gen {
		return nil
	}
	return a.v
}

// same reports whether two arrays show one value.
func (a *Array) same(b *Array) bool { return a.v == b.v && a.gen == b.gen }

// isOpen reports whether the array is not stored, but can be computed.
func (a *Array) isOpen() bool {
	v := a.hold()
	defer v.mu.Unlock()
	return v.open
}

// runInto computes an open array straight into dst, the memory of to, and leaves it
// open, as taken. It reports false when the operation cannot write there; the caller
// then stores the array and copies.
func (a *Array) runInto(to *value, dst device.View) (done bool, err error) {
	v := a.hold()
	op := &v.op
	if !v.open || v.freed || !op.strided && !dst.Layout.IsDense() || !sameLayout(&a.lay, &v.lay) {
		v.mu.Unlock()
		return false, nil
	}
	again := v.taken
	if again {
		v.set.redo(v)
		if err := op.stale(to); err != nil {
			v.expire(err)
			v.let(again)
			return true, err
		}
		op.before(to)
	}
	var plan *planner
	if op.fuses() {
		if plan, err = op.planWhole(v.lay); err != nil {
			err = op.wrap(err)
			v.let(again)
			return true, err
		}
	}
	if v.lent && v.readsBuffer(dst.Buffer) || plan == nil && !op.allows(dst) || plan != nil && !op.planAllows(plan, dst) {
		v.let(again)
		return false, nil
	}
	if !again {
		op.note(to) // before it runs: what is freed meanwhile is not given up
	}
	if err = op.launchPlan(plan, v.stream, dst); err != nil {
		err = op.wrap(err)
		v.let(again)
		return true, err
	}
	if !again {
		v.taken = true
		if v.set.forget(v) && !v.shared { // and no weak pointer to it
			v.giveUp(a)
			return true, nil
		}
	}
	v.let(again)
	return true, nil
}

// let unlocks the value, and ends redo where it was begun.
func (v *value) let(again bool) {
	if again {
		v.set.redone(v)
	}
	v.mu.Unlock()
}

// buffer returns the buffer of a value that was started, which must be there;
// mu is held.
func (v *value) buffer() (*device.Buffer, error) {
	if v.freed {
		return nil, fmt.Errorf("%w", device.ErrFreed)
	}
	if err := v.startLocked(nil); err != nil {
		return nil, err
	}
	buf := v.buf.Load()
	if buf.Freed() {
		return nil, fmt.Errorf("%w", device.ErrFreed)
	}
	return buf, nil
}

// writable returns where the array's elements are, about to be written, healthy
// or not. It starts the array where it is open.
func (a *Array) writable() (*value, *device.Buffer, error) {
	// The buffer first: a may look at a value that was given up, and is
	// another's by now, buffer and all.
	if buf := a.v.buf.Load(); buf != nil && a.v.gen.Load() == a.gen && !buf.Freed() {
		return a.v, buf, nil
	}
	v := a.hold()
	defer v.mu.Unlock()
	buf, err := v.buffer()
	return v, buf, err
}

// stored returns where the array's elements are. It starts the array where it
// is open.
func (a *Array) stored() (*value, *device.Buffer, error) {
	v, buf, err := a.writable()
	if err == nil {
		if err = buf.Err(); err != nil {
			err = a.blame(err)
		}
	}
	return v, buf, err
}

// blame has the error of work that was queued name the call that was to write the
// array's elements.
func (a *Array) blame(err error) error {
	var queued *device.SubmitError
	var named *OpError
	if !errors.As(err, &queued) || errors.As(err, &named) {
		return err
	}
	v := a.hold()
	defer v.mu.Unlock()
	c := v.op.call
	if v.changed.what != "" {
		c = call{v.changed.what, v.changed.at}
	}
	if c.name == "" {
		return err
	}
	return c.fail(err, a)
}

// share returns the array's value for one more Array.
func (a *Array) share() *value {
	v := a.hold()
	v.shared = true
	v.mu.Unlock()
	return v
}

// free gives the array's memory back.
func (a *Array) free(where site) {
	v := a.hold()
	if v.freed {
		v.mu.Unlock()
		return
	}
	buf, listed := v.buf.Load(), false
	if v.open && !v.lent {
		listed = !v.set.forget(v) // weakly, until it is pruned
		v.open = false
		v.op.release()
	}
	v.freed = true
	v.mu.Unlock()
	if buf != nil && !buf.Freed() {
		v.settle(nil)
		v.changedBy("Free", &where)
		buf.Free()
	}
	if v != a.v || listed || v.noted.Load() {
		return
	}
	v.mu.Lock()
	if v.gen.Load() == a.gen && !v.shared {
		v.giveUp(a)
		return
	}
	v.mu.Unlock()
}
