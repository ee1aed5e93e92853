package quantum

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// bloch computes the closed form for wires that nothing connects.
//
// A qubit's state is a point r of the unit sphere (Bloch's), and
// |<u|v>|^2 = (1 + r_u . r_v)/2 = 1 - |r_u - r_v|^2/4, as |r| = 1. K of a
// product state is the product over its qubits: O(n^2 qubits), no 2^qubits.
// The second form is the one to compute: it is exactly 1 for equal samples, and
// its rounding error, about u (1 - f) for a factor f, adds up over all qubits to
// about u, where the first would lose u for each.
//
// A coordinate that is the same for all samples drops out of r_u - r_v: RY
// leaves y at 0, RX leaves x, H and P leave z. Such a wire has two
// coordinates, any other three. Coordinates that differ by less than 1e-9 move
// a factor by less than 1e-18.
type bloch[T number] struct {
	planar, full int    // wires with two and with three coordinates, in this order
	points       [2][]T // of x and y: for each sample the halved coordinates of all wires
	width        int    // 2 planar + 3 full
	y            int    // 0 where y is x
	panels       []T    // columns: for each panel the coordinates, panelOf() samples side by side
}

const sameCoordinate = 1e-9

// newBloch evaluates the wires of k for x and y.
func newBloch[T number](ctx context.Context, k *kernel, x, y *samples) (*bloch[T], error) {
	b := &bloch[T]{}
	if len(k.wires) == 0 {
		return b, nil
	}
	sets := []*samples{x}
	if y != x {
		sets, b.y = append(sets, y), 1
	}
	n := 3 * len(k.wires)
	var coordinates [2][]float64
	low, high := slices.Repeat([]float64{math.Inf(1)}, n), slices.Repeat([]float64{math.Inf(-1)}, n)
	for i, s := range sets {
		coordinates[i] = make([]float64, s.n*n)
		if err := blochPoints(ctx, k, s, coordinates[i]); err != nil {
			return nil, err
		}
		for r := range s.n {
			for c, v := range coordinates[i][r*n:][:n] {
				if v < low[c] {
					low[c] = v
				}
				if v > high[c] {
					high[c] = v
				}
			}
		}
	}
	var planar, full []int // coordinates, by wire
	for w := range k.wires {
		var moving []int
		for c := 3 * w; c < 3*w+3; c++ {
			if high[c]-low[c] > sameCoordinate {
				moving = append(moving, c)
			}
		}
		switch len(moving) {
		case 0: // the same for all samples: the factor is 1
		case 1: // beside one that moves by nearly nothing
			planar = append(planar, moving[0], 3*w+(moving[0]+1)%3)
		case 2:
			planar = append(planar, moving...)
		case 3:
			full = append(full, moving...)
		}
	}
	b.planar, b.full = len(planar)/2, len(full)/3
	order := append(planar, full...)
	b.width = len(order)
	for i, s := range sets {
		b.points[i] = make([]T, s.n*b.width)
		for r := range s.n {
			for c, from := range order {
				b.points[i][r*b.width+c] = T(coordinates[i][r*n+from] / 2)
			}
		}
	}
	return b, nil
}

