package route

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// fakes returns a fake CPU and a fake GPU. Tests use only their kinds.
func fakes() (host, gpu *device.Device) {
	return devicetest.NewFake(device.Info{Name: "a CPU", Kind: device.CPU}, device.Capabilities{}),
		devicetest.NewFake(device.Info{Name: "a GPU", Kind: device.CUDA, TotalMemory: 1 << 30, Driver: "580.1"}, device.Capabilities{})
}

// linear returns the curve of a launch cost and a rate.
func linear(launch, rate float64) (points []point) {
	for w := 1.0; w <= 1<<30; w *= 4 {
		points = append(points, point{w, launch + w/rate})
	}
	return points
}

// fakeTables have a CPU that starts at once and is slow, a GPU 100 times as fast, and copies
// that are twice as fast as the CPU.
func fakeTables() tables {
	t := tables{upName: linear(5e-6, 2e10), downName: linear(5e-6, 2e10)}
	for c := range classes {
		for _, dt := range dtype.All {
			if meaningful(c, dt) {
				rate := 1e10
				if c.whole() == product {
					rate = 1e11
				}
				if c.measuredOn(device.CPU) {
					t[curveName(device.CPU, c, dt)] = linear(1e-6, rate)
				}
				t[curveName(device.CUDA, c, dt)] = linear(1e-5, 100*rate)
			}
		}
	}
	return t
}

// onlyCPU returns the tables of a machine without a GPU.
func (t tables) onlyCPU() tables {
	out := tables{}
	for _, name := range wanted(false) {
		out[name] = t[name]
	}
	return out
}

func fakeModel(free int64) *Model {
	host, gpu := fakes()
	m := newModel(host, gpu)
	m.set(fakeTables())
	m.available = func() (int64, error) { return free, nil }
	return m
}

func TestDecide(t *testing.T) {
	const gib = 1 << 30
	m := fakeModel(10 * gib)
	_, other := fakes()
	f32 := dtype.Float32
	for _, c := range []struct {
		name   string
		op     Op
		device *device.Device
		reason Reason
	}{
		{"small, on the host", Op{Name: "Add", Elements: 10, DType: f32}, m.host, FasterOnCPU},
		{"on the CPU, which is the host", Op{Name: "Add", Elements: 10, DType: f32, Resident: m.host}, m.host, FasterOnCPU},
		{"an addition that moves what it adds", Op{Name: "Add", Elements: 1 << 24, DType: f32}, m.gpu, FasterOnGPU},
		{"a large product, on the host", Op{Name: "MatMul", Elements: 1 << 20, Bytes: 3 << 22, Flops: 2 << 30, DType: f32}, m.gpu, FasterOnGPU},
		{"a small product, on the host", Op{Name: "MatMul", Elements: 100, Bytes: 1200, Flops: 2000, DType: f32}, m.host, FasterOnCPU},
		{"a large product, on the GPU", Op{Name: "MatMul", Elements: 1 << 20, Flops: 2 << 30, DType: f32, Resident: m.gpu}, m.gpu, Resident},
		// 10 us against 1 + 5: faster on the CPU, and not by a factor of 2.
		{"small, on the GPU", Op{Name: "Add", Elements: 10, DType: f32, Resident: m.gpu}, m.gpu, Resident},
		{"nothing, on the GPU", Op{Name: "Add", DType: f32, Resident: m.gpu}, m.gpu, Resident},
		{"on another GPU", Op{Name: "Add", Elements: 10, DType: f32, Resident: other}, other, Elsewhere},
		{"no type", Op{Name: "Add", Elements: 10}, m.host, Unmeasured},
		{"no type, on the GPU", Op{Name: "Add", Elements: 10, DType: 99, Resident: m.gpu}, m.gpu, Unmeasured},
		{"a type without the operation", Op{Name: "Exp", Elements: 10, DType: dtype.Int8, Resident: m.gpu}, m.gpu, Unmeasured},
		{"8 of 10 GiB", Op{Name: "Add", Bytes: 8 * gib, DType: f32}, m.gpu, FasterOnGPU},
		{"over 8 of 10 GiB", Op{Name: "Add", Bytes: 8*gib + 1, DType: f32}, m.gpu, Tiles},
		{"over 8 of 10 GiB, in order", Op{Name: "Sort", Bytes: 8*gib + 1, DType: f32}, m.host, NoMemory},
		{"on the GPU, a result of 8 GiB", Op{Name: "Add", Elements: 2 * gib, DType: f32, Resident: m.gpu}, m.gpu, Resident},
		{"on the GPU, a larger result", Op{Name: "Add", Elements: 2*gib + 1, DType: f32, Resident: m.gpu}, m.gpu, Tiles},
		{"on the GPU, in order", Op{Name: "Sort", Elements: 2*gib + 1, DType: f32, Resident: m.gpu}, m.host, NoMemory},
	} {
		d := m.Decide(c.op)
		if d.Device != c.device || d.Reason != c.reason {
			t.Errorf("%s: on %v, %v; want %v, %v (%+v)", c.name, d.Device, d.Reason, c.device, c.reason, d)
		}
		if d.OnCPU < 0 || d.OnGPU < 0 || d.Copy < 0 {
			t.Errorf("%s: a negative time: %+v", c.name, d)
		}
	}
}

