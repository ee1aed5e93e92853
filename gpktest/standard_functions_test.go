package gpktest

import (
	"slices"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/fft"
	"github.com/gpk-go/gpk/interop/dlpack"
	"github.com/gpk-go/gpk/linalg"
)

// standardElementwise are the element-wise functions.
var standardElementwise = map[string]standardCall{
	"acos":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Acos() },
	"acosh":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Acosh() },
	"asin":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Asin() },
	"asinh":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Asinh() },
	"atan":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Atan() },
	"atanh":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Atanh() },
	"cos":                 func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Cos() },
	"cosh":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Cosh() },
	"exp":                 func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Exp() },
	"expm1":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Expm1() },
	"log":                 func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Log() },
	"log1p":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Log1p() },
	"log2":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Log2() },
	"log10":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Log10() },
	"sin":                 func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Sin() },
	"sinh":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Sinh() },
	"tan":                 func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Tan() },
	"tanh":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Tanh() },
	"ceil":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Ceil() },
	"floor":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Floor() },
	"trunc":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Trunc() },
	"round":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Round() },
	"abs":                 func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Abs() },
	"bitwise_invert":      func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Not() },
	"conj":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Conj() },
	"imag":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Imag() },
	"real":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Real() },
	"isfinite":            func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.IsFinite() },
	"isinf":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.IsInf() },
	"isnan":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.IsNaN() },
	"logical_not":         func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Not() },
	"negative":            func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Neg() },
	"positive":            func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Clone() },
	"sign":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Sign() },
	"signbit":             func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.SignBit() },
	"square":              func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Square() },
	"sqrt":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Sqrt() },
	"reciprocal":          func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Reciprocal() },
	"add":                 func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Add(y) },
	"subtract":            func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Sub(y) },
	"multiply":            func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Mul(y) },
	"divide":              func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Div(y) },
	"atan2":               func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Atan2(y) },
	"hypot":               func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Hypot(y) },
	"bitwise_and":         func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.And(y) },
	"bitwise_or":          func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Or(y) },
	"bitwise_xor":         func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Xor(y) },
	"bitwise_left_shift":  func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Shl(y) },
	"bitwise_right_shift": func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Shr(y) },
	"copysign":            func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.CopySign(y) },
	"equal":               func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Eq(y) },
	"not_equal":           func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Ne(y) },
	"greater":             func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Gt(y) },
	"greater_equal":       func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Ge(y) },
	"less":                func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Lt(y) },
	"less_equal":          func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Le(y) },
	"floor_divide":        func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.FloorDivide(y) },
	"remainder":           func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Remainder(y) },
	"logical_and":         func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.And(y) },
	"logical_or":          func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Or(y) },
	"logical_xor":         func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Xor(y) },
	"maximum":             func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Maximum(y) },
	"minimum":             func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Minimum(y) },
	"nextafter":           func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.NextAfter(y) },
	"logaddexp":           func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.LogAddExp(y) },
	"pow":                 func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Pow(y) },
	"clip":                func(x, y, z *gpk.Array, _ *standardArguments) any { return x.Clamp(y, z) },
}

