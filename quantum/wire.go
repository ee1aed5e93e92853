package quantum

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/internal/cpu"
)

// bloch computes the closed form for wires without entanglement.
//
// A qubit's state is a point r of the unit sphere (Bloch's), and |<u|v>|^2 = (1 + r_u .
// r_v)/2 = 1 - |r_u - r_v|^2/4, as |r| = 1. K of a product state is the product over its
// qubits: O(n^2 qubits), without a factor of 2^qubits. The second form is more accurate. It
// is exactly 1 for equal samples. Its rounding error is about u (1 - f) for a factor f,
// which is about u for all qubits together; the first form loses u for each qubit.
//
// A coordinate that is the same for all samples cancels in r_u - r_v: RY leaves y at 0, RX
// leaves x, H and P leave z. Such a wire has two coordinates, any other three. Coordinates
// that differ by less than 1e-9 change a factor by less than 1e-18.
//
// Samples are stored in panels: for each coordinate, halved, adjacent values of lanes
// samples. If they do not fill their panels, the first panel is short, because above the
// diagonal the cost of padded columns is proportional to the height of their panel, and the
// last panel is the highest.
type bloch[T number] struct {
	*closedForm
	lanes int    // samples per panel
	sets  [2][]T // the panels of x and y
	lead  [2]int // padding lanes of the first panel
	y     int    // index of the set of y; 0 if y is x
	lent  [2]cpu.Scratch[T]
}

// closedForm describes the wires of a kernel. It is cached, because computing a matrix of
// few qubits takes less time.
type closedForm struct {
	once         sync.Once
	wires        []movingWire // planar wires, then full ones
	planar, full int          // number of wires with two and with three coordinates
	width        int          // 2 planar + 3 full
}

// movingWire is a wire with the coordinates that differ between samples.
type movingWire struct {
	p    *program
	axes []int
	turn [][9]float64 // the rotations of the constant parts
}

const sameCoordinate = 1e-9

// panelLanes returns the number of samples per panel, which are 128 bytes: four registers
// of AVX or two of AVX-512.
func panelLanes[T number]() int { return 128 / int(unsafe.Sizeof(*new(T))) }

// newBloch evaluates the wires of k for x and y.
func newBloch[T number](ctx context.Context, k *kernel, x, y *samples) (*bloch[T], error) {
	b := &bloch[T]{closedForm: &k.closed, lanes: panelLanes[T]()}
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
		b.lead[i] = (s.n+b.lanes-1)/b.lanes*b.lanes - s.n
		n := (s.n+b.lead[i])*b.width + maxLanes
		b.lent[i] = cpu.NewScratch[T](n)
		b.sets[i] = b.lent[i].Data()
		if err = b.panels(ctx, s, b.sets[i], b.lead[i]); err != nil {
			b.free()
			return nil, fmt.Errorf("single qubits: %w", err)
		}
	}
	return b, nil
}

// find determines the coordinates of the wires.
func (c *closedForm) find(wires []*program) {
	c.wires, c.planar = movingWires(wires, false)
	c.full = len(c.wires) - c.planar
	for i := range c.wires {
		w := &c.wires[i]
		for _, part := range w.p.start[0].parts {
			w.turn = append(w.turn, part.m.rotation())
		}
	}
	c.width = 2*c.planar + 3*c.full
}

// rotation returns the effect of a unitary on a Bloch vector: row i, column j is tr(s_i u
// s_j u*)/2 with Pauli's matrices s.
func (u matrix) rotation() (r [9]float64) {
	for j, v := range [3][2]complex128{{1, 1}, {1, 1i}, {1, 0}} { // the states at x, y and z; the first two are multiplied by sqrt 2
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

// blochVector returns the Bloch vector of a|0> + b|1>. Its length is the squared length of
// that state.
func blochVector(a, b complex128) [3]float64 {
	return [3]float64{
		2 * (real(a)*real(b) + imag(a)*imag(b)),
		2 * (real(a)*imag(b) - imag(a)*real(b)),
		real(a)*real(a) + imag(a)*imag(a) - real(b)*real(b) - imag(b)*imag(b),
	}
}

// maxLanes is the maximum number of samples per panel.
const maxLanes = 32

// points holds the halved Bloch vectors of the samples in a panel.
type points [3][maxLanes]float64

func (b *bloch[T]) free() {
	b.lent[0].Free()
	b.lent[1].Free()
}

// panels evaluates the samples of s into out, after `lead` padding lanes.
func (b *bloch[T]) panels(ctx context.Context, s *samples, out []T, lead int) error {
	n := (s.n + b.lanes - 1) / b.lanes
	one := b.lanes * b.width
	// Padding lanes are read, but their results are not used. Zeros avoid slow or special
	// values.
	clear(out[:min(one, len(out))])
	clear(out[n*one:])
	return distribute(ctx, n, runtime.GOMAXPROCS(0), func() func(i int) error {
		var p wirePanel
		return func(i int) error {
			lo, hi := max(i*b.lanes-lead, 0), (i+1)*b.lanes-lead
			panel := out[i*one:][:one]
			for _, w := range b.wires {
				if err := p.evaluate(&w, s, lo, hi); err != nil {
					return err
				}
				for _, axis := range w.axes {
					narrow(panel[b.lanes-(hi-lo):], p.at[axis][:hi-lo])
					panel = panel[b.lanes:]
				}
			}
			return nil
		}
	})
}

// wirePanel is a wire evaluated for the samples of a panel.
type wirePanel struct {
	at       points
	angle    [maxLanes]float64
	sin, cos [maxLanes]float64
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
	known := -1 // the angle whose sine and cosine are already computed
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
				return w.p.angles.describe(part.angle, s.name, s.origin(lo+bad))
			}
			sincos(p.sin[:n], p.cos[:n], p.angle[:n])
			known = part.angle
		}
		// A right-handed rotation about an axis.
		u, v := x, y // for gateP
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
