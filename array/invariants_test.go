package array

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"weak"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/weaklist"
)

// checkInvariants fails the test if a node, contents, memory or storage of the arrays, or of
// the pending operations on their devices, breaks a rule that the comment on its type
// states. No operation may run during the check.
func checkInvariants(t testing.TB, arrays ...*Array) {
	t.Helper()
	of := map[*device.Device]*inspection{}
	for _, a := range arrays {
		if a.check() != nil {
			continue
		}
		in := of[a.on()]
		if in == nil {
			in = &inspection{
				sched: schedulerOf(a.on()), references: map[*contents]map[*Scope]int{}, nodes: map[*node]bool{}, memories: map[*memory]bool{},
			}
			of[a.on()] = in
		}
		in.arrays = append(in.arrays, a)
	}
	for _, in := range of {
		for _, text := range in.run() {
			t.Error(text)
		}
	}
}

// inspection visits the nodes, contents, memories and storages of one device.
type inspection struct {
	sched      *scheduler
	arrays     []*Array
	references map[*contents]map[*Scope]int // number of pending and running nodes that read the contents, by scope
	nodes      map[*node]bool
	memories   map[*memory]bool
	broken     []string // one message for each broken rule
}

func (in *inspection) run() []string {
	s := in.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.pending.Waiting()); n > weaklist.Max+1 {
		in.fail("%d nodes wait, at most %d may", n, weaklist.Max+1)
	}
	for _, n := range s.pending.All() {
		in.node(n)
	}
	for _, a := range in.arrays {
		in.storage(a.st)
	}
	for c, by := range in.references {
		in.readers(c, by)
	}
	for m := range in.memories {
		in.log(m)
	}
	return in.broken
}

func (in *inspection) fail(format string, args ...any) {
	in.broken = append(in.broken, fmt.Sprintf(format, args...))
}

// storage checks a storage without an error: its contents are the newest version of its
// memory, and they are stored if its address is fixed.
func (in *inspection) storage(st *storage) {
	c := st.cur
	in.contents(c)
	if st.writing {
		in.fail("a write is under way")
	}
	if st.check() != nil {
		return
	}
	switch m := c.mem; {
	case m == nil:
		if st.fixed() && c.state() != failed {
			in.fail("a fixed storage is not stored, but in state %d", c.state())
		}
	case c.version != m.version || c.superseded:
		in.fail("a storage shows version %d of %d", c.version, m.version)
	case m.ended == nil && !m.current:
		in.fail("a memory that a storage shows is not current")
	}
}

// contents checks that contents have a memory if and only if they are stored.
func (in *inspection) contents(c *contents) {
	if in.references[c] != nil {
		return
	}
	in.references[c] = map[*Scope]int{}
	if (c.mem != nil) != (c.state() == stored) {
		in.fail("contents in state %d, memory %v", c.state(), c.mem != nil)
	}
	if c.node != nil {
		in.node(c.node)
		if c.node.out != c {
			in.fail("the node %s of some contents computes other contents", c.node.name)
		}
	}
	m := c.mem
	if m == nil {
		return
	}
	if !in.memories[m] {
		in.memories[m] = true
		for _, p := range m.olds {
			if old := p.Value(); old != nil {
				in.contents(old)
			}
		}
	}
	if c.version > m.version {
		in.fail("version %d of a memory that has %d", c.version, m.version)
	}
	if m.ended != nil || !c.needed(0) {
		return
	}
	if c.version != m.version || c.superseded {
		if !slices.ContainsFunc(m.olds, func(p weak.Pointer[contents]) bool { return p.Value() == c }) {
			in.fail("older contents, which are needed, are not listed")
		}
	}
	if m.buf.Freed() {
		in.fail("the buffer of contents that are needed was freed")
	}
}

// node checks that a node refers to operands if and only if it is pending or running.
func (in *inspection) node(n *node) {
	if in.nodes[n] {
		return
	}
	in.nodes[n] = true
	in.contents(n.out)
	if n.state > running {
		if n.n != 0 || n.more != nil || n.in[0].of != nil || n.in[1].of != nil || n.run != nil {
			in.fail("%s has ended in state %d and holds operands", n.name, n.state)
		}
		if (n.state >= failed) != (n.err != nil) {
			in.fail("%s is in state %d with the error %v", n.name, n.state, n.err)
		}
		return
	}
	if n.run == nil {
		in.fail("%s is in state %d and cannot run", n.name, n.state)
	}
	for i := range n.n {
		of := n.operand(i).of
		if of == nil {
			in.fail("%s lacks operand %d", n.name, i)
			continue
		}
		in.contents(of)
		if !n.scope.isClosed() {
			in.references[of][n.scope]++
		}
	}
}

