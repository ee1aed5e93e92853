package gpktest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/cmplx"
	"slices"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/quantum"
)

// twin is a circuit and a function that applies the same gates to a register.
type twin struct {
	circuit *quantum.Circuit
	steps   []func(r *register, x []float64)
}

// amount is an angle: a multiple of a feature or, if feature is negative, a number.
type amount struct {
	feature int
	scale   float64
}

func (a amount) angle() quantum.Angle {
	if a.feature < 0 {
		return quantum.Const(a.scale)
	}
	return quantum.Feature(a.feature).Scale(a.scale)
}

func (a amount) of(x []float64) float64 {
	if a.feature < 0 {
		return a.scale
	}
	return a.scale * x[a.feature]
}

func newTwin(qubits int) *twin { return &twin{circuit: quantum.NewCircuit(qubits)} }

func (w *twin) h(i int) {
	w.circuit.H(i)
	h := complex(math.Sqrt(0.5), 0)
	w.steps = append(w.steps, func(r *register, _ []float64) { r.apply(i, [4]complex128{h, h, h, -h}) })
}

func (w *twin) rx(i int, a amount) {
	w.circuit.RX(i, a.angle())
	w.steps = append(w.steps, func(r *register, x []float64) { r.apply(i, rotationX(a.of(x))) })
}

func (w *twin) ry(i int, a amount) {
	w.circuit.RY(i, a.angle())
	w.steps = append(w.steps, func(r *register, x []float64) { r.apply(i, rotationY(a.of(x))) })
}

func (w *twin) rz(i int, a amount) {
	w.circuit.RZ(i, a.angle())
	w.steps = append(w.steps, func(r *register, x []float64) { r.apply(i, rotationZ(a.of(x))) })
}

func (w *twin) cx(control, target int) {
	w.circuit.CX(control, target)
	w.steps = append(w.steps, func(r *register, _ []float64) { r.apply(target, [4]complex128{0, 1, 1, 0}, control) })
}

func (w *twin) cz(a, b int) {
	w.circuit.CZ(a, b)
	w.steps = append(w.steps, func(r *register, _ []float64) { r.apply(b, [4]complex128{1, 0, 0, -1}, a) })
}

func (w *twin) state(x []float64) []complex128 {
	r := newRegister(w.circuit.Qubits())
	for _, step := range w.steps {
		step(r, x)
	}
	return r.amps
}

// layered embeds one feature on n wires from the first on, again and again.
func (w *twin) layered(first, n, layers int, real bool) {
	for layer := range layers + 1 {
		for i := range n {
			if w.ry(first+i, amount{0, 1}); !real {
				w.rz(first+i, amount{0, 1})
			}
		}
		for i := range n {
			if layer < layers {
				w.cz(first+i, first+(i+1)%n)
			}
		}
	}
}

// alike returns circuits whose amplitudes take few values, or whose roundings repeat.
func alike(q int) map[string]*twin {
	first, second := amount{0, 1}, amount{1, 1}
	on := func(gates ...func(w *twin, i int)) *twin {
		w := newTwin(q)
		for _, gate := range gates {
			for i := range q {
				gate(w, i)
			}
		}
		return w
	}
	h := (*twin).h
	ry := func(w *twin, i int) { w.ry(i, first) }
	rz := func(w *twin, i int) { w.rz(i, first) }
	ladder := func(w *twin, i int) {
		if i+1 < q {
			w.cx(i, i+1)
		}
	}
	ring := func(w *twin, i int) { w.cz(i, (i+1)%q) }
	twins := map[string]*twin{
		"one angle":          on(ry),
		"one angle, complex": on(ry, rz),
		"one size":           on(h, func(w *twin, i int) { w.rx(i, first) }),
		"turns of i":         on(func(w *twin, i int) { w.rx(i, first) }),
		"phases":             on(h, rz),
		"few phases": on(h, func(w *twin, i int) {
			if i < 2 {
				w.rz(i, first)
			}
		}, ladder, func(w *twin, i int) {
			if i == q-1 {
				w.ry(i, second)
			}
		}),
		"signs": on(h, func(w *twin, i int) {
			if i == 0 {
				w.rz(i, first)
			}
		}, ring),
		"eighths of a turn": on(func(w *twin, i int) { w.ry(i, amount{-1, math.Pi / 4}) }, rz),
		"two amplitudes": on(func(w *twin, i int) {
			if i == 0 {
				w.ry(i, first)
			}
		}, ladder, func(w *twin, i int) { w.rz(i, second) }),
	}
	layers := 8
	if q > 14 {
		layers = 1 // the reference takes its time
	}
	for _, real := range []bool{false, true} {
		w := newTwin(q)
		w.layered(0, q, layers, real)
		twins[fmt.Sprintf("layers, real %v", real)] = w
	}
	return twins
}

