package gpktest

import (
	"math"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/linalg"
)

// standardRowNumbers are expressions as standardRows has, which compute numbers.
var standardRowNumbers = map[string]standardCall{
	"np.float_power": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return a.Cast(gpk.Float64).Pow(b.Cast(gpk.Float64))
	},
	"np.fmod":   func(a, b, _ *gpk.Array, _ *standardArguments) any { return a.Abs().Remainder(b.Abs()).CopySign(a) },
	"np.divmod": func(a, b, _ *gpk.Array, _ *standardArguments) any { return list(a.FloorDivide(b), a.Remainder(b)) },
	"np.modf": func(a, _, _ *gpk.Array, _ *standardArguments) any {
		return list(gpk.Where(a.IsInf(), 0, a.Sub(a.Trunc())).CopySign(a), a.Trunc())
	},
	"np.fmax": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return gpk.Where(a.IsNaN(), b, a).Maximum(gpk.Where(b.IsNaN(), a, b))
	},
	"np.fmin": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return gpk.Where(a.IsNaN(), b, a).Minimum(gpk.Where(b.IsNaN(), a, b))
	},
	"np.round of decimals": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Mul(100).Round().Div(100) },
	"np.spacing": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return a.Abs().NextAfter(gpk.Full(p.Dt.DType, math.Inf(1))).Sub(a.Abs()).CopySign(a.Add(0))
	},
	"np.heaviside": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return gpk.Where(a.Eq(0), b, a.Sign().Add(1).Div(2))
	},
	"np.nan_to_num": func(a, _, _ *gpk.Array, _ *standardArguments) any {
		return gpk.Where(a.IsNaN(), 0, a).Clamp(-math.MaxFloat64, math.MaxFloat64)
	},
	"np.ediff1d": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Flatten().Diff(1, 0) },
	"np.gradient": func(a, _, _ *gpk.Array, p *standardArguments) any {
		inner := a.Slice(0, 2, p.N).Sub(a.Slice(0, 0, p.N-2)).Div(2)
		return gpk.Concat(0, a.Slice(0, 0, 2).Diff(1, 0), inner, a.Slice(0, p.N-2, p.N).Diff(1, 0))
	},
	"np.trapezoid": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return a.Slice(-1, 1, p.N).Add(a.Slice(-1, 0, p.N-1)).Div(2).Sum(-1)
	},
	"np.trapezoid of x": func(a, x, _ *gpk.Array, p *standardArguments) any {
		return a.Slice(-1, 1, p.N).Add(a.Slice(-1, 0, p.N-1)).Div(2).Mul(x.Diff(1, -1)).Sum(-1)
	},
	"np.logaddexp2": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return a.Mul(math.Ln2).LogAddExp(b.Mul(math.Ln2)).Div(math.Ln2)
	},
	"np.deg2rad": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Mul(math.Pi / 180) },
	"np.rad2deg": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Mul(180 / math.Pi) },
	"np.sinc": func(a, _, _ *gpk.Array, _ *standardArguments) any {
		return gpk.Where(a.Eq(0), 1, a.Mul(math.Pi).Sin().Div(a.Mul(math.Pi)))
	},
	"np.sinh of complex": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Mul(1i).Sin().Mul(-1i) },
	"np.cosh of complex": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Mul(1i).Cos() },
	"np.tanh of complex": func(a, _, _ *gpk.Array, _ *standardArguments) any {
		return a.Mul(1i).Sin().Div(a.Mul(1i).Cos()).Mul(-1i)
	},
	"np.tan of complex":   func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Sin().Div(a.Cos()) },
	"np.log2 of complex":  func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Log().Div(math.Ln2) },
	"np.log10 of complex": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Log().Div(math.Ln10) },
	"np.isneginf":         func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Eq(math.Inf(-1)) },
	"np.isposinf":         func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Eq(math.Inf(1)) },
	"np.isreal":           func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Imag().Eq(0) },
	"np.iscomplex":        func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Imag().Ne(0) },
	"np.isclose": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return a.Eq(b).Or(a.Sub(b).Abs().Le(b.Abs().Mul(1e-5).Add(1e-8)).And(b.IsFinite()))
	},
	"np.isclose of equal_nan": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return a.Eq(b).Or(a.Sub(b).Abs().Le(b.Abs().Mul(1e-5).Add(1e-8)).And(b.IsFinite())).Or(a.IsNaN().And(b.IsNaN()))
	},
	"np.logical_and of numbers": func(a, b, _ *gpk.Array, _ *standardArguments) any { return a.Ne(0).And(b.Ne(0)) },
	"np.logical_not of numbers": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Eq(0) },
	"np.bitwise_and of out": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		a = a.Clone()
		return done(a, a.CopyFrom(a.And(b)))
	},
	"np.cumsum":  func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Flatten().CumSum(0) },
	"np.cumprod": func(a, _, _ *gpk.Array, _ *standardArguments) any { return a.Flatten().CumProd(0) },
	"np.hanning": func(_, _, _ *gpk.Array, p *standardArguments) any {
		n := p.N
		return gpk.Arange(p.Dt.DType, n).Mul(2 * math.Pi / float64(n-1)).Cos().Mul(-0.5).Add(0.5)
	},
	"np.array_equiv": func(a, b, _ *gpk.Array, _ *standardArguments) any { return a.Eq(b).All() },
	"np.average": func(a, w, _ *gpk.Array, p *standardArguments) any {
		return a.Mul(w).Sum(p.Axis).Div(w.Sum(p.Axis))
	},
	"np.ptp":     func(a, _, _ *gpk.Array, p *standardArguments) any { return a.Max(p.Axis).Sub(a.Min(p.Axis)) },
	"np.nansum":  func(a, _, _ *gpk.Array, p *standardArguments) any { return a.NaNSum(p.Axis) },
	"np.nanprod": func(a, _, _ *gpk.Array, p *standardArguments) any { return gpk.Where(a.IsNaN(), 1, a).Prod(p.Axis) },
	"np.nancumsum": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Where(a.IsNaN(), 0, a).CumSum(p.Axis)
	},
	"np.nancumprod": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Where(a.IsNaN(), 1, a).CumProd(p.Axis)
	},
	"np.nanmax": func(a, _, _ *gpk.Array, p *standardArguments) any { return a.NaNMax(p.Axis) },
	"np.nanmin": func(a, _, _ *gpk.Array, p *standardArguments) any { return a.NaNMin(p.Axis) },
	"np.nanargmax": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Where(a.IsNaN(), math.Inf(-1), a).ArgMax(p.Axis)
	},
	"np.nanargmin": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Where(a.IsNaN(), math.Inf(1), a).ArgMin(p.Axis)
	},
	"np.nanmean":   func(a, _, _ *gpk.Array, p *standardArguments) any { return a.NaNMean(p.Axis) },
	"np.nanvar":    func(a, _, _ *gpk.Array, p *standardArguments) any { return a.NaNVar(p.Axis, gpk.DDof(p.K)) },
	"np.nanstd":    func(a, _, _ *gpk.Array, p *standardArguments) any { return a.NaNStd(p.Axis, gpk.DDof(p.K)) },
	"np.nanmedian": func(a, _, _ *gpk.Array, p *standardArguments) any { return a.NaNMedian(p.Axis) },
	"np.nanquantile": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return a.NaNQuantile(float64(p.Q), p.Axis)
	},
	"np.histogram_bin_edges": func(_, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Linspace(gpk.Float64, p.Start, p.Stop, p.N+1)
	},
	"np.cov": func(a, _, _ *gpk.Array, p *standardArguments) any {
		c := a.Sub(a.Mean(1, gpk.KeepDims))
		return c.MatMul(c.Conj().T(), gpk.FullPrecision).Div(p.N - 1)
	},
	"np.corrcoef": func(a, _, _ *gpk.Array, _ *standardArguments) any {
		c := a.Sub(a.Mean(1, gpk.KeepDims))
		c = c.Div(c.Norm(1, gpk.KeepDims).Cast(c.DType()))
		return c.MatMul(c.Conj().T(), gpk.FullPrecision)
	},
	"np.vdot":  func(a, b, _ *gpk.Array, _ *standardArguments) any { return a.Conj().Mul(b).Sum() },
	"np.inner": func(a, b, _ *gpk.Array, _ *standardArguments) any { return a.TensorDot(b, []int{-1}, []int{-1}) },
	"np.matvec": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return a.MatMul(b.Unsqueeze(-1), gpk.FullPrecision).Squeeze(-1)
	},
	"np.vecmat": func(a, b, _ *gpk.Array, _ *standardArguments) any {
		return a.Conj().Unsqueeze(-2).MatMul(b, gpk.FullPrecision).Squeeze(-2)
	},
	"np.linalg.tensorinv": func(a, _, _ *gpk.Array, p *standardArguments) any {
		return linalg.Inv(a.Reshape(p.N, p.N)).Reshape(p.Shape...)
	},
	"np.linalg.tensorsolve": func(a, b, _ *gpk.Array, p *standardArguments) any {
		return linalg.Solve(a.Reshape(p.N, p.N), b.Flatten()).Reshape(p.Shape...)
	},
}
