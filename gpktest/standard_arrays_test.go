package gpktest

import (
	"slices"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/interop/dlpack"
)

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
