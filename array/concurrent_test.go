package array

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

var (
	concurrentFor  = flag.Duration("array.concurrent", 0, "how long TestConcurrent takes; 0 for 10 s, with -short 2 s")
	concurrentSeed = flag.Uint64("array.seed", 0, "the seed of TestConcurrent; 0 for one of the clock")
)

// disturbances change what an array was computed from, on which nobody waits.
var disturbances = map[string]func(x, y *Array){
	"AddInPlace":    func(x, _ *Array) { x.AddInPlace(100) },
	"Into":          func(x, y *Array) { _ = Into(x, y) },
	"CopyFrom":      func(x, y *Array) { x.CopyFrom(y) },
	"FromSliceInto": func(x, _ *Array) { _ = FromSliceInto(x, slices.Repeat([]float32{100}, x.Size())) },
	"Free":          func(x, _ *Array) { x.Free() },
}

// atOnce runs functions at once, each in a goroutine.
func atOnce(fs ...func()) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(func() { <-start; f() })
	}
	close(start)
	wg.Wait()
}

// rounds is how often a test tries what happens rarely.
func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestComputedAgainWhileWritten: what was taken, or computed into another array, is
// computed again while another goroutine writes what it reads: it is what it was, or
// stale, all of it.
func TestComputedAgainWhileWritten(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const size = 1 << 12
	uses := map[string]func(a *Array) ([]float32, error){
		"read": ToSlice[float32],
		"into": func(a *Array) ([]float32, error) {
			dst := FromSlice(make([]float32, size))
			if err := Into(dst, a); err != nil {
				return nil, err
			}
			return ToSlice[float32](dst)
		},
		"operand": func(a *Array) ([]float32, error) { return ToSlice[float32](a.Mul(1)) },
	}
	takes := map[string]func(a *Array) *Array{
		"taken":      func(a *Array) *Array { return a.Mul(2) },
		"into":       func(a *Array) *Array { dst := FromSlice(make([]float32, size)); _ = Into(dst, a); return dst },
		"both":       func(a *Array) *Array { dst := FromSlice(make([]float32, size)); _ = Into(dst, a.Mul(2)); return dst },
		"taken view": func(a *Array) *Array { return a.Reshape(2, size/2).T().Neg() },
	}
	for name, f := range disturbances {
		for how, take := range takes {
			for what, use := range uses {
				for n := range rounds(100) {
					x := FromSlice(make([]float32, size))
					y := FromSlice(slices.Repeat([]float32{100}, size))
					a := x.Add(1).Mul(2)
					if n%2 == 0 {
						a = x.Add(1).Add(x.Add(1))
					}
					kept := take(a)
					var got []float32
					var err error
					atOnce(func() { f(x, y) }, func() { got, err = use(a) })
					switch {
					case err != nil && !errors.Is(err, ErrStale):
						t.Fatalf("%s, %s, %s, round %d: %v", name, how, what, n, err)
					case err == nil && slices.ContainsFunc(got, func(v float32) bool { return v != 2 }):
						t.Fatalf("%s, %s, %s, round %d: %v, want 2", name, how, what, n, got[:8])
					}
					if _, err := ToSlice[float32](kept); err != nil {
						t.Fatalf("%s, %s, %s, round %d: what took it: %v", name, how, what, n, err)
					}
				}
			}
		}
	}
}

// TestOldestWhileWritten: the array that starts because there are too many is waited
// for by who writes what it reads.
func TestOldestWhileWritten(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	for name, f := range disturbances {
		for n := range rounds(200) {
			x, y := FromSlice(make([]float32, 64)), FromSlice(slices.Repeat([]float32{100}, 64))
			open := make([]*Array, maxOpen)
			for i := range open {
				open[i] = x.Add(i)
			}
			var more [2]*Array
			atOnce(func() { f(x, y) }, func() { more[0] = y.Add(1) }, func() { more[1] = y.Add(2) })
			for i, a := range open {
				if got, err := ToSlice[float32](a); err != nil || got[0] != float32(i) {
					t.Fatalf("%s, round %d: array %d: %v, %v", name, n, i, got, err)
				}
			}
			for i, a := range more {
				if got, err := ToSlice[float32](a); err != nil || got[0] != float32(101+i) {
					t.Fatalf("%s, round %d: %v, %v", name, n, got, err)
				}
			}
		}
	}
}