// readers checks that the reader counts of contents are not less than the number of nodes
// that refer to them.
func (in *inspection) readers(c *contents, by map[*Scope]int) {
	for s, n := range by {
		if counted := c.readers.In(readerScope{s}); counted < n {
			in.fail("%d nodes read contents of %s, whose reader count is %d", n, c.writer().name, counted)
		}
	}
	if c.readers.In(readerScope{}) < 0 || slices.ContainsFunc(slices.Collect(c.readers.Scopes()), func(s readerScope) bool { return c.readers.In(s) < 0 }) {
		in.fail("contents of %s have a negative reader count", c.writer().name)
	}
}

// log checks the saved elements of a memory: their versions ascend, they take at most as
// many bytes as the buffer, and none are kept unless older contents need them. Contents that
// the garbage collector has freed may still be listed, so they count as needed.
func (in *inspection) log(m *memory) {
	last, sum := -1, int64(0)
	for _, s := range m.log.Saved {
		if s.Version <= last || s.Version >= m.version {
			in.fail("version %d was saved after version %d, before version %d", s.Version, last, m.version)
		}
		if s.Buffer.Freed() {
			in.fail("saved elements of version %d were freed", s.Version)
		}
		last = s.Version
		sum += s.Buffer.Size()
	}
	if sum != m.log.NBytes || sum > m.NBytes() {
		in.fail("%d bytes are saved, %d counted, of a memory of %d", sum, m.log.NBytes, m.NBytes())
	}
	if m.pins != 0 || m.busy {
		in.fail("%d uses of an idle memory, a write is under way: %v", m.pins, m.busy)
	}
	needed := false
	for _, p := range m.olds {
		old := p.Value()
		needed = needed || old == nil || old.mem == m && old.needed(0)
	}
	if len(m.log.Saved) > 0 && !needed {
		in.fail("%d pieces are saved, but no older contents need them", len(m.log.Saved))
	}
	if m.ended != nil && (m.current || len(m.log.Saved) > 0 || !m.buf.Freed()) {
		in.fail("a freed memory is current: %v, has %d saved pieces", m.current, len(m.log.Saved))
	}
}

// randomProgram runs steps on arrays of 4 rows and 3 columns whose elements are known,
// and calls check after each.
func randomProgram(t *testing.T, rng *rand.Rand, steps int, check func(all []*Array)) {
	const rows, cols = 4, 3
	type known struct {
		a    *Array
		want []float32
	}
	var all []known
	add := func(a *Array, want []float32) { all = append(all, known{a, want}) }
	mapped := func(x []float32, f func(v float32) float32) []float32 {
		out := make([]float32, len(x))
		for i, v := range x {
			out[i] = f(v)
		}
		return out
	}
	source := func() {
		data := make([]float32, rows*cols)
		for i := range data {
			data[i] = float32(rng.IntN(9))
		}
		a := FromSlice(slices.Clone(data), rows, cols)
		if rng.IntN(4) == 0 {
			_, err := a.Buffer()
			must(t, err)
		}
		add(a, data)
	}
	source()
	source()
	for range steps {
		x, y := &all[rng.IntN(len(all))], &all[rng.IntN(len(all))]
		r := rng.IntN(rows)
		row, rowWant := x.a.Slice(0, r, r+1), x.want[r*cols:(r+1)*cols]
		switch rng.IntN(14) {
		case 0:
			source()
		case 1, 2:
			add(x.a.Add(1), mapped(x.want, func(v float32) float32 { return v + 1 }))
		case 3:
			out := slices.Clone(x.want)
			for i, v := range y.want {
				out[i] -= v
			}
			add(x.a.Sub(y.a), out)
		case 4:
			var sum []float32
			for i := range rows {
				s := float32(0)
				for j := range cols {
					s += x.want[i*cols+j]
				}
				sum = append(sum, s, s, s)
			}
			add(x.a.Sum(1).Reshape(rows, 1).BroadcastTo(rows, cols).Clone(), sum)
		case 5:
			add(row.Mul(0.5).Add(Zeros(dtype.Float32, rows, cols)), slices.Repeat(mapped(rowWant, func(v float32) float32 { return v / 2 }), rows))
		case 6:
			must(t, row.CopyFrom(7))
			copy(rowWant, []float32{7, 7, 7})
		case 7:
			must(t, row.AddInPlace(y.a.Slice(0, 0, 1)))
			first := slices.Clone(y.want[:cols])
			for i := range rowWant {
				rowWant[i] += first[i]
			}
		case 8:
			must(t, x.a.MulInPlace(0.5))
			copy(x.want, mapped(x.want, func(v float32) float32 { return v / 2 }))
		case 9:
			must(t, Into(x.a, y.a))
			copy(x.want, y.want)
		case 10:
			must(t, x.a.Slice(1, 1, 2).CopyFrom(y.a.Slice(1, 0, 1)))
			from := slices.Clone(y.want)
			for i := range rows {
				x.want[i*cols+1] = from[i*cols]
			}
		case 11:
			must(t, Eval(x.a))
		case 12:
			wants(t, x.a, x.want...)
		case 13:
			if len(all) > 3 {
				// Later steps may still read the array, so it is not freed, only forgotten.
				i := rng.IntN(len(all))
				all = slices.Delete(all, i, i+1)
			}
		}
		var list []*Array
		for _, k := range all {
			list = append(list, k.a)
		}
		check(list)
	}
	for _, k := range all {
		wants(t, k.a, k.want...)
	}
}

