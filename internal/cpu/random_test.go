package cpu

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// TestPhilox checks the known answers of Random123's kat_vectors.
func TestPhilox(t *testing.T) {
	const ones = math.MaxUint32
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		var got [4]uint32
		got[0], got[1], got[2], got[3] = philox(c.counter[0], c.counter[1], c.counter[2], c.counter[3], c.key[0], c.key[1])
		if got != c.want {
			t.Errorf("%x under %x: %x, want %x", c.counter, c.key, got, c.want)
		}
	}
}

// TestPhiloxFill checks every length, and counters whose low word overflows, against single
// blocks.
func TestPhiloxFill(t *testing.T) {
	for _, block := range []uint64{0, 5, 1<<32 - 7, 1<<32 - 1, 3<<32 - 33, math.MaxUint64 - 3} {
		for n := range 70 {
			const seed = 0x1234_5678_9abc_def0
			words := make([]uint32, 4*n+4)
			for i := range words {
				words[i] = 0xdeadbeef
			}
			philoxFill(words[:4*n], seed, block)
			for i := range n {
				at := block + uint64(i)
				a, b, c, d := philox(uint32(at), uint32(at>>32), 0, 0, uint32(seed&math.MaxUint32), uint32(seed>>32))
				if !slices.Equal(words[4*i:4*i+4], []uint32{a, b, c, d}) {
					t.Fatalf("block %d of %d from %#x: %x", i, n, block, words[4*i:4*i+4])
				}
			}
			if !slices.Equal(words[4*n:], []uint32{0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef}) {
				t.Fatalf("%d blocks: written beyond the end", n)
			}
		}
	}
}

func floats(lo, width, below float64) [3]uint64 {
	return [3]uint64{math.Float64bits(lo), math.Float64bits(width), math.Float64bits(below)}
}

// kolmogorov returns sqrt(n) times the largest distance of the sample's
// distribution from the given one: beyond 2.2 once in 8,000 samples.
func kolmogorov(x []float64, cdf func(float64) float64) float64 {
	slices.Sort(x)
	d, n := 0.0, float64(len(x))
	for i, v := range x {
		p := cdf(v)
		d = max(d, float64(i+1)/n-p, p-float64(i)/n)
	}
	return d * math.Sqrt(n)
}