// standardArrays are the functions that make, move, search and reduce arrays.
var standardArrays = map[string]standardCall{
	"arange": func(_, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.ArangeStep(p.Dt.DType, p.Start, p.Stop, p.Step)
	},
	"asarray":    func(_, _, _ *gpk.Array, p *standardArguments) any { return gpk.FromSlice(p.Data, p.Shape...) },
	"empty":      func(_, _, _ *gpk.Array, p *standardArguments) any { return gpk.Zeros(p.Dt.DType, p.Shape...) },
	"zeros":      func(_, _, _ *gpk.Array, p *standardArguments) any { return gpk.Zeros(p.Dt.DType, p.Shape...) },
	"ones":       func(_, _, _ *gpk.Array, p *standardArguments) any { return gpk.Ones(p.Dt.DType, p.Shape...) },
	"empty_like": func(x, _, _ *gpk.Array, _ *standardArguments) any { return gpk.ZerosLike(x) },
	"zeros_like": func(x, _, _ *gpk.Array, _ *standardArguments) any { return gpk.ZerosLike(x) },
	"ones_like":  func(x, _, _ *gpk.Array, _ *standardArguments) any { return gpk.OnesLike(x) },
	"eye": func(_, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Eye(p.Dt.DType, p.L).Slice(0, p.I, p.I+p.N).Slice(1, p.J, p.J+p.M)
	},
	"from_dlpack": func(x, _, _ *gpk.Array, _ *standardArguments) any { return throughDLPack(x) },
	"full":        func(_, _, _ *gpk.Array, p *standardArguments) any { return gpk.Full(p.Dt.DType, p.Value, p.Shape...) },
	"full_like":   func(x, _, _ *gpk.Array, p *standardArguments) any { return gpk.FullLike(x, p.Value) },
	"linspace": func(_, _, _ *gpk.Array, p *standardArguments) any {
		return gpk.Linspace(p.Dt.DType, p.Start, p.Stop, p.N)
	},
	"meshgrid":       func(x, y, _ *gpk.Array, _ *standardArguments) any { return gpk.Meshgrid(x, y) },
	"meshgrid of ij": func(x, y, _ *gpk.Array, _ *standardArguments) any { return gpk.MeshgridIJ(x, y) },
	"tril":           func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Tril(p.K) },
	"triu":           func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Triu(p.K) },
	"astype":         func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Cast(p.Dt.DType) },
	"isdtype": func(_, _, _ *gpk.Array, p *standardArguments) any {
		return []bool{p.Dt.IsInteger(), p.Dt.IsFloat(), p.Dt.IsComplex(), p.Dt.DType == gpk.Bool}
	},
	"dtypes":                func(_, _, _ *gpk.Array, p *standardArguments) any { return allNamed(dtype.All[:], p.Names) },
	"devices":               func(_, _, _ *gpk.Array, p *standardArguments) any { return anyNamed(device.List(), p.Names) },
	"default_device":        func(_, _, _ *gpk.Array, p *standardArguments) any { return named(device.Default(), p.Names) },
	"take":                  func(x, y, _ *gpk.Array, p *standardArguments) any { return gpk.Take(x, y, p.Axis) },
	"take_along_axis":       func(x, y, _ *gpk.Array, p *standardArguments) any { return x.TakeAlongAxis(y, p.Axis) },
	"where":                 func(x, y, z *gpk.Array, _ *standardArguments) any { return gpk.Where(x, y, z) },
	"argmax":                func(x, _, _ *gpk.Array, p *standardArguments) any { return gpk.ArgMax(x, p.Axes...) },
	"argmin":                func(x, _, _ *gpk.Array, p *standardArguments) any { return gpk.ArgMin(x, p.Axes...) },
	"count_nonzero":         func(x, _, _ *gpk.Array, p *standardArguments) any { return x.CountNonzero(p.Axes...) },
	"nonzero":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Nonzero() },
	"searchsorted":          func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.SearchSorted(y, false) },
	"searchsorted of right": func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.SearchSorted(y, true) },
	"unique_all":            func(x, _, _ *gpk.Array, _ *standardArguments) any { return list(x.UniqueAll()) },
	"unique_counts":         func(x, _, _ *gpk.Array, _ *standardArguments) any { return someOf(list(x.UniqueAll()), 0, 3) },
	"unique_inverse":        func(x, _, _ *gpk.Array, _ *standardArguments) any { return someOf(list(x.UniqueAll()), 0, 2) },
	"unique_values":         func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Unique() },
	"sort":                  func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Sort(p.Axis, p.Flag) },
	"argsort":               func(x, _, _ *gpk.Array, p *standardArguments) any { return x.ArgSort(p.Axis, p.Flag) },
	"broadcast_arrays":      func(x, y, _ *gpk.Array, _ *standardArguments) any { return gpk.BroadcastArrays(x, y) },
	"broadcast_to":          func(x, _, _ *gpk.Array, p *standardArguments) any { return x.BroadcastTo(p.Shape...) },
	"concat":                func(x, y, _ *gpk.Array, p *standardArguments) any { return gpk.Concat(p.Axis, x, y) },
	"expand_dims":           func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Unsqueeze(p.Axis) },
	"flip":                  func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Flip(p.Axes...) },
	"moveaxis":              func(x, _, _ *gpk.Array, p *standardArguments) any { return x.MoveAxis(p.I, p.J) },
	"permute_dims":          func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Transpose(p.Axes...) },
	"repeat":                func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Repeat(p.N, p.Axis) },
	"reshape":               func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Reshape(p.Shape...) },
	"roll":                  func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Roll(p.K, p.Axes...) },
	"squeeze":               func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Squeeze(p.Axes...) },
	"stack":                 func(x, y, _ *gpk.Array, p *standardArguments) any { return gpk.Stack(p.Axis, x, y) },
	"tile":                  func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Tile(p.Shape...) },
	"unstack":               func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Unstack(p.Axis) },
	"sum":                   func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Sum(p.Axes...) },
	"prod":                  func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Prod(p.Axes...) },
	"mean":                  func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Mean(p.Axes...) },
	"var":                   func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Var(append(p.Axes, gpk.DDof(p.K))...) },
	"std":                   func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Std(append(p.Axes, gpk.DDof(p.K))...) },
	"max":                   func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Max(p.Axes...) },
	"min":                   func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Min(p.Axes...) },
	"all":                   func(x, _, _ *gpk.Array, p *standardArguments) any { return x.All(p.Axes...) },
	"any":                   func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Any(p.Axes...) },
	"cumulative_sum":        func(x, _, _ *gpk.Array, p *standardArguments) any { return x.CumSum(p.Axis) },
	"cumulative_prod":       func(x, _, _ *gpk.Array, p *standardArguments) any { return x.CumProd(p.Axis) },
	"diff":                  func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Diff(p.N, p.Axis) },
}