// TestTakenBesideNewest: what takes one of the others together with the newest, which
// has other inputs, is waited for by who writes what it reads through the first.
func TestTakenBesideNewest(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	for name, f := range disturbances {
		for n := range rounds(1000) {
			x, y := FromSlice(make([]float32, 64)), FromSlice(slices.Repeat([]float32{100}, 64))
			z := FromSlice(make([]float32, 64))
			a, b := x.Add(1), z.Add(2)
			var c *Array
			atOnce(func() { f(x, y) }, func() { c = a.Add(b) })
			if got, err := ToSlice[float32](c); err != nil || got[0] != 3 {
				t.Fatalf("%s, round %d: %v, %v, want 3", name, n, got, err)
			}
		}
	}
}

// TestWritersOfEachOther: two goroutines each write an array that the other reads,
// through arrays that were made before and have been computed into another. Neither
// waits for the other in a circle, or reads what the other has written.
func TestWritersOfEachOther(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	for n := range rounds(3000) {
		x, y := FromSlice(slices.Repeat([]float32{1}, 64)), FromSlice(slices.Repeat([]float32{2}, 64))
		z := FromSlice(make([]float32, 64))
		a, b := y.Add(10), x.Add(20)
		if n%2 == 0 {
			if err := errors.Join(Into(z, a), Into(z, b)); err != nil {
				t.Fatal(err)
			}
		} else {
			_ = []*Array{a.Neg(), b.Neg()}
		}
		var errs [2]error
		atOnce(func() { errs[0] = Into(x, a) }, func() { errs[1] = Into(y, b) })
		for i, c := range []struct {
			a         *Array
			was, then float32
		}{{x, 1, 12}, {y, 2, 21}} {
			want := c.then
			if errors.Is(errs[i], ErrStale) {
				want = c.was
			} else if errs[i] != nil {
				t.Fatalf("round %d: %v", n, errs[i])
			}
			if got, err := ToSlice[float32](c.a); err != nil || slices.ContainsFunc(got, func(v float32) bool { return v != want }) {
				t.Fatalf("round %d: %v, %v, want %v; the writers say %v", n, got, err, want, errs)
			}
		}
	}
}

// TestReducedWhileStored: a reduction starts, or is explained, while what it took is
// stored for another.
func TestReducedWhileStored(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	for n := range rounds(5000) {
		x := FromSlice([]float32{1, 2})
		a := x.Add(1)
		s := a.Sum()
		var got float32
		var err error
		use := func() { got, err = Item[float32](s) }
		if n%4 == 0 {
			use = func() { _ = s.Explain() }
		}
		atOnce(use, func() { _ = Eval(a) })
		if n%4 == 0 {
			use = func() { got, err = Item[float32](s) }
			use()
		}
		if err != nil || got != 5 {
			t.Fatalf("round %d: %v, %v, want 5", n, got, err)
		}
	}
}