// TestInvariants checks the invariants after every step of random programs.
func TestInvariants(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	for i := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, i))
		randomProgram(t, rng, 60, func(all []*Array) { checkInvariants(t, all...) })
		if t.Failed() {
			t.Fatalf("program %d", i)
		}
	}
}

// TestInvariantsNotice breaks one rule at a time, and checks that an inspection reports it.
func TestInvariantsNotice(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	for name, spoil := range map[string]func(x, z *Array){
		"stored without memory": func(x, _ *Array) { x.st.cur.mem = nil },
		"too few readers":       func(x, _ *Array) { x.st.cur.readers.Drop(readerScope{}) },
		"lost operand":          func(_, z *Array) { z.node().in[0].of = nil },
		"kept operand":          func(_, z *Array) { z.node().state = failed },
		"old version":           func(x, _ *Array) { x.st.cur.version-- },
		"log for nobody":        func(x, _ *Array) { x.st.cur.mem.olds = nil },
		"log too large":         func(x, _ *Array) { x.st.cur.mem.log.NBytes++ },
		"log out of order":      func(x, _ *Array) { x.st.cur.mem.log.Saved[0].Version = 1 << 30 },
	} {
		t.Run(name, func(t *testing.T) {
			x := FromSlice([]float32{1, 2, 3, 4}, 2, 2)
			before := x.Add(1)
			must(t, x.Slice(0, 0, 1).CopyFrom(5))
			z := x.Add(2)
			checkInvariants(t, x, before, z)
			spoil(x, z)
			in := &inspection{
				sched: schedulerOf(x.on()), references: map[*contents]map[*Scope]int{}, nodes: map[*node]bool{}, memories: map[*memory]bool{},
				arrays: []*Array{x, before, z},
			}
			if len(in.run()) == 0 {
				t.Error("nothing was noticed")
			}
			z.node().state = freed // it must not run
			before.node().state = freed
		})
	}
}

// TestReaderCollectedWhileWriting checks that elements that a write has saved are freed if
// their only readers are garbage-collected before the write ends.
func TestReaderCollectedWhileWriting(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice(make([]float32, 12), 4, 3)
	row := x.Slice(0, 0, 1)
	readers := []*Array{row.Add(1), row.Mul(3)} // two, because the write would compute a single one instead of saving
	newest := Ones(dtype.Float32, 1).Add(1)     // the scheduler holds the newest node
	must(t, row.CopyFrom(2))                    // saves the elements that the readers need
	m := x.st.cur.mem
	if len(m.log.Saved) != 1 {
		t.Fatalf("%d pieces are saved, want 1", len(m.log.Saved))
	}
	launches := 0
	devicetest.FailLaunches(x.on(), func() error {
		launches++
		readers = nil
		runtime.GC()
		return nil
	})
	defer devicetest.FailLaunches(x.on(), nil)
	must(t, row.CopyFrom(3)) // saves the row again, for the same readers
	if launches == 0 {
		t.Fatal("nothing was launched")
	}
	checkInvariants(t, x)
	if len(m.log.Saved) != 0 || m.log.NBytes != 0 {
		t.Errorf("%d pieces of %d bytes are left", len(m.log.Saved), m.log.NBytes)
	}
	runtime.KeepAlive(newest)
	_ = readers
}
