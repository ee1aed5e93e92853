package quantum

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
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
//
// Samples lie in panels: coordinate after coordinate, halved, of lanes samples side
// by side.
type bloch[T number] struct {
	*closedForm
	lanes int    // samples of a panel
	sets  [2][]T // the panels of x and y
	y     int    // 0 where y is x
}

// closedForm is what the wires of a kernel need, found once: a matrix of few qubits
// takes less.
type closedForm struct {
	once         sync.Once
	wires        []movingWire // planar ones, then full ones
	planar, full int          // wires with two and with three coordinates
	width        int          // 2 planar + 3 full
}

// movingWire is a wire with the coordinates that differ between samples.
type movingWire struct {
	p    *program
	axes []int
	turn [][9]float64 // the rotations that constant parts are
}

const sameCoordinate = 1e-9

// panelLanes is how many samples a panel has: 128 bytes, four registers of AVX or two
// of AVX-512.
func panelLanes[T number]() int { return 128 / int(unsafe.Sizeof(*new(T))) }

// newBloch evaluates the wires of k for x and y.
func newBloch[T number](ctx context.Context, k *kernel, x, y *samples) (*bloch[T], error) {
	b := &bloch[T]{closedForm: k.closed, lanes: panelLanes[T]()}
	b.once.Do(func() { b.find(k.wires) })
	if b.width == 0 {
		return b, nil
	}
	sets := []*samples{x}
	if y != x {
		sets, b.y = append(sets, y), 1
	}
	for i, s := range sets {
		var err error
		if b.sets[i], err = b.panels(ctx, s); err != nil {
			return nil, fmt.Errorf("single qubits: %w", err)
		}
	}
	return b, nil
}

// find looks at the wires.
func (c *closedForm) find(wires []*program) {
	var full []movingWire
	for _, p := range wires {
		w := movingWire{p: p, axes: movingAxes(p, false)}
		for _, part := range p.start[0].parts {
			w.turn = append(w.turn, part.m.rotation())
		}
		switch len(w.axes) {
		case 0: // the same for all samples: the factor is 1
		case 1: // beside one that moves by nearly nothing
			w.axes = append(w.axes, (w.axes[0]+1)%3)
			c.wires = append(c.wires, w)
		case 2:
			c.wires = append(c.wires, w)
		case 3:
			full = append(full, w)
		}
	}
	c.planar, c.full = len(c.wires), len(full)
	c.wires = append(c.wires, full...)
	c.width = 2*c.planar + 3*c.full
}

// rotation is what a unitary does to a Bloch vector: line i, column j is
// tr(s_i u s_j u*)/2 with Pauli's s.
func (u matrix) rotation() (r [9]float64) {
	for j, v := range [3][2]complex128{{1, 1}, {1, 1i}, {1, 0}} { // sqrt 2 of the states at x, y; of that at z
		a, b := u[0]*v[0]+u[1]*v[1], u[2]*v[0]+u[3]*v[1]
		p := blochVector(a, b)
		for i := range 3 {
			r[3*i+j] = p[i]
		}
	}
	for i := range 3 {
		r[3*i], r[3*i+1] = r[3*i]/2, r[3*i+1]/2
	}
	return r
}

// blochVector is the point of a|0> + b|1>, as long as that state squared.
func blochVector(a, b complex128) [3]float64 {
	return [3]float64{
		2 * (real(a)*real(b) + imag(a)*imag(b)),
		2 * (real(a)*imag(b) - imag(a)*real(b)),
		real(a)*real(a) + imag(a)*imag(a) - real(b)*real(b) - imag(b)*imag(b),
	}
}

// mostLanes is the largest number of samples of a panel.
const mostLanes = 32

// points are the halves of the samples' Bloch vectors in a panel.
type points [3][mostLanes]float64