// blochPoints writes x, y and z of every wire for every sample.
func blochPoints(ctx context.Context, k *kernel, s *samples, out []float64) error {
	n := 3 * len(k.wires)
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	work := func() {
		angles := make([][]float64, len(k.wires))
		for w, p := range k.wires {
			angles[w] = make([]float64, len(p.angles.angles))
		}
		for {
			r := int(next.Add(1)) - 1
			if r >= s.n || r%256 == 0 && ctx.Err() != nil {
				return
			}
			for w, p := range k.wires {
				if bad := p.angles.evaluate(s.row(r), angles[w]); bad >= 0 {
					mu.Lock()
					if failed == nil {
						failed = p.angles.describe(bad, r)
					}
					mu.Unlock()
					return
				}
				a, b := p.start[0].vector(angles[w])
				at := out[r*n+3*w:][:3]
				at[0] = 2 * (real(a)*real(b) + imag(a)*imag(b))
				at[1] = 2 * (real(a)*imag(b) - imag(a)*real(b))
				at[2] = real(a)*real(a) + imag(a)*imag(a) - real(b)*real(b) - imag(b)*imag(b)
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), s.n) {
		wg.Go(work)
	}
	wg.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	if failed != nil {
		return fmt.Errorf("single qubits: %w", failed)
	}
	return nil
}

func (b *bloch[T]) bytes() int64 {
	var size int64 = 4
	if _, ok := any(b).(*bloch[float64]); ok {
		size = 8
	}
	return int64(len(b.points[0])+len(b.points[1])+len(b.panels)) * size
}

// panelColumns is how many columns a panel has: four registers of 32 bytes.
func (b *bloch[T]) panelColumns() int {
	if _, ok := any(b).(*bloch[float32]); ok {
		return 32
	}
	return 16
}

// columns packs the points of the columns j0 … j0+cols-1.
func (b *bloch[T]) columns(j0, cols int) {
	if b.width == 0 {
		return
	}
	w := b.panelColumns()
	panels := (cols + w - 1) / w
	if len(b.panels) < panels*w*b.width {
		b.panels = make([]T, panels*w*b.width)
	}
	points := b.points[b.y]
	for p := range panels {
		panel := b.panels[p*w*b.width:][:w*b.width]
		for c := range w {
			if p*w+c >= cols {
				continue // its results are not read
			}
			row := points[(j0+p*w+c)*b.width:][:b.width]
			for k, v := range row {
				panel[k*w+c] = v
			}
		}
	}
}

// tile writes the product over all wires for r rows from i0 on and the packed
// columns from off on, a multiple of panelColumns. It reports false, and writes nothing, where there are no wires.
func (b *bloch[T]) tile(tile []T, ld, i0, r, off, cols int) bool {
	if b.width == 0 {
		return false
	}
	w := b.panelColumns()
	rows(r, r*cols*b.width, func(lo, hi int) {
		var last [32]T
		for p := 0; p*w < cols; p++ {
			panel := b.panels[(off/w+p)*w*b.width:][:w*b.width]
			n := min(w, cols-p*w)
			for i := lo; i < hi; i++ {
				point := b.points[0][(i0+i)*b.width:][:b.width]
				out := tile[i*ld+p*w:]
				if n < w {
					out = last[:w]
				}
				factors(out, point, panel, b.planar, b.full)
				if n < w {
					copy(tile[i*ld+p*w:][:n], last[:n])
				}
			}
		}
	})
	return true
}

// factors writes the products of 1 - |point - column|^2 over all wires for a
// panel of columns.
func factors[T number](out, point, panel []T, planar, full int) {
	if k := kernels[T](); k != nil {
		k.factors(&out[0], &point[0], &panel[0], planar, full)
		return
	}
	factorsGo(out[:len(panel)/len(point)], point, panel, planar, full)
}

// factorsGo is the specification of tileKernels.factors, which fuse
// multiplications with additions.
func factorsGo[T number](out, point, panel []T, planar, full int) {
	w := len(out)
	for i := range out {
		out[i] = 1
	}
	for range planar {
		a, b, x, y := point[0], point[1], panel[:w], panel[w:2*w]
		for i := range out {
			d, e := x[i]-a, y[i]-b
			s := d*d + e*e
			out[i] -= out[i] * s
		}
		point, panel = point[2:], panel[2*w:]
	}
	for range full {
		a, b, c, x, y, z := point[0], point[1], point[2], panel[:w], panel[w:2*w], panel[2*w:3*w]
		for i := range out {
			d, e, f := x[i]-a, y[i]-b, z[i]-c
			s := d*d + e*e + f*f
			out[i] -= out[i] * s
		}
		point, panel = point[3:], panel[3*w:]
	}
}