// overlap returns <a|b>. It sums the two halves recursively, so that the error stays
// small even for many similar terms.
func overlap(a, b []complex128) complex128 {
	if n := len(a); n > 8 {
		return overlap(a[:n/2], b[:n/2]) + overlap(a[n/2:], b[n/2:])
	}
	var sum complex128
	for k := range a {
		sum += cmplx.Conj(a[k]) * b[k]
	}
	return sum
}

// longAlike is the number of qubits for which only Double is tested.
const longAlike = 20

// quantumAlike: terms of a sum that are alike are rounded alike, and their errors add up
// unless something is done about them. Every entry is compared with the gates as written,
// of one set of samples and of two, which no check of a diagonal covers; the features of
// some samples are equal, or parts of a turn.
func (s *suite) quantumAlike(t *testing.T) {
	sizes, blocks := []int{4, 7, 10, 12}, [][2]int{{3, 8}, {4, 5}, {8, 2}}
	if s.dev.Kind() == device.CUDA && !testing.Short() {
		sizes, blocks = append(sizes, 13, 14, 16, 18, longAlike), append(blocks, [2]int{12, 2}, [2]int{13, 3}, [2]int{16, 2})
	}
	for _, q := range sizes {
		for name, w := range alike(q) {
			if q == longAlike && !slices.Contains([]string{"one angle, complex", "turns of i", "two amplitudes"}, name) {
				continue
			}
			t.Run(fmt.Sprintf("%d/%s", q, name), func(t *testing.T) { s.quantumAlikeOf(t, w.circuit, []*twin{w}, quantum.General) })
		}
	}
	// K is the product of some circuits and a wire without two-qubit gates.
	for _, c := range blocks {
		for _, real := range []bool{false, true} {
			q, n := c[0], c[1]
			whole, parts := newTwin(q*n+1), []*twin{}
			for i := range n {
				layers := 1 + i/2 // some alike, some not
				whole.layered(i*q, q, layers, real)
				w := newTwin(q)
				w.layered(0, q, layers, real)
				parts = append(parts, w)
			}
			w := newTwin(1)
			w.ry(0, amount{1, 1})
			whole.ry(q*n, amount{1, 1})
			t.Run(fmt.Sprintf("%d/%d blocks, real %v", q, n, real), func(t *testing.T) { s.quantumAlikeOf(t, whole.circuit, append(parts, w), quantum.Auto) })
		}
	}
}