// TestStay tests a GPU that becomes slower and slower, and a CPU that takes 1 us including
// the copy.
func TestStay(t *testing.T) {
	for _, c := range []struct {
		gpu    float64
		reason Reason
	}{{0.1e-6, Resident}, {1e-6, Resident}, {1.98e-6, Resident}, {2.02e-6, MovedToCPU}, {1, MovedToCPU}} {
		m := fakeModel(1 << 30)
		m.rates[onCPU][elementwise][dtype.Float32] = newCurve([]point{{1, 0.6e-6}})
		m.rates[onGPU][elementwise][dtype.Float32] = newCurve([]point{{1, c.gpu}})
		m.down = newCurve([]point{{1, 0.4e-6}})
		d := m.Decide(Op{Name: "Add", Bytes: 1, Elements: 1, DType: dtype.Float32, Resident: m.gpu})
		if want := map[Reason]*device.Device{Resident: m.gpu, MovedToCPU: m.host}[c.reason]; d.Reason != c.reason || d.Device != want {
			t.Errorf("%v s on the GPU: %+v, want %v", c.gpu, d, c.reason)
		}
		if math.Abs(float64(d.Copy-400)) > 1 || math.Abs(float64(d.OnCPU-600)) > 1 {
			t.Errorf("predicted %+v", d)
		}
	}
}

// TestMemory tests a faster CPU with little free memory, or with an unknown amount.
func TestMemory(t *testing.T) {
	m := fakeModel(1000)
	small := Op{Name: "Add", Bytes: 801, DType: dtype.Float32}
	if d := m.Decide(small); d.Device != m.host || d.Reason != NoMemory {
		t.Errorf("801 of 1000 bytes: %+v", d)
	}
	small.Bytes = 800
	if d := m.Decide(small); d.Reason != FasterOnCPU {
		t.Errorf("800 of 1000 bytes: %+v", d)
	}
	m.available = func() (int64, error) { return 0, errors.New("gone") }
	if d := m.Decide(small); d.Device != m.host || d.Reason != NoMemory {
		t.Errorf("free memory is not known: %+v", d)
	}
}

func TestNoGPU(t *testing.T) {
	host, other := fakes()
	m := newModel(host, nil)
	m.set(fakeTables().onlyCPU())
	for _, op := range []Op{
		{Name: "MatMul", Elements: 1 << 30, Bytes: 1 << 40, Flops: 1 << 50, DType: dtype.Float32},
		{Name: "Add", Resident: host, DType: dtype.Int8},
		{},
	} {
		if d := m.Decide(op); d.Device != host || d.Reason != NoGPU || d.OnGPU != 0 || d.Copy != 0 {
			t.Errorf("%+v: %+v", op, d)
		}
	}
	if d := m.Decide(Op{Resident: other}); d.Device != other || d.Reason != Elsewhere {
		t.Errorf("on a GPU that the model has not: %+v", d)
	}
	if cpu, gpu := m.Launch(); cpu < time.Microsecond || cpu > 2*time.Microsecond || gpu != 0 {
		t.Errorf("launch costs %v and %v", cpu, gpu)
	}
}

func TestNegative(t *testing.T) {
	m := fakeModel(1 << 30)
	d := m.Decide(Op{Name: "MatMul", Elements: -5, Bytes: -7, Flops: -9, DType: dtype.Float32})
	if d.Device != m.host || d.Reason != FasterOnCPU || d.OnCPU <= 0 {
		t.Errorf("%+v", d)
	}
	d = m.Decide(Op{Name: "MatMul", Elements: math.MaxInt64, Bytes: math.MaxInt64, Flops: math.MaxInt64, DType: dtype.Complex128})
	if d.OnCPU <= 0 || d.OnGPU <= 0 || d.Copy <= 0 {
		t.Errorf("%+v", d)
	}
}