// someOf returns the results with the given numbers.
func someOf(as []*gpk.Array, which ...int) []*gpk.Array {
	out := make([]*gpk.Array, len(which))
	for i, k := range which {
		out[i] = as[k]
	}
	return out
}

// allNamed reports whether the names contain the names of all types that the standard has.
func allNamed(types []gpk.DType, names []string) bool {
	for _, dt := range types {
		if !dt.IsHalf() && !slices.Contains(names, dt.String()) {
			return false
		}
	}
	return len(types) > 0
}

// anyNamed reports whether the kind of a device is among the names.
func anyNamed(devices []device.Info, names []string) bool {
	return slices.ContainsFunc(devices, func(d device.Info) bool { return slices.Contains(names, d.Kind.String()) })
}

// named reports whether the kind of the device is among the names, or is not the CPU, the only device
// of NumPy.
func named(d *device.Device, names []string) bool {
	return d.Info().Kind != device.CPU || slices.Contains(names, d.Info().Kind.String())
}

// throughDLPack exports an array and imports it again. The tests of interop/dlpack exchange arrays with
// NumPy.
func throughDLPack(x *gpk.Array) *gpk.Array {
	p, err := dlpack.ToManaged(x)
	if err != nil {
		return x.Reshape(-2) // an array with an error
	}
	return dlpack.FromManaged(p)
}

// standardProducts are products, linear algebra and Fourier transforms.
var standardProducts = map[string]standardCall{
	"matmul":                   func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.MatMul(y, gpk.FullPrecision) },
	"matrix_transpose":         func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.T() },
	"tensordot":                func(x, y, _ *gpk.Array, p *standardArguments) any { return x.TensorDot(y, p.Axes, p.Other) },
	"vecdot":                   func(x, y, _ *gpk.Array, p *standardArguments) any { return x.VecDot(y, p.Axis) },
	"linalg.outer":             func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Outer(y) },
	"linalg.cross":             func(x, y, _ *gpk.Array, p *standardArguments) any { return x.Cross(y, p.Axis) },
	"linalg.diagonal":          func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Diagonal(p.K) },
	"linalg.trace":             func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Diagonal(p.K).Sum(-1) },
	"linalg.vector_norm":       func(x, _, _ *gpk.Array, p *standardArguments) any { return x.VectorNorm(float64(p.Q), p.Axes...) },
	"linalg.cholesky":          func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.Cholesky(x) },
	"linalg.cholesky of upper": func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.Cholesky(x, linalg.Upper) },
	"linalg.det":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.Det(x) },
	"linalg.eigvalsh":          func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.EigvalsH(x) },
	"linalg.inv":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.Inv(x) },
	"linalg.svdvals":           func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.SVDVals(x) },
	"linalg.slogdet":           func(x, _, _ *gpk.Array, _ *standardArguments) any { return list(linalg.SlogDet(x)) },
	"linalg.eigh":              func(x, _, _ *gpk.Array, _ *standardArguments) any { return ofEigh(linalg.Eigh(x)) },
	"linalg.svd":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return ofSVD(linalg.SVD(x)) },
	"linalg.qr":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return ofQR(linalg.QR(x)) },
	"linalg.pinv":              func(x, _, _ *gpk.Array, p *standardArguments) any { return linalg.Pinv(x, float64(p.Q)) },
	"linalg.matrix_rank":       func(x, _, _ *gpk.Array, p *standardArguments) any { return linalg.MatrixRank(x, float64(p.Q)) },
	"linalg.solve":             func(x, y, _ *gpk.Array, _ *standardArguments) any { return linalg.Solve(x, y) },
	"linalg.matrix_norm":       func(x, _, _ *gpk.Array, p *standardArguments) any { return linalg.MatrixNorm(x, float64(p.Q)) },
	"linalg.matrix_power":      func(x, _, _ *gpk.Array, p *standardArguments) any { return linalg.MatrixPower(x, p.N) },
	"fft.fft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.FFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.ifft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.IFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.irfft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.IRFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.hfft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.HFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.rfft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.RFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.ihfft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.IHFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.fftn":      func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.FFTN(x, fft.Norm(p.Mode)) },
	"fft.ifftn":     func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.IFFTN(x, fft.Norm(p.Mode)) },
	"fft.irfftn":    func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.IRFFTN(x, fft.Norm(p.Mode)) },
	"fft.rfftn":     func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.RFFTN(x, fft.Norm(p.Mode)) },
	"fft.fftfreq":   func(_, _, _ *gpk.Array, p *standardArguments) any { return fft.FFTFreq(p.Dt.DType, p.N, float64(p.Q)) },
	"fft.rfftfreq":  func(_, _, _ *gpk.Array, p *standardArguments) any { return fft.RFFTFreq(p.Dt.DType, p.N, float64(p.Q)) },
	"fft.fftshift":  func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.FFTShift(x, p.Axes...) },
	"fft.ifftshift": func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.IFFTShift(x, p.Axes...) },
}