func phi(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

// TestDistributions holds samples of a million against their distributions.
func TestDistributions(t *testing.T) {
	const n = 1 << 20
	for seed := range uint64(3) {
		for _, c := range []struct {
			name           string
			mean, variance float64
			cdf            func(float64) float64
			make           func() []float64
		}{
			{"uniform float32", 0.5, 1.0 / 12, func(x float64) float64 { return x }, func() []float64 {
				x := make([]float32, n)
				_ = Uniform(dtype.Float32, n, seed, 0, floats(0, 1, 1-0x1p-24), unsafe.Pointer(&x[0]))
				return widen(x)
			}},
			{"uniform float64", 1, 16.0 / 12, func(x float64) float64 { return (x + 1) / 4 }, func() []float64 {
				x := make([]float64, n)
				_ = Uniform(dtype.Float64, n, seed, 0, floats(-1, 4, math.Nextafter(3, 0)), unsafe.Pointer(&x[0]))
				return x
			}},
			{"normal float32", 0, 1, phi, func() []float64 {
				x := make([]float32, n)
				_ = Normal(dtype.Float32, n, seed, 0, 0, 1, unsafe.Pointer(&x[0]))
				return widen(x)
			}},
			{"normal float64", 3, 4, func(x float64) float64 { return phi((x - 3) / 2) }, func() []float64 {
				x := make([]float64, n)
				_ = Normal(dtype.Float64, n, seed, 0, 3, 2, unsafe.Pointer(&x[0]))
				return x
			}},
		} {
			x := c.make()
			sum, square, lag := 0.0, 0.0, 0.0
			for i, v := range x {
				sum += v
				square += (v - c.mean) * (v - c.mean)
				if i > 0 {
					lag += (v - c.mean) * (x[i-1] - c.mean)
				}
			}
			if d := math.Abs(sum/n-c.mean) / math.Sqrt(c.variance/n); d > 4.5 {
				t.Errorf("%s, seed %d: the mean is %.1f deviations off", c.name, seed, d)
			}
			if d := math.Abs(square/n-c.variance) / (c.variance * math.Sqrt(2.0/n)); d > 4.5 {
				t.Errorf("%s, seed %d: the variance is %v, %.1f deviations off", c.name, seed, square/n, d)
			}
			if d := math.Abs(lag/n) / (c.variance / math.Sqrt(n)); d > 4.5 {
				t.Errorf("%s, seed %d: neighbours correlate, %.1f deviations", c.name, seed, d)
			}
			if d := kolmogorov(x, c.cdf); d > 2.2 {
				t.Errorf("%s, seed %d: Kolmogorov-Smirnov %v", c.name, seed, d)
			}
		}
	}
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// TestUniformIntegers counts every value; their chi-square has mean k and
// variance 2k.
func TestUniformIntegers(t *testing.T) {
	const n, lo, span = 1 << 20, -100, 101
	x := make([]int8, n)
	low := int64(lo)
	if err := Uniform(dtype.Int8, n, 9, 0, [3]uint64{uint64(low), span}, unsafe.Pointer(&x[0])); err != nil {
		t.Fatal(err)
	}
	var counts [span]float64
	for _, v := range x {
		counts[int(v)-lo]++
	}
	chi, each := 0.0, float64(n)/span
	for _, c := range counts {
		chi += (c - each) * (c - each) / each
	}
	if d := math.Abs(chi-(span-1)) / math.Sqrt(2*(span-1)); d > 4.5 {
		t.Errorf("chi-square %v of %d values", chi, span)
	}
	// The whole range of 64 bits: the words themselves.
	y, words := make([]int64, 9), make([]uint32, 20)
	_ = Uniform(dtype.Int64, 9, 9, 3, [3]uint64{}, unsafe.Pointer(&y[0]))
	philoxFill(words, 9, 3)
	for i, v := range y {
		if uint64(v) != uint64(words[2*i])|uint64(words[2*i+1])<<32 {
			t.Errorf("number %d of the whole range is %#x", i, v)
		}
	}
}

// TestUniformBelow checks that a number that would round to the upper bound stays below it.
func TestUniformBelow(t *testing.T) {
	const n = 1 << 16
	x := make([]uint16, n)
	// The interval of bfloat16 is [1, 1.0078125 + 2^-7). It has two values, and the upper
	// one would be rounded up.
	if err := Uniform(dtype.BFloat16, n, 1, 0, floats(1, 0x1p-6, 1+0x1p-7), unsafe.Pointer(&x[0])); err != nil {
		t.Fatal(err)
	}
	ones := 0
	for _, v := range x {
		switch v {
		case 0x3f80:
			ones++
		case 0x3f81:
		default:
			t.Fatalf("%#x", v)
		}
	}
	if ones < n/4-1000 || ones > n/4+1000 { // [1, 1 + 2^-8] round to 1
		t.Errorf("%d of %d are 1", ones, n)
	}
	y := make([]float32, n)
	_ = Uniform(dtype.Float32, n, 1, 0, floats(1<<24-2, 2, 1<<24-1), unsafe.Pointer(&y[0]))
	for _, v := range y {
		if v != 1<<24-2 && v != 1<<24-1 {
			t.Fatal(v)
		}
	}
}

// TestRandomParts checks that neither the number of goroutines nor the cuts change a bit,
// and that an element does not depend on the number of elements after it.
func TestRandomParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const n = 1<<16 + 3
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16} {
		size := dt.Size()
		var first []byte
		for _, procs := range []int{1, 3, 8} {
			runtime.GOMAXPROCS(procs)
			x := make([]byte, n*size)
			if err := Normal(dt, n, 77, 1<<32-5, 1, 2, unsafe.Pointer(&x[0])); err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = x
			}
			if !slices.Equal(first, x) {
				t.Errorf("%v: other numbers with %d processors", dt, procs)
			}
		}
		for _, m := range []int{0, 1, 2, 3, 5, 511, 513, 1027} {
			x := make([]byte, m*size+8)
			for i := range x {
				x[i] = 0xee
			}
			_ = Normal(dt, m, 77, 1<<32-5, 1, 2, unsafe.Pointer(&x[0]))
			if !slices.Equal(x[:m*size], first[:m*size]) || !slices.Equal(x[m*size:], []byte{0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee}) {
				t.Errorf("%v: %d elements alone", dt, m)
			}
		}
	}
}

