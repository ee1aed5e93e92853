package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Rotary holds the arguments of a rotary position embedding (Su et al., arXiv 2104.09864).
// A line is the Dim features of one head at one position p. Pair i of its first 2
// len(Frequencies) features is rotated by the angle a = p Frequencies[i],
//
//	out1 = x1 cos a - x2 sin a
//	out2 = x2 cos a + x1 sin a
//
// and the other features are copied. Pair i is the features i and i + len(Frequencies),
// or, if Interleaved, 2i and 2i + 1.
//
// Angles, sines, cosines and products are float64. Float32 and Float64 results are rounded
// once. Results of half types are rounded to float32 and then to the type.
type Rotary struct {
	Type               dtype.DType // type of X and Out
	Batch, Heads, Rows int
	Dim                int
	Frequencies        []float64 // radians a position
	Interleaved        bool

	X, Out    HeadRows
	Positions Positions
}

// Positions are the positions of the rows of a batch, with strides in elements.
type Positions struct {
	Data       unsafe.Pointer
	Type       dtype.DType // Int32 or Int64. Invalid: row i has position i
	Batch, Row int
}

// at returns the position of a row. An int64 above 2^53 is rounded.
func (p *Positions) at(batch, row int) float64 {
	i := batch*p.Batch + row*p.Row
	switch p.Type {
	case dtype.Int32:
		return float64(*(*int32)(unsafe.Add(p.Data, 4*i)))
	case dtype.Int64:
		return float64(*(*int64)(unsafe.Add(p.Data, 8*i)))
	}
	return float64(row)
}

// Run computes Out.
func (r *Rotary) Run() {
	if r.Type == dtype.Float64 {
		rotateLines[float64](r)
		return
	}
	rotateLines[float32](r)
}

// rotateLines computes the lines position by position, so that all heads share the sines
// and cosines of a position.
func rotateLines[T floating](r *Rotary) {
	rotated, size := 2*len(r.Frequencies), r.Type.Size()
	load, store := lineLoader(r.Type), lineStorer(r.Type)
	dense := size == int(unsafe.Sizeof(*new(T))) && r.X.Step == 1 && r.Out.Step == 1
	Parallel(r.Rows*r.Batch*r.Heads, max(minPart/4/max(r.Dim, 1), 1), func(lo, hi int) {
		w := newRotation(r)
		room := make([]T, 2*rotated)
		in, out := room[:rotated], room[rotated:]
		for i := lo; i < hi; i++ {
			row, batch, head := i/(r.Batch*r.Heads), i/r.Heads%r.Batch, i%r.Heads
			w.to(r.Positions.at(batch, row))
			x, dst := r.X.at(size, batch, head, row), r.Out.at(size, batch, head, row)
			if n := r.Dim - rotated; n > 0 {
				copySpan(unsafe.Add(dst, rotated*r.Out.Step*size), r.Out.Step*size, unsafe.Add(x, rotated*r.X.Step*size), r.X.Step*size, size, n)
			}
			switch {
			case rotated == 0:
			case dense:
				rotate(w, unsafe.Slice((*T)(dst), rotated), unsafe.Slice((*T)(x), rotated))
			default:
				load(at0(in), x, r.X.Step*size, rotated)
				rotate(w, out, in)
				store(dst, r.Out.Step*size, at0(out), rotated)
			}
		}
	})
}

// rotation holds the sines and cosines of the angles of one position.
type rotation struct {
	*Rotary
	position float64
	set      bool
	sin, cos []float64
}

func newRotation(r *Rotary) *rotation {
	n := len(r.Frequencies)
	room := make([]float64, 2*n)
	return &rotation{Rotary: r, sin: room[:n], cos: room[n:]}
}

// to computes the sines and cosines of a position, unless it holds them already.
func (t *rotation) to(position float64) {
	if t.set && position == t.position {
		return
	}
	t.position, t.set = position, true
	for i, f := range t.Frequencies {
		a := position * f
		t.sin[i], t.cos[i] = sinF64(a), cosF64(a)
	}
}

// rotate rotates the pairs of a line. The products are converted, because a product fused
// into the sum on some machines would change the bits.
func rotate[T floating](t *rotation, out, in []T) {
	n := len(t.cos)
	cos, sin := t.cos[:n], t.sin[:n]
	if t.Interleaved {
		in, out = in[:2*n], out[:2*n]
		for i, c := range cos {
			x, y, s := float64(in[2*i]), float64(in[2*i+1]), sin[i]
			out[2*i] = T(float64(x*c) - float64(y*s))
			out[2*i+1] = T(float64(y*c) + float64(x*s))
		}
		return
	}
	x1, x2, out1, out2 := in[:n], in[n:2*n], out[:n], out[n:2*n]
	for i, c := range cos {
		x, y, s := float64(x1[i]), float64(x2[i]), sin[i]
		out1[i] = T(float64(x*c) - float64(y*s))
		out2[i] = T(float64(y*c) + float64(x*s))
	}
}