// ofEigh returns the eigenvalues w and V diag(w) V^H, because the signs of eigenvectors are free.
func ofEigh(w, v *gpk.Array) []*gpk.Array {
	scaled := v.Mul(w.Cast(v.DType()).Unsqueeze(-2))
	return list(w, scaled.MatMul(v.Conj().T(), gpk.FullPrecision))
}

// ofSVD returns the singular values, and U diag(s) V^H.
func ofSVD(u, s, vh *gpk.Array) []*gpk.Array {
	return list(s, u.Mul(s.Cast(u.DType()).Unsqueeze(-2)).MatMul(vh, gpk.FullPrecision))
}

// ofQR returns |R|, and Q R.
func ofQR(q, r *gpk.Array) []*gpk.Array { return list(r.Abs(), q.MatMul(r, gpk.FullPrecision)) }

// standardBeyond are functions of NumPy that the standard lacks.
var standardBeyond = map[string]standardCall{
	"np.cbrt":             func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Cbrt() },
	"np.exp2":             func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Exp2() },
	"np.angle":            func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Angle() },
	"np.median":           func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Median(p.Axes...) },
	"np.quantile":         func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Quantile(float64(p.Q), p.Axes...) },
	"np.logaddexp.reduce": func(x, _, _ *gpk.Array, p *standardArguments) any { return x.LogSumExp(p.Axes...) },
	"np.linalg.norm":      func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Norm(p.Axes...) },
	"np.histogram": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return list(x.Histogram(p.N, -float64(p.Q), float64(p.Q)))
	},
	"np.bincount":       func(x, _, _ *gpk.Array, p *standardArguments) any { return x.BinCount(p.N) },
	"np.extract":        func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.MaskedSelect(y) },
	"np.compress":       func(x, y, _ *gpk.Array, p *standardArguments) any { return x.IndexSelect(y, p.Axis) },
	"np.s_":             func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Index(gpk.Range(p.I, p.J, p.K)) },
	"np.put_along_axis": func(x, y, z *gpk.Array, p *standardArguments) any { return x.PutAlongAxis(y, z, p.Axis) },
	"np.add.at":         func(x, y, z *gpk.Array, p *standardArguments) any { return x.ScatterAdd(y, z, p.Axis) },
	"np.pad":            func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Pad(p.Widths, p.Value) },
	"np.split":          func(x, _, _ *gpk.Array, p *standardArguments) any { return x.SplitAt(p.Axis, p.Axes...) },
	"np.swapaxes":       func(x, _, _ *gpk.Array, p *standardArguments) any { return x.SwapAxes(p.I, p.J) },
	"np.ravel":          func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.Flatten() },
	"np.diag":           func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Diag(p.K) },
	"np.lib.stride_tricks.sliding_window_view": func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Windows(p.N, p.Axis) },
	"np.partition": func(x, _, _ *gpk.Array, p *standardArguments) any { return list(x.TopK(p.K, p.Axis)) },
	"np.kron":      func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Kron(y) },
	"np.einsum":    func(x, y, _ *gpk.Array, _ *standardArguments) any { return gpk.Einsum("bij,bkj->bik", x, y) },
	"np.convolve":  func(x, y, _ *gpk.Array, p *standardArguments) any { return fft.Convolve(x, y, fft.Mode(p.Mode)) },
	"np.correlate": func(x, y, _ *gpk.Array, p *standardArguments) any { return fft.Correlate(x, y, fft.Mode(p.Mode)) },
}
