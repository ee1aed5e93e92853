package quantum

import (
	"fmt"
	"math"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestWires computes K of wires that nothing connects, in a plane of Bloch's sphere and
// outside of it, few and many, whole and in tiles, into poisoned memory. Every entry is
// compared with the product of overlaps of two numbers a wire in float64.
func TestWires(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	for _, of := range []struct{ planar, full int }{{1, 0}, {5, 3}, {16, 0}, {0, 16}, {20, 4}, {17, 9}, {0, 40}} {
		c := NewCircuit(of.planar + of.full)
		for w := range of.planar + of.full {
			switch {
			case w >= of.planar:
				c.RY(w, Feature(w)).RZ(w, Feature(w))
			case w%2 == 0:
				c.RY(w, Feature(w))
			default:
				c.RX(w, Feature(w))
			}
		}
		q := c.Qubits()
		entry := func(x, y []float64) float64 {
			k := 1.0
			for w := range x {
				d := math.Cos((x[w] - y[w]) / 2)
				if w < of.planar {
					k *= d * d
					continue
				}
				cc, ss := math.Cos(x[w]/2)*math.Cos(y[w]/2), math.Sin(x[w]/2)*math.Sin(y[w]/2)
				re, im := cc+math.Cos(y[w]-x[w])*ss, math.Sin(y[w]-x[w])*ss
				k *= re*re + im*im
			}
			return k
		}
		sizes := [][2]int{{1, 9}, {130, 9}, {132, 12}, {261, 9}, {264, 140}} // rows that vectors can write, and others
		if of.planar == 16 {
			sizes = append(sizes, [2]int{1028, 64})
		}
		for _, size := range sizes {
			n := size[0]
			if raceDetector && n > 200 {
				continue
			}
			x, y := randomSamples(rng, n, q), randomSamples(rng, size[1], q)
			for i := 1; i < n; i++ { // most of them near others, so that entries are not all near 0
				for w := range x[i] {
					x[i][w] = x[i-1][w] + 0.3/math.Sqrt(float64(q))*rng.NormFloat64()*float64(i%3)
				}
			}
			for _, o := range []Options{{}, {Tile: 150}, {Tile: 14, Jitter: 0.25}, {Tile: 100, Keep: Recompute}} {
				for _, with := range [][][]float64{nil, y} {
					cols := x
					if with != nil {
						cols = with
					}
					name := fmt.Sprintf("%d planar wires and %d others, %d against %d, %+v", of.planar, of.full, n, len(cols), o)
					r := poisoned(t, c, x, with, q, o)
					k := values(t, r.K)
					sum, pairs := 0.0, 0
					for i := range n {
						for j := range cols {
							v, want := k[i*len(cols)+j], entry(x[i], cols[j])
							if with == nil && i == j {
								want = 1 + o.Jitter
							} else if with != nil || i < j {
								sum, pairs = sum+v, pairs+1
							}
							if d := math.Abs(v - want); !(d <= 5e-6) {
								t.Fatalf("%s: K[%d, %d] is %v, want %v", name, i, j, v, want)
							}
							if with == nil && v != k[j*n+i] {
								t.Fatalf("%s: K[%d, %d] is %v, its mirror %v", name, i, j, v, k[j*n+i])
							}
						}
					}
					bound := 2e-9
					if *deviceName != "cpu" { // kernels add four entries in float32, in two roundings: rows alike share their errors
						bound = 0x1p-23 * sum / float64(pairs)
					}
					if mean := sum / float64(pairs); pairs > 0 && !(math.Abs(r.Report.OffDiagonalMean-mean) <= bound) {
						t.Errorf("%s: mean %v, want %v", name, r.Report.OffDiagonalMean, mean)
					}
					r.K.Free()
				}
			}
		}
	}
}

// TestWiresBits checks that the bits of an entry depend neither on the number of other entries nor on
// whether vectors can write the rows of K.
func TestWiresBits(t *testing.T) {
	onCPU(t)
	rng := testrand.New(t)
	for _, q := range []int{3, 8, 9, 16} {
		c := NewCircuit(q)
		for w := range q {
			c.RY(w, Feature(w))
		}
		const n = 265
		x := randomSamples(rng, n, q)
		all := poisoned(t, c, x, nil, q, Options{})
		k := values(t, all.K)
		all.K.Free()
		for _, size := range [][2]int{{264, 0}, {200, 0}, {64, 0}, {n, 264}, {64, 200}, {1, 4}} {
			rows, cols := size[0], size[1]
			y := x[:cols]
			if cols == 0 {
				cols, y = rows, nil
			}
			r := poisoned(t, c, x[:rows], y, q, Options{})
			v := values(t, r.K)
			r.K.Free()
			for i := range rows {
				for j := range cols {
					// A symmetric matrix has a diagonal of ones, and its lower triangle is a copy of
					// the upper one.
					if y != nil && i >= j {
						continue
					}
					if v[i*cols+j] != k[i*n+j] {
						t.Fatalf("%d wires, %d against %d: K[%d, %d] is %v, with all samples %v", q, rows, cols, i, j, v[i*cols+j], k[i*n+j])
					}
				}
			}
		}
	}
}

// TestLongSums: states of 2^17 and 2^18 amplitudes, complex and real, are multiplied in
// pieces on a GPU, and agree with the closed form to the bound of Double.
func TestLongSums(t *testing.T) {
	onCPU(t)
	if raceDetector {
		t.Skip("2^18 amplitudes a sample take minutes under -race; the same test runs without it, on CPU and GPU")
	}
	rng := testrand.New(t)
	for _, q := range []int{17, 18} {
		for _, rz := range []bool{false, true} {
			c := NewCircuit(q)
			for w := range q {
				if c.RY(w, Feature(w)); rz {
					c.RZ(w, Feature(w))
				}
			}
			x := randomSamples(rng, 5, q)
			for i, row := range x { // alike, so that entries are near 1 and sums long
				for w := range row {
					row[w] = math.Pi/2 + 0.1*float64(i)*row[w]
				}
			}
			want := poisoned(t, c, x, nil, q, Options{Precision: Double, Path: Product})
			for _, o := range []Options{{}, {Tile: 4}} {
				o.Precision, o.Path = Double, General
				got := poisoned(t, c, x, nil, q, o)
				if testDevice(t).Kind() == device.CUDA && !inPieces(o.Precision.dtype(), 1<<q) {
					t.Fatal("not in pieces")
				}
				a, b := values(t, got.K), values(t, want.K)
				for i := range a {
					if d := math.Abs(a[i] - b[i]); !(d <= 1e-12) {
						t.Errorf("q=%d rz=%v %+v: K[%d, %d] is %v, want %v", q, rz, o, i/5, i%5, a[i], b[i])
					}
				}
				if e := got.Report.MaxDiagonalError; !(e <= 1e-12) {
					t.Errorf("q=%d rz=%v %+v: the diagonal is %v off 1", q, rz, o, e)
				}
				got.K.Free()
			}
			want.K.Free()
		}
	}
}