// TestConcurrent: goroutines compute from each other's arrays, write and free what
// those were computed from, and look at them, as they please. Every array has the
// value of the line that made it, as computed on Go slices; or is stale, where
// another operation may have taken it and an input is one that is written; or freed,
// where somebody does that meanwhile. At the end no memory is left.
func TestConcurrent(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	cpu, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	seed := *concurrentSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	length := *concurrentFor
	switch {
	case length > 0:
	case testing.Short():
		length = 2 * time.Second
	default:
		length = 10 * time.Second
	}
	before := inUse(t, cpu, 0, 5)
	rng := rand.New(rand.NewPCG(seed, 0))
	var total tally
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		m := &meeting{T: t, seed: rng.Uint64(), n: 2 + rng.IntN(7), tally: &total}
		if rng.IntN(4) == 0 {
			m.n = 32
		}
		m.frees = rng.IntN(2) == 0
		m.most = []int{4, 16, 2 * maxOpen}[rng.IntN(3)]
		m.run(2+rng.IntN(7), min(time.Until(end), time.Second/2), rng.IntN(2) == 0)
	}
	if left := inUse(t, cpu, before, 200) - before; left > 0 {
		t.Errorf("%d bytes are left", left)
	}
	t.Logf("%d operations, %d reads, %d stale, %d freed, %d writes, %d replays, %d mended", total.ops.Load(), total.reads.Load(), total.stale.Load(), total.freed.Load(), total.writes.Load(), total.replays.Load(), total.mended.Load())
	if total.reads.Load() == 0 || total.writes.Load() == 0 {
		t.Error("nothing was done")
	}
}

// inUse is how many bytes of the device the program holds, looked at so many times,
// unless they are as few as expected before.
func inUse(t *testing.T, d *device.Device, expected int64, times int) int64 {
	t.Helper()
	for range times {
		openOn(d).loosen()
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
		if err := d.Synchronize(context.Background()); err != nil {
			t.Fatal(err)
		}
		if d.Pool().InUse <= expected {
			break
		}
	}
	return d.Pool().InUse
}

// tally counts what was done.
type tally struct{ ops, reads, stale, freed, writes, replays, mended atomic.Int64 }

// meeting is a number of goroutines and the arrays that they share, of int32 and of
// n x n or n elements.
type meeting struct {
	*testing.T
	*tally
	seed  uint64
	n     int
	most  int  // shared arrays
	frees bool // some of them are freed
	other *device.Stream
	doubt atomic.Int32 // writes in place under way, or failed, of what may be freed

	mu     sync.Mutex
	shared []known
}

// known is an array and the elements that it has.
type known struct {
	a    *Array
	want []int32
	wide bool // n x n, else n
	*fate
}

// fate is what may have become of an array and its views.
type fate struct {
	made  string
	fixed bool        // computed from nothing that is written
	loose bool        // what it was computed from was perhaps freed before it was there
	taken atomic.Bool // by an operation, or computed into another
	freed atomic.Bool // or about to be
}

func (m *meeting) run(goroutines int, length time.Duration, collect bool) {
	var err error
	if m.other, err = device.Default().NewStream(); err != nil {
		m.Fatal(err)
	}
	defer m.other.Close()
	if collect {
		defer debug.SetGCPercent(debug.SetGCPercent(1))
	}
	end := time.Now().Add(length)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			guest := &guest{meeting: m, Rand: rand.New(rand.NewPCG(m.seed, uint64(g)))}
			for time.Now().Before(end) && !m.Failed() {
				for range 20 {
					guest.step()
				}
			}
			guest.leave()
		})
	}
	if collect {
		wg.Go(func() {
			for time.Now().Before(end) {
				runtime.GC()
				time.Sleep(time.Millisecond)
			}
		})
	}
	wg.Wait()
	for _, x := range m.shared {
		m.check(x)
	}
	for _, x := range m.shared {
		x.a.Free()
	}
}

// publish has the others see x.
func (m *meeting) publish(x known) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.shared) < m.most {
		m.shared = append(m.shared, x)
		return
	}
	m.shared[rand.IntN(len(m.shared))] = x // what was there is dropped
}

