package gpktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/quantum"
)

// register is a state to which gates are applied one by one, as the reference of the compiled
// programs. Wire 0 is the most significant bit.
type register struct {
	qubits int
	amps   []complex128
}

func newRegister(qubits int) *register {
	r := &register{qubits, make([]complex128, 1<<qubits)}
	r.amps[0] = 1
	return r
}

// apply multiplies the amplitudes of wire w by u if all control wires are 1.
func (r *register) apply(w int, u [4]complex128, controls ...int) {
	bit := func(b, w int) bool { return b>>(r.qubits-1-w)&1 == 1 }
	for b := range r.amps {
		if bit(b, w) || slices.ContainsFunc(controls, func(c int) bool { return !bit(b, c) }) {
			continue
		}
		o := b | 1<<(r.qubits-1-w)
		x, y := r.amps[b], r.amps[o]
		r.amps[b], r.amps[o] = u[0]*x+u[1]*y, u[2]*x+u[3]*y
	}
}

func rotationX(t float64) [4]complex128 {
	c, s := complex(math.Cos(t/2), 0), complex(0, -math.Sin(t/2))
	return [4]complex128{c, s, s, c}
}

func rotationY(t float64) [4]complex128 {
	c, s := complex(math.Cos(t/2), 0), complex(math.Sin(t/2), 0)
	return [4]complex128{c, -s, s, c}
}

func rotationZ(t float64) [4]complex128 {
	return [4]complex128{cmplx.Rect(1, -t/2), 0, 0, cmplx.Rect(1, t/2)}
}

// quantumCircuit returns a random circuit of three features, and a function that applies the same
// gates to a register.
func (s *suite) quantumCircuit(qubits, gates int, real bool) (*quantum.Circuit, func(x []float64) []complex128) {
	c := quantum.NewCircuit(qubits)
	var steps []func(r *register, x []float64)
	h := complex(math.Sqrt(0.5), 0)
	for range gates {
		a := s.rng.IntN(qubits)
		b := (a + 1 + s.rng.IntN(max(qubits-1, 1))) % qubits
		f, scale := s.rng.IntN(3), 2*s.rng.Float64()
		angle := quantum.Feature(f).Scale(scale)
		kinds := []int{0, 1, 2}
		if qubits > 1 {
			kinds = append(kinds, 3, 4, 5)
		}
		if !real {
			kinds = append(kinds, 6, 7)
			if qubits > 1 {
				kinds = append(kinds, 8, 9)
			}
		}
		var step func(r *register, t float64)
		switch kinds[s.rng.IntN(len(kinds))] {
		case 0:
			c.H(a)
			step = func(r *register, _ float64) { r.apply(a, [4]complex128{h, h, h, -h}) }
		case 1, 2:
			c.RY(a, angle)
			step = func(r *register, t float64) { r.apply(a, rotationY(t)) }
		case 3:
			c.CX(a, b)
			step = func(r *register, _ float64) { r.apply(b, [4]complex128{0, 1, 1, 0}, a) }
		case 4:
			c.CZ(a, b)
			step = func(r *register, _ float64) { r.apply(b, [4]complex128{1, 0, 0, -1}, a) }
		case 5:
			c.CRY(a, b, angle)
			step = func(r *register, t float64) { r.apply(b, rotationY(t), a) }
		case 6:
			c.RX(a, angle)
			step = func(r *register, t float64) { r.apply(a, rotationX(t)) }
		case 7:
			c.RZ(a, angle)
			step = func(r *register, t float64) { r.apply(a, rotationZ(t)) }
		case 8:
			c.CRX(a, b, angle)
			step = func(r *register, t float64) { r.apply(b, rotationX(t), a) }
		case 9:
			c.RZZ(a, b, angle)
			step = func(r *register, t float64) {
				p := [4]complex128{0, 1, 1, 0}
				r.apply(b, p, a)
				r.apply(b, rotationZ(t))
				r.apply(b, p, a)
			}
		}
		steps = append(steps, func(r *register, x []float64) { step(r, scale*x[f]) })
	}
	return c, func(x []float64) []complex128 {
		r := newRegister(qubits)
		for _, step := range steps {
			step(r, x)
		}
		return r.amps
	}
}

