package gpktest

import (
	"math"
	"slices"

	gpk "github.com/gpk-go/gpk"
)

// standardRows are the expressions that docs/numpy.md gives for functions of NumPy that gpk has under
// no one name. internal/gen checks that the document's expressions stand here.
var standardRows = map[string]standardCall{
	"np.logspace": func(_, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Pow(10, gpk.Linspace(p.Dt.DType, p.Start, p.Stop, p.N))
	},
	"np.geomspace": func(_, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Linspace(p.Dt.DType, math.Log(p.Start), math.Log(p.Stop), p.N).Exp()
	},
	"np.tri": func(_, _, _ *gpk.Array, p *standardArguments) any { return gpk.Ones(p.Dt.DType, p.N, p.M).Tril(p.K) },
	"np.vander": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return a.Unsqueeze(1).Pow(gpk.Arange(p.Dt.DType, p.N).Flip())
	},
	"np.copyto": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		dst := a.Clone()
		return done(dst, dst.CopyFrom(b))
	},
	"np.copyto of where": func(a, b, mask *gpk.Array, _ *standardArguments) any {
		dst := a.Clone()
		return done(dst, dst.CopyFrom(gpk.Where(mask, b, dst)))
	},
	"np.rollaxis": func(a, _, _ *gpk.Array, p *standardArguments) any {
		if p.J > p.I {
			return a.MoveAxis(p.I, p.J-1)
		}
		return a.MoveAxis(p.I, p.J)
	},
	"np.hstack":                  func(a, b, _ *gpk.Array, _ *standardArguments) any { return gpk.Concat(1, a, b) },
	"np.hstack of vectors":       func(a, b, _ *gpk.Array, _ *standardArguments) any { return gpk.Concat(0, a, b) },
	"np.column_stack of vectors": func(a, b, _ *gpk.Array, _ *standardArguments) any { return gpk.Stack(1, a, b) },
	"np.vstack":                  func(a, b, _ *gpk.Array, _ *standardArguments) any { return gpk.Concat(0, a, b) },
	"np.vstack of vectors":       func(a, b, _ *gpk.Array, _ *standardArguments) any { return gpk.Stack(0, a, b) },
	"np.dstack":                  func(a, b, _ *gpk.Array, _ *standardArguments) any { return gpk.Concat(2, a, b) },
	"np.dstack of matrices":      func(a, b, _ *gpk.Array, _ *standardArguments) any { return gpk.Stack(2, a, b) },
	"np.dstack of vectors":       func(a, b, _ *gpk.Array, _ *standardArguments) any { return gpk.Stack(1, a, b).Unsqueeze(0) },
	"np.block": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return gpk.Concat(-2, gpk.Concat(-1, a, b), gpk.Concat(-1, b, a))
	},
	"np.append": func(a, b, _ *gpk.Array, _ *standardArguments) any { return gpk.Concat(0, a.Flatten(), b.Flatten()) },
	"np.insert": func(a, b, _ *gpk.Array, p *standardArguments) any {
		return gpk.Concat(p.Axis, a.Slice(p.Axis, 0, p.I), b, a.Slice(p.Axis, p.I, p.N))
	},
	"np.delete": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Concat(p.Axis, a.Slice(p.Axis, 0, p.I), a.Slice(p.Axis, p.I+1, p.N))
	},
	"np.resize": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return a.Flatten().Tile(p.K).Slice(0, 0, p.N).Reshape(p.Shape...)
	},
	"np.hsplit":                 func(a, _, _ *gpk.Array, p *standardArguments) any { return a.SplitAt(1, p.I, p.J) },
	"np.vsplit":                 func(a, _, _ *gpk.Array, p *standardArguments) any { return a.SplitAt(0, p.I, p.J) },
	"np.dsplit":                 func(a, _, _ *gpk.Array, p *standardArguments) any { return a.SplitAt(2, p.I, p.J) },
	"np.repeat of counts":       func(a, counts, _ *gpk.Array, p *standardArguments) any { return a.RepeatEach(counts, p.Axis) },
	"np.roll of axes":           func(a, _, _ *gpk.Array, p *standardArguments) any { return a.RollAxes([]int{p.I, p.J}, []int{0, 1}) },
	"np.fliplr":                 func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Flip(1) },
	"np.flipud":                 func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Flip(0) },
	"np.rot90":                  func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.SwapAxes(0, 1).Flip(0) },
	"np.rot90 of 2":             func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Flip(0, 1) },
	"np.rot90 of 3":             func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.SwapAxes(0, 1).Flip(1) },
	"np.pad of edge":            func(a, _, _ *gpk.Array, p *standardArguments) any { return a.Pad(p.Widths, gpk.PadEdge) },
	"np.pad of reflect":         func(a, _, _ *gpk.Array, p *standardArguments) any { return a.Pad(p.Widths, gpk.PadReflect) },
	"np.pad of symmetric":       func(a, _, _ *gpk.Array, p *standardArguments) any { return a.Pad(p.Widths, gpk.PadSymmetric) },
	"np.pad of wrap":            func(a, _, _ *gpk.Array, p *standardArguments) any { return a.Pad(p.Widths, gpk.PadWrap) },
	"np.atleast_1d":             func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Reshape(1) },
	"np.atleast_2d":             func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Unsqueeze(0) },
	"np.atleast_3d of vectors":  func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Reshape(1, -1, 1) },
	"np.atleast_3d of matrices": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Unsqueeze(2) },
	"np.diagonal": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return a.MoveAxis(0, -1).MoveAxis(0, -1).Diagonal(p.K)
	},
	"np.trace": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return a.MoveAxis(0, -1).MoveAxis(0, -1).Diagonal(p.K).Sum(-1)
	},
	"np.trace of matrices": func(a, _, _ *gpk.Array, p *standardArguments) any { return a.Diagonal(p.K).Sum(-1) },
	"np.place": func(a, mask, values *gpk.Array, _ *standardArguments) any {
		dst := a.Clone()
		return done(dst, dst.MaskedSet(mask, values))
	},
	"np.put": func(a, indices, values *gpk.Array, _ *standardArguments) any {
		dst := a.Clone()
		return done(dst, dst.CopyFrom(dst.Flatten().PutAlongAxis(indices, values, 0).Reshape(dst.Shape()...)))
	},
	"np.select": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return gpk.Where(a.Gt(0), a, gpk.Where(b.Gt(0), b, 7))
	},
	"np.choose":            func(i, a, b *gpk.Array, _ *standardArguments) any { return gpk.Where(i.Eq(0), a, b) },
	"np.argwhere":          func(a, _, _ *gpk.Array, _ *standardArguments) any { return gpk.Stack(1, a.Nonzero()...) },
	"np.flatnonzero":       func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Flatten().Nonzero()[0] },
	"np.digitize":          func(a, bins, _ *gpk.Array, _ *standardArguments) any { return bins.SearchSorted(a, true) },
	"np.digitize of right": func(a, bins, _ *gpk.Array, _ *standardArguments) any { return bins.SearchSorted(a, false) },
	"np.ix_":               func(a, i, j *gpk.Array, _ *standardArguments) any { return a.Take(i, 0).Take(j, 1) },
	"np.indices": func(_, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Stack(0, gpk.MeshgridIJ(gpk.Arange(gpk.Int64, p.M), gpk.Arange(gpk.Int64, p.N))...)
	},
	"np.fill_diagonal": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		dst := a.Clone()
		return done(dst, dst.Diagonal().CopyFrom(b))
	},
	"np.isin":            func(a, b, _ *gpk.Array, _ *standardArguments) any { return a.IsIn(b) },
	"np.isin of complex": func(a, b, _ *gpk.Array, _ *standardArguments) any { return a.Unsqueeze(-1).Eq(b.Flatten()).Any(-1) },
	"np.union1d": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return gpk.Concat(0, a.Flatten(), b.Flatten()).Unique()
	},
	"np.intersect1d": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		u := a.Unique()
		return u.MaskedSelect(u.IsIn(b))
	},
	"np.setdiff1d": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		u := a.Unique()
		return u.MaskedSelect(u.IsIn(b).Not())
	},
	"np.unravel_index": func(i, _, _ *gpk.Array, p *standardArguments) any {
		return list(i.FloorDivide(p.N), i.Remainder(p.N))
	},
	"np.ravel_multi_index": func(i, j, _ *gpk.Array, p *standardArguments) any { return i.Mul(p.N).Add(j) },
	"np.unwrap": func(a, _, _ *gpk.Array, p *standardArguments) any {
		turns := a.Diff(1, p.Axis).Div(2 * math.Pi).Round().CumSum(p.Axis)
		return gpk.Concat(p.Axis, a.Slice(p.Axis, 0, 1), a.Slice(p.Axis, 1, p.N).Sub(turns.Mul(2*math.Pi)))
	},
	"np.maximum.accumulate": func(a, _, _ *gpk.Array, p *standardArguments) any { return a.CumMax(p.Axis) },
	"np.minimum.accumulate": func(a, _, _ *gpk.Array, p *standardArguments) any { return a.CumMin(p.Axis) },
	"np.maximum.at": func(a, i, _ *gpk.Array, p *standardArguments) any {
		return gpk.Full(a.DType(), math.Inf(-1), p.N).ScatterMax(i, a, 0)
	},
	"np.add.reduceat": func(a, starts, _ *gpk.Array, p *standardArguments) any {
		i := starts.SearchSorted(gpk.Arange(gpk.Int64, p.N), true).Sub(1)
		return gpk.Zeros(a.DType(), starts.Size()).ScatterAdd(i, a, 0)
	},
	"np.interp": func(x, xp, fp *gpk.Array, _ *standardArguments) any { return x.Interp(xp, fp) },
	"np.lexsort": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		i := a.ArgSort(0, false)
		return i.Take(b.Take(i, 0).ArgSort(0, false), 0)
	},
	"np.sort_complex": func(a, _, _ *gpk.Array, _ *standardArguments) any {
		i := a.Imag().ArgSort(0, false)
		return a.Take(i.Take(a.Real().Take(i, 0).ArgSort(0, false), 0), 0)
	},
	"np.array_equal": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		if !slices.Equal(a.Shape(), b.Shape()) {
			return false
		}
		return a.Eq(b).All()
	},
}

// done returns an array that was written, or its error.
func done(dst *gpk.Array, err error) *gpk.Array {
	if err != nil {
		panic(err)
	}
	return dst
}