// may reports whether x may answer err.
func (m *meeting) may(x known, err error) bool {
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrStale) && x.taken.Load() && (m.frees || !x.fixed):
		m.stale.Add(1)
	case errors.Is(err, device.ErrFreed) && (x.loose || x.freed.Load()):
		m.freed.Add(1)
	case errors.Is(err, device.ErrFreed) && x.taken.Load() && !x.fixed && m.doubt.Load() > 0: // what it reads is spoilt by that error
	case errors.Is(err, errSpoilt) && x.taken.Load() && !x.fixed:
	default:
		return false
	}
	return true
}

// check compares the elements of x.
func (m *meeting) check(x known) {
	m.reads.Add(1)
	if !x.a.lay.IsDense() {
		x.taken.Store(true) // by the copy that is read
	}
	got, err := ToSlice[int32](x.a)
	if !m.may(x, err) {
		m.Errorf("%s: %v (taken %v, fixed %v, freed %v, loose %v)", x.made, err, x.taken.Load(), x.fixed, x.freed.Load(), x.loose)
	} else if err == nil && !slices.Equal(got, x.want) {
		m.Errorf("%s: %v, want %v (taken %v, fixed %v, freed %v)", x.made, got, x.want, x.taken.Load(), x.fixed, x.freed.Load())
	}
}

// errSpoilt is what a failed write in place leaves.
var errSpoilt = dtype.ErrDType

// guest is one of the goroutines, with arrays of its own.
type guest struct {
	*meeting
	*rand.Rand
	own   [2]known // whose memory it writes; nobody else sees them
	graph *Graph
	out   known // of the graph, which reads own[0]
	times int32 // what the graph does: own[0] times this plus own[1]
}

func (g *guest) data(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(g.IntN(2001) - 1000)
	}
	return out
}

// owned returns one of the guest's own arrays, which it makes where there is none.
func (g *guest) owned(i int) *known {
	x := &g.own[i]
	if x.a == nil {
		data := g.data(g.n * g.n)
		*x = known{a: FromSlice(data, g.n, g.n), want: data, wide: true, fate: &fate{made: "own"}}
	}
	return x
}

// operand is one of the shared arrays, one of the guest's own, or a new one.
func (g *guest) operand() known {
	switch k := g.IntN(10); {
	case k < 6:
		g.mu.Lock()
		defer g.mu.Unlock()
		if len(g.shared) > 0 {
			return g.shared[g.IntN(len(g.shared))]
		}
		fallthrough
	case k < 8:
		x := *g.owned(g.IntN(2))
		x.want = slices.Clone(x.want)
		return x
	}
	wide := g.IntN(3) > 0
	n := g.n
	if wide {
		n *= g.n
	}
	x := known{want: g.data(n), wide: wide, fate: &fate{made: "FromSlice", fixed: true}}
	x.a = FromSlice(x.want, g.shape(wide)...)
	return x
}

func (g *guest) shape(wide bool) []int {
	if wide {
		return []int{g.n, g.n}
	}
	return []int{g.n}
}

// wideOperand is an operand of n x n.
func (g *guest) wideOperand() known {
	x := g.operand()
	if !x.wide {
		x.a = x.a.BroadcastTo(g.n, g.n)
		x.want, x.wide = slices.Repeat(x.want, g.n), true
	}
	return x
}

func (g *guest) step() {
	g.ops.Add(1)
	switch k := g.IntN(100); {
	case k < 45:
		x := g.compute()
		if !g.settleErr(x) {
			return
		}
		switch g.IntN(4) {
		case 0:
			g.check(x)
		case 1:
			if g.frees && g.IntN(2) == 0 {
				x.freed.Store(true)
				x.a.Free()
			}
		default:
			g.publish(x)
		}
	case k < 60:
		g.check(g.operand())
	case k < 85:
		g.write(g.owned(g.IntN(2)))
	case k < 88:
		g.replay()
	case k < 97:
		g.look(g.operand())
	default:
		g.let()
	}
}