func TestClasses(t *testing.T) {
	for name, want := range map[string]class{
		"Add": elementwise, "Where": elementwise, "CumSum": elementwise, "Take": elementwise, "Exp": smooth, "Softmax": smooth,
		"Sum": reduction, "ArgMax": reduction, "Sort": order, "TopK": order, "MatMul": product, "Linear": product,
		"Attention": product, "my own": product, "": product,
	} {
		if got := (&Op{Name: name, Flops: 1}).classOf(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"MatMul", "my own", ""} {
		if got := (&Op{Name: name}).classOf(); got != elementwise {
			t.Errorf("%q without flops is %v", name, got)
		}
	}
	for r := range Reason(len(reasons)) {
		if r.String() == "" {
			t.Errorf("reason %d has no name", r)
		}
	}
	if got := Reason(200).String(); got != "Reason(200)" {
		t.Error(got)
	}
}

// TestThinProducts tests products that are bound by the bytes that they read.
func TestThinProducts(t *testing.T) {
	m := fakeModel(1 << 30)
	thin := m.Decide(Op{Name: "MatMul", Elements: 1 << 20, Bytes: 4 << 20, Flops: 2 << 20, DType: dtype.Float32})
	add := m.Decide(Op{Name: "Add", Elements: 1 << 20, Bytes: 4 << 20, DType: dtype.Float32})
	if thin.OnCPU != add.OnCPU || thin.OnGPU != add.OnGPU {
		t.Errorf("a product of one row %+v, an addition of as many bytes %+v", thin, add)
	}
}

func TestCurve(t *testing.T) {
	c := newCurve([]point{{4, 1e-6}, {16, 2e-6}, {256, 32e-6}})
	for _, want := range []point{
		{0, 1e-6},
		{1, 1e-6},
		{4, 1e-6},
		{8, math.Sqrt2 * 1e-6}, // half way between 4 and 16
		{16, 2e-6},
		{64, 8e-6}, // half way between 16 and 256
		{256, 32e-6},
		{512, 64e-6},
		{1 << 40, 32e-6 * (1 << 32)},
	} {
		if got := c.at(want.Work); math.Abs(got/want.Seconds-1) > 2e-4 {
			t.Errorf("work %v takes %v, want %v", want.Work, got, want.Seconds)
		}
	}
}

// TestKnots compares curves with the formula that they tabulate, in logarithms and without a
// table.
func TestKnots(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		// Work and time grow by random factors: slopes from 0 to 3 in the logarithms.
		points := []point{{math.Exp2(3 * random.Float64()), math.Exp2(-25 + 10*random.Float64())}}
		for range random.IntN(maxPoints - 1) {
			last, step := points[len(points)-1], 0.5+1.5*random.Float64()
			points = append(points, point{last.Work * math.Exp2(step), last.Seconds * math.Exp2(3*step*random.Float64())})
		}
		c := newCurve(points)
		for range 1000 {
			x := math.Log2(points[len(points)-1].Work) * (1.2*random.Float64() - 0.1)
			got, want := c.at(math.Exp2(x)), math.Exp2(logAt(points, x))
			// Two changes of slope by at most 3 may lie between two knots.
			if off := math.Abs(got/want - 1); !(off <= 0.06) {
				t.Fatalf("seed %d: work 2^%v takes %v, want %v, off by %v\n%v", seed, x, got, want, off, points)
			}
		}
		for k := range len(c.seconds) - 2 { // at the knots themselves
			work := (1 + float64(k%16)/16) * math.Exp2(float64(k/16))
			if got, want := c.at(work), math.Exp2(logAt(points, math.Log2(work))); !(math.Abs(got/want-1) <= 1e-6) {
				t.Fatalf("seed %d: work %v takes %v, want %v", seed, work, got, want)
			}
		}
	}
}

// logAt returns the base-2 logarithm of the seconds for work 2^x.
func logAt(points []point, x float64) float64 {
	for i, p := range points {
		if at := math.Log2(p.Work); x < at {
			if i == 0 {
				return math.Log2(p.Seconds)
			}
			from, to := math.Log2(points[i-1].Work), at
			share := (x - from) / (to - from)
			return (1-share)*math.Log2(points[i-1].Seconds) + share*math.Log2(p.Seconds)
		}
	}
	last := points[len(points)-1]
	return math.Log2(last.Seconds) + x - math.Log2(last.Work)
}