// quantumAlikeOf compares K of a circuit with the product of its parts' kernels.
func (s *suite) quantumAlikeOf(t *testing.T, c *quantum.Circuit, parts []*twin, path quantum.Path) {
	n, m := 40, 70 // at 12 and 13 qubits so many find what is off by more than 5e-6
	switch q := parts[0].circuit.Qubits(); {
	case q == longAlike:
		n, m = 6, 8
	case q >= 14:
		n, m = 11, 14
	}
	type states [][]complex128 // the states of a sample, one for each part
	set := func(n int) (of []states, x *gpk.Array) {
		rows, x := s.quantumSamples(n)
		flat := make([]float64, 0, 3*n)
		for i, row := range rows {
			if i < 6 { // in the last of these, most terms are near half a unit of the sum's last place
				v := [...]float64{0, math.Pi / 4, math.Pi / 2, math.Pi, 0.7, 0.19}[i]
				rows[i] = []float64{v, v, v}
			} else if i%2 == 0 { // near each other: K is large
				for k := range row {
					row[k] /= 8
				}
			}
			flat = append(flat, rows[i]...)
		}
		x.Free()
		of = make([]states, n)
		var wait sync.WaitGroup
		for i, row := range rows {
			wait.Go(func() {
				for _, w := range parts {
					of[i] = append(of[i], w.state(row))
				}
			})
		}
		wait.Wait()
		return of, gpk.FromSlice(flat, n, 3)
	}
	a, x := set(n)
	b, y := set(m)
	defer x.Free()
	defer y.Free()
	worst := map[string]float64{}
	for _, rectangular := range []bool{false, true} {
		cols, other := a, (*gpk.Array)(nil)
		if rectangular {
			cols, other = b, y
		}
		want := make([]float64, n*len(cols))
		var wait sync.WaitGroup
		for i := range a {
			wait.Go(func() {
				for j := range cols {
					k := 1.0
					for p := range parts {
						k *= real2(overlap(a[i][p], cols[j][p]))
					}
					want[i*len(cols)+j] = k
				}
			})
		}
		wait.Wait()
		general := quantum.Options{Path: path}
		blocks, normalized, fast, double := general, general, general, general
		blocks.Keep, blocks.Tile = quantum.Recompute, 8
		normalized.Normalize = true
		fast.Precision, double.Precision = quantum.Fast, quantum.Double
		tiles, jitter, lifted, exact, quick := normalized, general, normalized, double, fast
		tiles.Keep, tiles.Tile = quantum.Recompute, 10
		jitter.Jitter, lifted.Jitter = 0.25, 0.25
		exact.Normalize, exact.Jitter, quick.Normalize, quick.Jitter = true, 0.25, true, 0.25
		options := []quantum.Options{{}, general, blocks, normalized, tiles, jitter, lifted, fast, quick, double, exact}
		if parts[0].circuit.Qubits() == longAlike {
			options = []quantum.Options{double, exact}
		}
		for _, o := range options {
			bound := [...]float64{5e-6, 2e-3, 1e-12}[o.Precision]
			soil(len(want))
			r, err := quantum.Gram(context.Background(), c, x, other, o)
			if err != nil {
				t.Errorf("%d by %d, %+v: %v\n%v", n, len(cols), o, err, c)
				continue
			}
			k := arraytest.Elements[float64](t, r.K.Cast(gpk.Float64))
			r.K.Free()
			name := o.Precision.String()
			if o.Normalize {
				name += ", normalized"
			}
			for at, v := range k {
				expected := want[at]
				switch diagonal := !rectangular && at/n == at%n; {
				case diagonal && !o.Normalize:
					expected = 1 + o.Jitter
				case diagonal:
					expected = 1
				case o.Normalize:
					expected /= 1 + o.Jitter
				}
				d := math.Abs(v - expected)
				if !(d <= bound) {
					t.Errorf("%d by %d, %+v: K[%d, %d] is %v, want %v\n%v", n, len(cols), o, at/len(cols), at%len(cols), v, expected, c)
					break
				}
				worst[name] = max(worst[name], d)
			}
			if !rectangular { // Gram refuses what is off by more
				worst[name+", diagonal"] = max(worst[name+", diagonal"], r.Report.MaxDiagonalError)
				if r.Report.MaxDiagonalError > bound {
					t.Errorf("%+v: the diagonal is off by %v\n%v", o, r.Report.MaxDiagonalError, c)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(worst)) {
		t.Logf("%s: off by at most %.2g", name, worst[name])
	}
}
