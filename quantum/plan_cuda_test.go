package quantum

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/gpk-go/gpk/matmul"
)

// TestPlanProducts checks that the products that a GPU computes at once fit besides states and K,
// and end soon after the context.
func TestPlanProducts(t *testing.T) {
	rng := testrand.New(t)
	gpu := device.Info{Kind: device.CUDA, TotalMemory: 143771 << 20}
	plans := 0
	for range 500 {
		q := 4 + rng.IntN(18)
		n := 1 + rng.IntN(90000)
		o := Options{Precision: Precision(rng.IntN(3)), Path: General, Keep: Keep(rng.IntN(3)), MemoryBudget: int64(math.Exp(17 + rng.Float64()*8.5)), Autotune: rng.IntN(4) == 0}
		if rng.IntN(3) == 0 {
			o.Output = &memoryFile{}
		}
		k := compiled(t, reuploaded(q), General)
		p, err := k.plan(n, 0, gpu, o)
		if err != nil {
			continue
		}
		plans++
		if p.side < 1 || p.side > p.Tile/2 || p.PeakBytes > o.MemoryBudget {
			t.Fatalf("q=%d n=%d %+v: %+v", q, n, o, p)
		}
		side := min(p.side, n)
		if s := k.tileSeconds(o.Precision, side, side); side > 1 && s > tileTime {
			t.Errorf("q=%d n=%d %+v: a product of %d takes %.2g s", q, n, o, side, s)
		}
		need := k.tileWorkspace(o.Precision, side, side, n)
		if side > 1 && p.States+p.Result+need > o.MemoryBudget {
			t.Errorf("q=%d n=%d %+v: %+v, and products take %d bytes", q, n, o, p, need)
		}
	}
	if plans < 100 {
		t.Errorf("%d plans", plans)
	}
	// A requested tile is multiplied in parts if memory is short.
	k := compiled(t, reuploaded(12), General)
	p, err := k.plan(20000, 0, gpu, Options{Precision: Double, MemoryBudget: 5 << 30, Tile: 32768, Keep: KeepAll})
	if err != nil || p.Tile != 32768 || p.side >= 16384 || p.PeakBytes > 5<<30 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestPlanProductsNeed: the plan counts at least what the planner of products says that
// they take.
func TestPlanProductsNeed(t *testing.T) {
	rng := testrand.New(t)
	hopper := device.CapabilitiesOf(90)
	for range 150 {
		q := 1 + rng.IntN(28)
		c := NewCircuit(q)
		for w := range q {
			c.RY(w, Feature(w))
			if w > 0 {
				c.CRY(w-1, w, Feature(w))
			}
		}
		o := Options{Precision: Precision(rng.IntN(3)), Path: General}
		if rng.IntN(2) == 0 {
			c.RZ(0, Feature(0)).H(0)
		}
		k := compiled(t, c, o.Path)
		if len(k.blocks) != 1 {
			t.Fatalf("%d blocks", len(k.blocks))
		}
		if inPieces(o.Precision.dtype(), 1<<q) { // no product of matmul
			continue
		}
		r, cols := 1+rng.IntN(5000), 1+rng.IntN(5000)
		m := cols + rng.IntN(3)
		p := matmul.Problem{M: r, N: cols, K: 1 << q, LayoutB: matmul.ColMajor, AlignA: 16, AlignB: 16, AlignC: 16, AbsSquare: rng.IntN(2) == 0, Out: o.Precision.dtype()}
		for p.AlignC > p.Out.Size() && (m*p.Out.Size())%p.AlignC != 0 {
			p.AlignC /= 2
		}
		p.Precision = [...]matmul.Precision{Standard: matmul.FullPrecision, Fast: matmul.TF32, Double: matmul.Default}[o.Precision]
		real := k.blocks[0].real
		switch {
		case real && o.Precision == Double:
			p.A = gpk.Float64
		case real:
			p.A = gpk.Float32
		case o.Precision == Double:
			p.A = gpk.Complex128
		default:
			p.A = gpk.Complex64
		}
		p.B, p.ConjB, p.AbsSquare = p.A, !real, p.AbsSquare || !real
		if r == cols {
			p.Symmetric = rng.IntN(2) == 0
		}
		aside := int64(0)
		if inPieces(o.Precision.dtype(), 1<<q) { // a sum of products: the next of them, and the sum unless it is K
			p.K, p.AbsSquare, p.Out = pieceTerms, false, p.A
			aside = int64(p.A.Size()) * int64(r) * int64(cols)
			if !real {
				aside, p.AlignC = 2*aside, 16
			}
		}
		choice, err := matmul.Choose(p, hopper)
		if err != nil {
			t.Fatal(err)
		}
		if need := k.tileWorkspace(o.Precision, r, cols, m); choice.Workspace+aside > need {
			t.Errorf("%v: takes %d bytes and %d aside, the plan of K counts %d\n%v", p, choice.Workspace, aside, need, choice)
		}
	}
}

// TestRoundingWaste: memory in random blocks takes no more than the bound.
func TestRoundingWaste(t *testing.T) {
	rng := testrand.New(t)
	for range 100_000 {
		n := 1 + rng.Int64N(1<<(1+rng.IntN(26)))
		blocks := 1 + rng.Int64N(8)
		taken, left := int64(0), n
		for i := range blocks {
			part := left
			if i < blocks-1 {
				part = rng.Int64N(left + 1)
			}
			taken += deviceapi.BlockSize(part)
			left -= part
		}
		if most := n + roundingWaste(n, blocks); taken > most {
			t.Fatalf("%d bytes in %d blocks take %d, the bound is %d", n, blocks, taken, most)
		}
	}
}

func twoBlocks() *Circuit {
	return NewCircuit(4).RY(0, Feature(0)).CRY(0, 1, Feature(1)).RY(2, Feature(2)).CRY(2, 3, Feature(3))
}

// TestSplit: Fast takes one product where there is one block.
func TestSplit(t *testing.T) {
	for _, c := range []struct {
		path Path
		p    Precision
		want bool
	}{{Auto, Standard, true}, {Auto, Fast, true}, {General, Standard, true}, {General, Fast, false}, {Auto, Double, false}} {
		if k := compiled(t, twoBlocks(), c.path); k.split(c.p) != c.want {
			t.Errorf("%v, %v: split is %v", c.path, c.p, !c.want)
		}
	}
}

// TestUsefulStreams: small tiles share the device where one kernel makes each, with or
// without Normalize.
func TestUsefulStreams(t *testing.T) {
	blocks := twoBlocks()
	for _, c := range []struct {
		circuit *Circuit
		o       Options
		want    bool
	}{
		{reuploaded(6), Options{}, true},
		{reuploaded(6), Options{Normalize: true, Precision: Fast}, true},
		{reuploaded(6), Options{Precision: Double}, false},
		{blocks, Options{}, false},
		{NewCircuit(3).RY(0, Feature(0)).RY(1, Feature(1)), Options{}, true},
		{NewCircuit(3).RY(0, Feature(0)).RY(1, Feature(1)), Options{Normalize: true}, false},
	} {
		k := compiled(t, c.circuit, Auto)
		if n := k.usefulStreams(c.o, 256, 256); n > 1 != c.want {
			t.Errorf("%+v: %d streams\n%v", c.o, n, c.circuit)
		}
	}
}

// TestPlanPoints checks that the states of a GPU's plan include the points of single wires: those of
// all samples, and lines of whole units of 16 bytes.
func TestPlanPoints(t *testing.T) {
	rng := testrand.New(t)
	gpu := device.Info{Kind: device.CUDA, TotalMemory: 143771 << 20}
	const q, wires = 12, 10
	c := NewCircuit(q).RY(0, Feature(0)).CRY(0, 1, Feature(1))
	for i := q - wires; i < q; i++ {
		c.RY(i, Feature(i)).RZ(i, Feature(i))
	}
	k := compiled(t, c, Auto)
	if len(k.wires) != wires || len(k.blocks) != 1 {
		t.Fatalf("%d single wires and %d blocks", len(k.wires), len(k.blocks))
	}
	up := func(n int) int64 { return int64((n + 3) / 4 * 4) }
	for range 100 {
		n, m := 1+rng.IntN(3000), rng.IntN(2)*(1+rng.IntN(3000))
		o := Options{Precision: Precision(rng.IntN(3)), Keep: []Keep{KeepAll, Recompute}[rng.IntN(2)], Tile: 2 * (1 + rng.IntN(100))}
		p, err := k.plan(n, m, gpu, o)
		if err != nil {
			t.Fatal(err)
		}
		states := n + m
		if p.Keep == Recompute {
			states = min(states, p.Tile)
		}
		size := int64(o.Precision.dtype().Size())
		used := size * (int64(states*k.blocks[0].width()) + 3*wires*(up(n)+up(m)))
		if p.States < used || p.States+p.Result+p.Workspace != p.PeakBytes {
			t.Errorf("%d and %d samples, %+v: states %d, used %d; %+v", n, m, o, p.States, used, p)
		}
	}
}