// TestRagged: the lengths of a product are found from its figures, in any order.
func TestRagged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		m, n, k := 1+random.Int64N(5000), 1+random.Int64N(5000), 1+random.Int64N(5000)
		if random.IntN(2) == 0 {
			m, n, k = 4*m, 4*n, 4*k
		}
		o := Op{Name: "MatMul", Elements: max(m*n, m*k, n*k), Bytes: 4 * (m*n + m*k + n*k), Flops: 2 * m * n * k, DType: dtype.Float32}
		want := m%4 != 0 || n%4 != 0 || k%4 != 0
		if got := o.isRagged(product); got != want {
			t.Fatalf("seed 1, 2: %d x %d x %d is ragged: %v, want %v", m, n, k, got, want)
		}
	}
	for _, o := range []Op{
		{Flops: 2000, DType: dtype.Float32},                                       // no elements and bytes
		{Flops: 20 * 2000, Elements: 2000, Bytes: 4 * 6000, DType: dtype.Float32}, // a batch
		{Flops: 1 << 62, Elements: 1, Bytes: math.MaxInt64, DType: dtype.Float32},
		{Flops: -3, Elements: -1, Bytes: -1, DType: dtype.Float32},
		{Flops: 3, Elements: 3, Bytes: 9},
	} {
		if o.isRagged(product) {
			t.Errorf("%+v is ragged", o)
		}
	}
	for n, want := range map[int64]bool{0: false, 3: true, 4: false, 1 << 20: false, 1<<20 + 2: true} {
		if got := (&Op{Elements: n, DType: dtype.Float32}).isRagged(reduction); got != want {
			t.Errorf("a sum of %d is ragged: %v, want %v", n, got, want)
		}
	}
	m := fakeModel(1 << 30)
	slow := fakeTables()
	slow[curveName(device.CUDA, raggedReduction, dtype.Float32)] = linear(2e-5, 5e11)
	m.set(slow)
	whole, ragged := m.Decide(Op{Name: "Sum", Elements: 1 << 20, DType: dtype.Float32}), m.Decide(Op{Name: "Sum", Elements: 1<<20 + 1, DType: dtype.Float32})
	if r := ragged.OnGPU.Seconds() / whole.OnGPU.Seconds(); r < 1.99 || r > 2.01 || ragged.OnCPU > whole.OnCPU*101/100 {
		t.Errorf("a ragged sum %+v, another %+v", ragged, whole)
	}
}

func TestRising(t *testing.T) {
	for _, c := range []struct{ in, want []float64 }{
		{nil, nil},
		{[]float64{3}, []float64{3}},
		{[]float64{1, 2, 2, 5}, []float64{1, 2, 2, 5}},
		{[]float64{8, 2, 32}, []float64{4, 4, 32}},
		{[]float64{1, 4, 16, 2, 64, 32}, []float64{1, 4, math.Sqrt(32), math.Sqrt(32), math.Sqrt(2048), math.Sqrt(2048)}},
		{[]float64{16, 4, 1}, []float64{4, 4, 4}},
	} {
		var points []point
		for _, v := range c.in {
			points = append(points, point{Seconds: v})
		}
		for i, p := range rising(points) {
			if !(math.Abs(p.Seconds/c.want[i]-1) < 1e-12) {
				t.Errorf("%v: point %d takes %v, want %v", c.in, i, p.Seconds, c.want[i])
			}
		}
	}
}

func TestDecideAllocates(t *testing.T) {
	m := fakeModel(1 << 40)
	m.available = m.gpu.Available
	for _, op := range benchOps(m) {
		if n := devicetest.LeastAllocs(1000, func() { sink = m.Decide(op) }); n != 0 {
			t.Errorf("%+v: %v allocations", op, n)
		}
	}
}

var sink Decision

func benchOps(m *Model) map[string]Op {
	return map[string]Op{
		"host/MatMul": {Name: "MatMul", Elements: 1 << 20, Bytes: 3 << 22, Flops: 2 << 30, DType: dtype.Float32},
		"host/Add":    {Name: "Add", Elements: 1 << 20, DType: dtype.Float32},
		"gpu/Exp":     {Name: "Exp", Elements: 1 << 20, DType: dtype.Float16, Resident: m.gpu},
		"gpu/MatMul":  {Name: "MatMul", Elements: 1 << 20, Bytes: 3 << 22, Flops: 2 << 30, DType: dtype.Float32, Resident: m.gpu},
	}
}

// BenchmarkDecide should stay below 200 ns.
func BenchmarkDecide(b *testing.B) {
	m := fakeModel(1 << 40)
	m.available = m.gpu.Available
	for name, op := range benchOps(m) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = m.Decide(op)
			}
		})
	}
}

func TestDecideTime(t *testing.T) {
	m := fakeModel(1 << 40)
	m.available = m.gpu.Available
	for name, op := range benchOps(m) {
		devicetest.AtMost(t, name, 200*time.Nanosecond, func() time.Duration {
			return devicetest.CallTime(1_000, func() { sink = m.Decide(op) })
		})
	}
}
