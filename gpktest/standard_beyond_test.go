package gpktest

import (
	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/fft"
)

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
