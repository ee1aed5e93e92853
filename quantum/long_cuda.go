package quantum

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/ops"
)

// Sums of float64. Adding a small term to a sum near 1 loses up to half a unit in the last
// place of the sum: over 2^20 amplitudes this came to 6.6e-12. So a long sum is the sum of
// partial sums over pieceTerms amplitudes, each of which stays small; adding 2^6 of these
// loses a negligible amount. Equal terms, whose errors have the same sign, are rotated
// before. But terms below half a unit of the sum are lost entirely.
const pieceTerms = 1 << 14 // per sum: an error of at most 4e-13

// inPieces reports whether products of states with width amplitudes are computed as sums of
// products.
func inPieces(dt gpk.DType, width int) bool { return dt == gpk.Float64 && width > pieceTerms }

// piecesWorkspace returns the memory for a product of r by c in pieces: their sum, the next
// piece, and the conjugate of its columns.
func piecesWorkspace(r, c int, real bool) int64 {
	tile := saturated(8*int64(r), (int64(c)+31)/32*32)
	if real {
		return tile
	}
	return saturated(4, tile) + saturated(16*pieceTerms, int64(c))
}

// pieces computes p as a sum of products over parts of k. p.D receives the squared moduli;
// a real product is not squared unless p requires it.
func (g *cudaGram) pieces(s *device.Stream, p matmul.Product) error {
	d, squared := p.D, p.AbsSquare
	p.AbsSquare = false
	width := p.A.Layout.Shape[1]
	aside := func() (device.View, func(), error) {
		dt := p.A.DType
		b, err := g.dev.Alloc(int64(d.Layout.Shape[0])*int64(d.Layout.Shape[1])*int64(dt.Size()), s)
		if err != nil {
			return device.View{}, nil, err
		}
		return device.View{Buffer: b, DType: dt, Layout: layout.Dense(d.Layout.Shape)}, b.Free, nil
	}
	sum := d
	if p.A.DType != d.DType {
		v, free, err := aside()
		if err != nil {
			return err
		}
		defer free()
		sum = v
	}
	part, free, err := aside()
	if err != nil {
		return err
	}
	defer free()
	a, b := p.A.Layout, p.B.Layout
	for k := 0; k < width; k += pieceTerms {
		n := min(pieceTerms, width-k)
		p.A.Layout = layout.Layout{Shape: []int{a.Shape[0], n}, Strides: a.Strides, Offset: a.Offset + k*a.Strides[1]}
		p.B.Layout = layout.Layout{Shape: []int{n, b.Shape[1]}, Strides: b.Strides, Offset: b.Offset + k*b.Strides[0]}
		p.D = part
		if k == 0 {
			p.D = sum
		}
		g.launches++
		if err := p.Run(s); err != nil {
			return err
		}
		if k > 0 {
			if err := ops.Apply2(s, expr.Add, sum, sum, part); err != nil {
				return err
			}
		}
	}
	switch {
	case !squared:
		return nil
	case sum.DType.IsComplex():
		return ops.Apply1(s, expr.AbsSquare, d, sum)
	}
	return ops.Apply2(s, expr.Mul, d, d, d)
}