// settleErr reports whether x, which was just computed, is there; an error must be
// one that its operands may have.
func (g *guest) settleErr(x known) bool {
	err := x.a.Err()
	if err == nil {
		return true
	}
	switch {
	case errors.Is(err, device.ErrFreed) && (x.loose || x.freed.Load()): // it may be a view of a shared one
	case errors.Is(err, device.ErrFreed) && !x.fixed && g.doubt.Load() > 0:
	case errors.Is(err, ErrStale) && (g.frees || !x.fixed):
	case errors.Is(err, errSpoilt) && !x.fixed:
	default:
		g.Errorf("%s: %v", x.made, err)
	}
	return false
}

// from is the fate of what was computed from operands.
func from(name string, xs ...known) *fate {
	f := &fate{fixed: true}
	var b strings.Builder
	b.WriteString(name + "(")
	for _, x := range xs {
		f.fixed = f.fixed && x.fixed
		f.loose = f.loose || x.loose || x.freed.Load()
		if b.Len() < 400 {
			b.WriteString(x.made + " ")
		}
	}
	f.made = b.String() + ")"
	return f
}

// compute is a new array.
func (g *guest) compute() known {
	x := g.wideOperand()
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		return g.each(x)
	case 4, 5, 6:
		return g.pairs(x, g.operand())
	case 7:
		return g.product(x, g.wideOperand())
	case 8:
		return g.chosen(x, g.wideOperand())
	case 9:
		return g.sum(x)
	case 10:
		return g.view(x)
	}
	y := g.product(x, g.wideOperand())
	if !g.settleErr(y) {
		return g.each(g.operand())
	}
	y = g.pairs(y, g.operand()) // a chain with a head
	if !g.settleErr(y) {
		return g.each(g.operand())
	}
	return g.each(y)
}

// each is an operation on one array.
func (g *guest) each(x known) known {
	c := int32(g.IntN(9) - 4)
	ops := []struct {
		name string
		f    func() *Array
		want func(v int32) int32
	}{
		{"Neg", func() *Array { return x.a.Neg() }, func(v int32) int32 { return -v }},
		{"Abs", func() *Array { return x.a.Abs() }, func(v int32) int32 { return max(v, -v) }},
		{"Square", func() *Array { return x.a.Square() }, func(v int32) int32 { return v * v }},
		{"Not", func() *Array { return x.a.Not() }, func(v int32) int32 { return ^v }},
		{"AddNumber", func() *Array { return x.a.Add(c) }, func(v int32) int32 { return v + c }},
		{"NumberSub", func() *Array { return Sub(c, x.a) }, func(v int32) int32 { return c - v }},
		{"MulNumber", func() *Array { return x.a.Mul(c) }, func(v int32) int32 { return v * c }},
		{"Clamp", func() *Array { return x.a.Clamp(-50, 900) }, func(v int32) int32 { return min(max(v, -50), 900) }},
		{"Clone", func() *Array { return x.a.Clone() }, func(v int32) int32 { return v }},
		{"CastCast", func() *Array { return x.a.Cast(dtype.Int64).Add(c).Cast(dtype.Int32) }, func(v int32) int32 { return saturated(int64(v) + int64(c)) }},
		{"On", func() *Array { return x.a.On(g.other).Add(c) }, func(v int32) int32 { return v + c }},
		{"Take", func() *Array { return Take(x.a, Arange(dtype.Int32, g.n), 0) }, func(v int32) int32 { return v }},
		{"Concat", func() *Array { return Concat(0, x.a, x.a).Slice(0, g.n, 2*g.n) }, func(v int32) int32 { return v }},
	}
	op := ops[g.IntN(len(ops))]
	x.taken.Store(true)
	r := known{a: op.f(), wide: x.wide}
	r.fate = from(op.name, x)
	for _, v := range x.want {
		r.want = append(r.want, op.want(v))
	}
	return r
}

func saturated(v int64) int32 { return int32(min(max(v, math.MinInt32), math.MaxInt32)) }