func (s *suite) quantumSamples(n int) (rows [][]float64, x *gpk.Array) {
	var flat []float64
	for range n {
		row := []float64{3 * s.rng.Float64(), 3 * s.rng.Float64(), 3 * s.rng.Float64()}
		rows, flat = append(rows, row), append(flat, row...)
	}
	return rows, gpk.FromSlice(flat, n, 3)
}

// soil leaves NaN in memory that the next arrays are given.
func soil(n int) {
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64} {
		a := gpk.Full(dt, math.NaN(), n)
		_ = gpk.Eval(a)
		a.Free()
	}
}

func testQuantum(t *testing.T, s *suite) {
	t.Run("States", func(t *testing.T) { s.quantumStates(t) })
	t.Run("Gram", func(t *testing.T) { s.quantumGram(t) })
	t.Run("Alike", func(t *testing.T) { s.quantumAlike(t) })
	t.Run("Streams", func(t *testing.T) { s.quantumStreams(t) })
	t.Run("Tiles", func(t *testing.T) { s.quantumSizesOfTiles(t) })
	t.Run("Plans", func(t *testing.T) { s.quantumPlans(t) })
	t.Run("Report", func(t *testing.T) { s.quantumReport(t) })
	t.Run("Refusals", func(t *testing.T) { s.quantumRefusals(t) })
	t.Run("Sizes", func(t *testing.T) { testQuantumSizes(t, s) })
}

// quantumStates compares the states of random circuits with a reference. States of up to 13 qubits
// are kept on chip, larger ones take several passes over device memory.
func (s *suite) quantumStates(t *testing.T) {
	for _, q := range []int{1, 2, 3, 4, 5, 7, 10, 13, 14, 16} {
		for _, real := range []bool{false, true} {
			c, reference := s.quantumCircuit(q, 12+3*q, real)
			n := 3
			if q < 8 {
				n = 301
			}
			rows, x := s.quantumSamples(n)
			for dt, bound := range map[gpk.DType]float64{gpk.Complex64: 3e-6, gpk.Complex128: 1e-13} {
				soil(n << (q + 1))
				a, err := quantum.States(context.Background(), c, x, dt)
				if err != nil {
					t.Fatalf("%d qubits, %v: %v\n%v", q, dt, err, c)
				}
				got := arraytest.Elements[complex128](t, a.Cast(gpk.Complex128))
				a.Free()
				for _, i := range []int{0, n / 2, n - 1} {
					for b, want := range reference(rows[i]) {
						if d := cmplx.Abs(got[i<<q+b] - want); !(d <= bound) {
							t.Fatalf("%d qubits, real %v, %v: amplitude %d of sample %d is %v, want %v\n%v", q, real, dt, b, i, got[i<<q+b], want, c)
						}
					}
				}
			}
			x.Free()
		}
	}
}

// quantumGram compares K, for every precision, path and way of keeping states, with inner products
// of reference states.
func (s *suite) quantumGram(t *testing.T) {
	bounds := map[quantum.Precision]float64{quantum.Standard: 5e-6, quantum.Fast: 2e-3, quantum.Double: 1e-12}
	for _, q := range []int{1, 3, 6} {
		for _, real := range []bool{false, true} {
			c, reference := s.quantumCircuit(q, 4*q, real)
			for _, size := range [][2]int{{1, 0}, {15, 0}, {17, 0}, {65, 0}, {300, 0}, {7, 130}, {130, 7}} {
				rows, x := s.quantumSamples(size[0])
				cols, y := rows, (*gpk.Array)(nil)
				if size[1] > 0 {
					cols, y = s.quantumSamples(size[1])
				}
				want := func(i, j int) float64 {
					return real2(overlap(reference(rows[i]), reference(cols[j])))
				}
				for p, bound := range bounds {
					for _, o := range []quantum.Options{{}, {Path: quantum.General}, {Path: quantum.General, Tile: 34}, {Path: quantum.General, Keep: quantum.Recompute, Tile: 64}, {Path: quantum.General, Tile: 64, Streams: 4}} {
						o.Precision = p
						s.checkGram(t, c, x, y, size, o, want, bound)
					}
				}
			}
		}
	}
}