// TestNormalBits checks that the bits are those of every build and processor.
func TestNormalBits(t *testing.T) {
	x, y := make([]float64, 1<<18), make([]float32, 1<<18)
	if err := errors.Join(Normal(dtype.Float64, len(x), 7, 0, 0, 1, at0(x)), Normal(dtype.Float32, len(y), 7, 0, 0, 1, at0(y))); err != nil {
		t.Fatal(err)
	}
	wide, narrow := fnv.New64a(), fnv.New64a()
	_, _ = wide.Write(dtype.HostBytes(x))
	_, _ = narrow.Write(dtype.HostBytes(y))
	if w, n := wide.Sum64(), narrow.Sum64(); w != 0x99b72e9853b30587 || n != 0xe7f0dbaa8ba18230 {
		t.Errorf("hashes %#x and %#x", w, n)
	}
}

// TestNormal64Functions holds logarithm, sine and cosine against math's.
func TestNormal64Functions(t *testing.T) {
	words := make([]uint32, 4<<16)
	philoxFill(words, 5, 0)
	for i := range len(words) / 2 {
		v := wordPair(words, i)
		u := float64(v>>11+1) * 0x1p-53
		if i%2 == 1 {
			u = math.Ldexp(u, -int(v%53))
		}
		if got, want := logUnit(u), math.Log(u); math.Abs(got-want) > 2*0x1p-52*math.Abs(want) {
			t.Fatalf("log %v = %v, want %v", u, got, want)
		}
		x := (float64(v<<2>>11)*0x1p-53 - 0.5) * (math.Pi / 2)
		sin, cos := sinCosQuarter(x)
		if math.Abs(sin-math.Sin(x)) > 2*0x1p-53 || math.Abs(cos-math.Cos(x)) > 2*0x1p-53 {
			t.Fatalf("sine and cosine of %v: %v, %v", x, sin, cos)
		}
	}
	if logUnit(1) != 0 {
		t.Errorf("log 1 = %v", logUnit(1))
	}
	// The quarters: the angle rises with the word.
	for q := range uint64(4) {
		a, b := normal64(0, q<<62|1<<61)
		if r := math.Hypot(a, b); math.Abs(r-math.Sqrt(106*math.Ln2)) > 1e-14 {
			t.Errorf("radius %v", r)
		}
		if angle := math.Atan2(b, a); math.Abs(math.Remainder(angle-float64(q)*math.Pi/2, 2*math.Pi)) > 1e-15 {
			t.Errorf("quarter %d: %v", q, angle)
		}
	}
}

// TestNormal32Ends checks the smallest, the largest and the middle words.
func TestNormal32Ends(t *testing.T) {
	for w, want := range map[uint32]float64{0: 6.33, 1 << 31: -6.33, math.MaxInt32: 0, math.MaxUint32: 0, 1 << 30: 0.6744898} {
		if got := float64(normal32(w)); math.Abs(got-want) > 2e-2 || math.Signbit(got) != (w>>31 == 1) {
			t.Errorf("%#x: %v, want %v", w, got, want)
		}
	}
}

func TestRandomTypes(t *testing.T) {
	var x [16]byte
	for _, dt := range []dtype.DType{dtype.Bool, dtype.Complex64, dtype.Complex128, dtype.Invalid} {
		if err := Uniform(dt, 1, 0, 0, [3]uint64{}, unsafe.Pointer(&x)); !errors.Is(err, expr.ErrUnsupported) {
			t.Errorf("Uniform of %v: %v", dt, err)
		}
	}
	for _, dt := range []dtype.DType{dtype.Bool, dtype.Int32, dtype.Complex64} {
		if err := Normal(dt, 1, 0, 0, 0, 1, unsafe.Pointer(&x)); !errors.Is(err, expr.ErrUnsupported) {
			t.Errorf("Normal of %v: %v", dt, err)
		}
	}
}

func BenchmarkRandom(b *testing.B) {
	const n = 1 << 22
	x := make([]float64, n)
	for _, dt := range []dtype.DType{dtype.Float32, dtype.BFloat16, dtype.Float64} {
		for name, f := range map[string]func() error{
			"uniform": func() error {
				return Uniform(dt, n, 1, 0, floats(0, 1, 1-0x1p-24), unsafe.Pointer(&x[0]))
			},
			"normal": func() error { return Normal(dt, n, 1, 0, 0, 1, unsafe.Pointer(&x[0])) },
		} {
			b.Run(fmt.Sprintf("%s/%v", name, dt), func(b *testing.B) {
				b.SetBytes(n * int64(dt.Size()))
				for b.Loop() {
					_ = f()
				}
			})
		}
	}
}