// pairs is an operation on two arrays, of which x is n x n.
func (g *guest) pairs(x, y known) known {
	if g.IntN(8) == 0 {
		y = x
	}
	ops := []struct {
		name string
		f    func() *Array
		want func(v, w int32) int32
	}{
		{"Add", func() *Array { return x.a.Add(y.a) }, func(v, w int32) int32 { return v + w }},
		{"Sub", func() *Array { return x.a.Sub(y.a) }, func(v, w int32) int32 { return v - w }},
		{"Mul", func() *Array { return x.a.Mul(y.a) }, func(v, w int32) int32 { return v * w }},
		{"Maximum", func() *Array { return y.a.Maximum(x.a) }, func(v, w int32) int32 { return max(v, w) }},
		{"Xor", func() *Array { return y.a.Xor(x.a) }, func(v, w int32) int32 { return v ^ w }},
	}
	op := ops[g.IntN(len(ops))]
	x.taken.Store(true)
	y.taken.Store(true)
	r := known{a: op.f(), wide: true}
	r.fate = from(op.name, x, y)
	for i, v := range x.want {
		r.want = append(r.want, op.want(v, y.want[i%len(y.want)]))
	}
	return r
}

// product is a matrix product.
func (g *guest) product(x, y known) known {
	n := g.n
	x.taken.Store(true)
	y.taken.Store(true)
	b, at := y.a, func(i, j int) int32 { return y.want[i*n+j] }
	if g.IntN(2) == 0 {
		b, at = y.a.T(), func(i, j int) int32 { return y.want[j*n+i] }
	}
	r := known{a: x.a.MatMul(b), wide: true, want: make([]int32, n*n)}
	r.fate = from("MatMul", x, y)
	for i := range n {
		for j := range n {
			for k := range n {
				r.want[i*n+j] += x.want[i*n+k] * at(k, j)
			}
		}
	}
	return r
}

// chosen is x where it is positive, else y.
func (g *guest) chosen(x, y known) known {
	x.taken.Store(true)
	y.taken.Store(true)
	r := known{a: Where(x.a.Gt(0), x.a, y.a), wide: true, want: slices.Clone(x.want)}
	r.fate = from("Where", x, y)
	for i, v := range x.want {
		if v <= 0 {
			r.want[i] = y.want[i]
		}
	}
	return r
}

// sum adds the rows, or along them.
func (g *guest) sum(x known) known {
	n, axis := g.n, g.IntN(2)
	x.taken.Store(true)
	r := known{a: x.a.Sum(axis).Cast(dtype.Int32)}
	r.fate = from("Sum", x)
	for i := range n {
		s := int64(0)
		for k := range n {
			if axis == 0 {
				s += int64(x.want[k*n+i])
			} else {
				s += int64(x.want[i*n+k])
			}
		}
		r.want = append(r.want, saturated(s))
	}
	return r
}

// view is a view, computed on: a view of what is written is no array of its own.
func (g *guest) view(x known) known {
	n := g.n
	r := known{wide: true, want: make([]int32, 0, n*n)}
	var a *Array
	x.taken.Store(true)
	switch g.IntN(4) {
	case 0:
		a = x.a.T()
		for i := range n * n {
			r.want = append(r.want, x.want[i%n*n+i/n])
		}
	case 1:
		a = x.a.Flip(0)
		for i := range n {
			r.want = append(r.want, x.want[(n-1-i)*n:(n-i)*n]...)
		}
	case 2:
		a = x.a.Reshape(-1).Flip().Reshape(n, n)
		r.want = append(r.want, x.want...)
		slices.Reverse(r.want)
	default:
		i := g.IntN(n)
		a = x.a.Slice(0, i, i+1).Squeeze()
		r.wide = false
		r.want = append(r.want, x.want[i*n:(i+1)*n]...)
	}
	if !x.freed.Load() && a.Err() == nil && x.made != "own" && x.made != "out" && g.IntN(2) == 0 {
		r.a, r.fate = a, x.fate // a view as it is
		return r
	}
	r.a = a.Add(0)
	r.fate = from("view", x)
	return r
}