// panels evaluates the samples of s.
func (b *bloch[T]) panels(ctx context.Context, s *samples) ([]T, error) {
	n := (s.n + b.lanes - 1) / b.lanes
	one := b.lanes * b.width
	out := make([]T, n*one+mostLanes) // what is read beyond the last sample is not used
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	work := func() {
		var p wirePanel
		for {
			i := int(next.Add(1)) - 1
			if i >= n || i%8 == 0 && ctx.Err() != nil {
				return
			}
			lo, panel := i*b.lanes, out[i*one:][:one]
			hi := min(lo+b.lanes, s.n)
			for _, w := range b.wires {
				if err := p.evaluate(&w, s, lo, hi); err != nil {
					mu.Lock()
					if failed == nil {
						failed = err
					}
					mu.Unlock()
					next.Store(int64(n)) // the others stop too
					return
				}
				for _, axis := range w.axes {
					narrow(panel, p.at[axis][:hi-lo])
					panel = panel[b.lanes:]
				}
			}
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if failed == nil {
		failed = ctx.Err()
	}
	return out, failed
}

// wirePanel is a wire evaluated for the samples of a panel.
type wirePanel struct {
	at       points
	angle    [mostLanes]float64
	sin, cos [mostLanes]float64
}

// evaluate computes the points of a wire for the samples lo … hi-1.
func (p *wirePanel) evaluate(w *movingWire, s *samples, lo, hi int) error {
	n := hi - lo
	x, y, z := p.at[0][:n], p.at[1][:n], p.at[2][:n]
	clear(x)
	clear(y)
	for l := range z {
		z[l] = 0.5
	}
	known := -1 // the angle whose sine and cosine are there
	for i, part := range w.p.start[0].parts {
		if part.kind == constantFactor {
			r := &w.turn[i]
			for l, u := range x {
				v, t := y[l], z[l]
				x[l], y[l], z[l] = r[0]*u+r[1]*v+r[2]*t, r[3]*u+r[4]*v+r[5]*t, r[6]*u+r[7]*v+r[8]*t
			}
			continue
		}
		if part.angle != known {
			if bad := w.p.angles.angles[part.angle].evaluateAll(s, lo, p.angle[:n]); bad >= 0 {
				return w.p.angles.describe(part.angle, lo+bad)
			}
			sincos(p.sin[:n], p.cos[:n], p.angle[:n])
			known = part.angle
		}
		// Right-handed about an axis.
		u, v := x, y // gateP
		switch part.kind {
		case gateRX:
			u, v = y, z
		case gateRY:
			u, v = z, x
		}
		sin, cos := p.sin[:len(u)], p.cos[:len(u)]
		v = v[:len(u)]
		for l, a := range u {
			b, s, c := v[l], sin[l], cos[l]
			u[l], v[l] = a*c-b*s, b*c+a*s
		}
	}
	return nil
}

func (b *bloch[T]) bytes() int64 {
	return int64(len(b.sets[0])+len(b.sets[1])) * int64(unsafe.Sizeof(*new(T)))
}

// tile writes the product over all wires for r rows from i0 on and cols columns from
// j0 on; on the diagonal at least what lies on it and above. It reports false, and
// writes nothing, where there are no wires.
func (b *bloch[T]) tile(tile []T, ld, i0, r, j0, cols int, diagonal bool) bool {
	if b.width == 0 {
		return false
	}
	w, one := b.lanes, b.lanes*b.width
	first := i0 / w
	rows((i0+r-1)/w+1-first, r*cols*b.width, func(lo, hi int) {
		var part []T // a block that lies only partly in the tile
		for c := j0 / w; c*w < j0+cols; c++ {
			x0, x1 := max(c*w, j0), min(c*w+w, j0+cols)
			for p := first + lo; p < first+hi && !(diagonal && p > c); p++ {
				y0, y1 := max(p*w, i0), min(p*w+w, i0+r)
				point, panel := b.sets[0][p*one+y0%w:], b.sets[b.y][c*one:][:one]
				out := tile[(y0-i0)*ld+x0-j0:]
				if y1-y0 == w && x1-x0 == w {
					factors(out, ld, point, panel, w, b.planar, b.full)
					continue
				}
				if part == nil {
					part = make([]T, w*w)
				}
				factors(part, w, point, panel, y1-y0, b.planar, b.full)
				for y := range y1 - y0 {
					copy(out[y*ld:][:x1-x0], part[y*w+x0%w:])
				}
			}
		}
	})
	return true
}

// factors writes the products of 1 - |point - column|^2 over all wires for rows
// points, side by side from point on in their panel, and a panel of columns. The
// coordinates are the panel's lanes apart.
func factors[T number](out []T, ld int, point, panel []T, rows, planar, full int) {
	if k := kernels[T](); k != nil {
		k.factors(&out[0], ld, &point[0], &panel[0], rows, planar, full)
		return
	}
	w := panelLanes[T]()
	for y := range rows {
		factorsGo(out[y*ld:][:w], point[y:], panel, planar, full)
	}
}

// factorsGo is the specification of tileKernels.factors, which fuse
// multiplications with additions, for one point.
func factorsGo[T number](out, point, panel []T, planar, full int) {
	w := len(out)
	for i := range out {
		out[i] = 1
	}
	at := 0
	for range planar {
		a, b, x, y := point[at], point[at+w], panel[at:][:w], panel[at+w:][:w]
		for i := range out {
			d, e := x[i]-a, y[i]-b
			s := d*d + e*e
			out[i] -= out[i] * s
		}
		at += 2 * w
	}
	for range full {
		a, b, c, x, y, z := point[at], point[at+w], point[at+2*w], panel[at:][:w], panel[at+w:][:w], panel[at+2*w:][:w]
		for i := range out {
			d, e, f := x[i]-a, y[i]-b, z[i]-c
			s := d*d + e*e + f*f
			out[i] -= out[i] * s
		}
		at += 3 * w
	}
}