func real2(z complex128) float64 { return real(z)*real(z) + imag(z)*imag(z) }

func (s *suite) checkGram(t *testing.T, c *quantum.Circuit, x, y *gpk.Array, size [2]int, o quantum.Options, want func(i, j int) float64, bound float64) {
	t.Helper()
	n, m := size[0], size[1]
	if m == 0 {
		m = n
	}
	soil(n * m)
	r, err := quantum.Gram(context.Background(), c, x, y, o)
	if err != nil {
		t.Fatalf("%v %+v: %v\n%v", size, o, err, c)
	}
	defer r.K.Free()
	k := arraytest.Elements[float64](t, r.K.Cast(gpk.Float64))
	what := fmt.Sprintf("%v %+v", size, o)
	for at, v := range k {
		if math.IsNaN(v) {
			t.Fatalf("%s: K[%d, %d] is NaN", what, at/m, at%m)
		}
	}
	if y == nil {
		for i := range n {
			if k[i*n+i] != 1 {
				t.Fatalf("%s: K[%d, %d] is %v", what, i, i, k[i*n+i])
			}
			for j := range i {
				if k[i*n+j] != k[j*n+i] {
					t.Fatalf("%s: K[%d, %d] is %v, its mirror %v", what, i, j, k[i*n+j], k[j*n+i])
				}
			}
		}
	}
	for range 12 {
		i, j := s.rng.IntN(n), s.rng.IntN(m)
		if d := math.Abs(k[i*m+j] - want(i, j)); !(d <= bound) {
			t.Fatalf("%s: K[%d, %d] is %v, want %v\n%v", what, i, j, k[i*m+j], want(i, j), c)
		}
	}
}

// quantumRefusals checks the errors for invalid arguments, and that no memory is leaked.
func (s *suite) quantumRefusals(t *testing.T) {
	c, _ := s.quantumCircuit(4, 16, false)
	rows, x := s.quantumSamples(40)
	flat := slices.Concat(rows...)
	flat[3*29+1] = math.Inf(1)
	ctx := context.Background()
	bad := gpk.FromSlice(flat, 40, 3)
	for name, err := range map[string]error{
		"states": func() error { _, err := quantum.States(ctx, c, bad, gpk.Complex64); return err }(),
		"x":      func() error { _, err := quantum.Gram(ctx, c, bad, nil, quantum.Options{}); return err }(),
		"y":      func() error { _, err := quantum.Gram(ctx, c, x, bad, quantum.Options{}); return err }(),
	} {
		if !errors.Is(err, gpk.ErrNonFinite) || !strings.Contains(err.Error(), "row 29, column 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	before := s.dev.Pool().InUse
	ended, cancel := context.WithCancel(ctx)
	o := quantum.Options{Path: quantum.General, Tile: 8, Progress: func(p quantum.Progress) {
		if p.Done > 0 {
			cancel()
		}
	}}
	begun := time.Now()
	if _, err := quantum.Gram(ended, c, x, nil, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if d := time.Since(begun); d > time.Minute {
		t.Errorf("it took %v to cancel", d)
	}
	if after := s.dev.Pool().InUse; after > before {
		t.Errorf("%d bytes are left behind", after-before)
	}
	o = quantum.Options{Output: fullDisk{}}
	if _, err := quantum.Gram(ctx, c, x, nil, o); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a full disk: %v", err)
	}
	if after := s.dev.Pool().InUse; after > before {
		t.Errorf("a full disk: %d bytes are left behind", after-before)
	}
}

// fullDisk is a writer that accepts only the header.
type fullDisk struct{}

func (fullDisk) WriteAt(b []byte, at int64) (int, error) {
	if at == 0 {
		return len(b), nil
	}
	return 0, io.ErrShortWrite
}