// look asks for what there is to know of an array.
func (g *guest) look(x known) {
	switch g.IntN(4) {
	case 0:
		if x.a.Explain() == "" {
			g.Error("nothing to explain")
		}
	case 1:
		x.taken.Store(true) // a large one is printed by its edges
		if fmt.Sprintf("%+v", x.a) == "" {
			g.Error("nothing to print")
		}
	case 2:
		if err := x.a.Err(); !g.may(x, err) {
			g.Errorf("%s: %v", x.made, err)
		}
	default:
		if err := Eval(x.a); !g.may(x, err) {
			g.Errorf("%s: %v", x.made, err)
		}
	}
}

// write writes to x, which is the guest's own.
func (g *guest) write(x *known) {
	g.writes.Add(1)
	n := g.n
	err := func() error {
		switch g.IntN(11) {
		case 0:
			data := g.data(n * n)
			err := FromSliceInto(x.a, data)
			x.want = data
			return err
		case 1:
			c := int32(g.IntN(9) - 4)
			err := x.a.AddInPlace(c).Err()
			x.want = slices.Clone(x.want)
			for i := range x.want {
				x.want[i] += c
			}
			return err
		case 2, 3:
			y := g.operand()
			y.taken.Store(true)
			if g.IntN(4) == 0 { // open, and reads x
				y = g.pairs(*x, y)
				if !g.settleErr(y) {
					return nil
				}
			}
			g.doubt.Add(1)
			return g.written(x, y, x.a.AddInPlace(y.a).Err(), func(v, w int32) int32 { return v + w })
		case 4, 5, 6:
			y := g.wideOperand()
			y.taken.Store(true)
			if g.IntN(3) == 0 {
				y = g.each(*x)
				if !g.settleErr(y) {
					return nil
				}
				if g.IntN(2) == 0 {
					g.publish(y)
				}
				y.taken.Store(true)
			}
			g.doubt.Add(1)
			return g.written(x, y, Into(x.a, y.a), func(_, w int32) int32 { return w })
		case 7:
			y := g.wideOperand()
			y.taken.Store(true)
			t := slices.Clone(x.want)
			for i := range t {
				t[i] = y.want[i%n*n+i/n]
			}
			y.want = t
			g.doubt.Add(1)
			return g.written(x, y, Into(x.a.T(), y.a), func(_, w int32) int32 { return w })
		case 8:
			y := g.operand()
			y.taken.Store(true)
			g.doubt.Add(1)
			return g.written(x, y, x.a.CopyFrom(y.a).Err(), func(_, w int32) int32 { return w })
		case 9: // to a part of it
			i := g.IntN(n)
			row := x.a.Slice(0, i, i+1)
			err := row.MulInPlace(3).Err()
			x.want = slices.Clone(x.want)
			for k := range n {
				x.want[i*n+k] *= 3
			}
			return err
		}
		// A write that fails, and is made good.
		if err := x.a.AddInPlace(1.5).Err(); !errors.Is(err, errSpoilt) {
			return fmt.Errorf("a fraction added to integers: %w", err)
		}
		if _, err := ToSlice[int32](x.a); !errors.Is(err, errSpoilt) {
			return fmt.Errorf("after a failed write: %w", err)
		}
		g.mended.Add(1)
		return FromSliceInto(x.a, x.want)
	}()
	if err != nil {
		g.Errorf("%s: %v", x.made, err)
		return
	}
	if g.IntN(4) == 0 {
		g.check(*x)
	}
}

// written notes that y was written to x, or that the error was one of y's.
func (g *guest) written(x *known, y known, err error, f func(v, w int32) int32) error {
	if !errors.Is(err, device.ErrFreed) {
		g.doubt.Add(-1)
	}
	if err != nil {
		if !g.may(y, err) {
			return fmt.Errorf("of %s: %w", y.made, err)
		}
		g.mended.Add(1)
		return FromSliceInto(x.a, x.want) // as it was, whether the error spoilt it or not
	}
	x.want = slices.Clone(x.want)
	for i, v := range x.want {
		x.want[i] = f(v, y.want[i%len(y.want)])
	}
	return nil
}

// replay captures a sequence on the guest's own arrays, replays it, and has others use
// what it computes.
func (g *guest) replay() {
	x, y := g.owned(0), g.owned(1)
	if g.graph == nil {
		g.times = int32(g.IntN(5) + 1)
		graph, err := Capture([]*Array{x.a, y.a}, func(in []*Array) []*Array {
			return []*Array{in[0].Mul(g.times).Add(in[1])}
		})
		if err != nil {
			g.Error(err)
			return
		}
		g.graph = graph
		g.out = known{a: graph.Outputs()[0], wide: true, fate: &fate{made: "out"}}
	}
	for range 1 + g.IntN(3) {
		if err := g.graph.Replay(); err != nil {
			g.Error(err)
			return
		}
		g.replays.Add(1)
		g.out.want = make([]int32, g.n*g.n)
		for i := range g.out.want {
			g.out.want[i] = x.want[i]*g.times + y.want[i]
		}
		g.check(g.out)
		if z := g.each(g.out); g.settleErr(z) {
			g.publish(z)
		}
	}
}

// let gives an array back: one of the guest's own, or one that is shared.
func (g *guest) let() {
	if !g.frees || g.IntN(2) == 0 {
		g.freeOwn()
		return
	}
	g.mu.Lock()
	if len(g.shared) < g.most {
		g.mu.Unlock()
		return
	}
	i := g.IntN(len(g.shared))
	x := g.shared[i]
	g.shared = slices.Delete(g.shared, i, i+1)
	g.mu.Unlock()
	x.freed.Store(true) // others may use it at this moment
	x.a.Free()
}

// freeOwn frees the guest's own arrays, and what reads them.
func (g *guest) freeOwn() {
	if g.graph != nil {
		g.graph.Free()
		g.out.a.Free()
		g.graph, g.out = nil, known{}
	}
	for i := range g.own {
		if g.own[i].a != nil {
			g.own[i].a.Free()
			g.own[i] = known{}
		}
	}
}

func (g *guest) leave() {
	g.freeOwn()
}

// TestReadWhileAnnounced: an array is written over what it is computed from. Between the
// announcement and the write another goroutine takes the array, and a third reads it: the
// third may be told that it is stale, what took it has the elements of its line.
func TestReadWhileAnnounced(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	for name, read := range map[string]func(y *Array) error{
		"read": func(y *Array) error { _, err := ToSlice[float32](y); return err },
		"into": func(y *Array) error { return Into(FromSlice(make([]float32, 3)), y) },
	} {
		t.Run(name, func(t *testing.T) {
			x := FromSlice([]float32{1, 2, 3})
			y := x.Add(1).Mul(2)
			v, buf, err := x.writable()
			if err != nil {
				t.Fatal(err)
			}
			c := call{"Into", here()} // which does the rest
			v.settle(y.current())
			v.changedBy(c.name, &c.site)
			z := y.Neg()
			for range 2 {
				if err := read(y); err != nil && !errors.Is(err, ErrStale) {
					t.Fatal(err)
				}
			}
			if err := y.writeTo(&c, v, device.View{Buffer: buf, DType: x.dt, Layout: x.lay}); err != nil {
				t.Fatal(err)
			}
			for a, want := range map[*Array][]float32{x: {4, 6, 8}, z: {-4, -6, -8}} {
				if got, err := ToSlice[float32](a); err != nil || !slices.Equal(got, want) {
					t.Errorf("%v, %v, want %v", got, err, want)
				}
			}
		})
	}
}
