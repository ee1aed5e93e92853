package main

import (
	"flag"
	"maps"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/fft"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/linalg"
)

type arrayList = []*gpk.Array

var namesDevice = flag.String("names.device", "cpu", "the device of BenchmarkNames")

func one(a *gpk.Array) arrayList { return arrayList{a} }

// BenchmarkNames measures operations by name on some million elements each, those called s_ on a thousand. peers/names.py
// prints NumPy's times of the same names: compare with -cpu 1, since most of NumPy runs on one thread. With -names.device
// cuda the calls run in a row on a GPU, beside those of CuPy.
func BenchmarkNames(b *testing.B) {
	if *namesDevice == "cpu" {
		devicetest.DefaultCPU(b)
	}
	dev, err := device.Open(*namesDevice)
	if err != nil {
		b.Fatal(err)
	}
	old := device.SetDefault(dev)
	b.Cleanup(func() { device.SetDefault(old) })
	for _, p := range []string{"fp32", "fp64"} {
		dt := mustPrecision(p).dtype
		inputs, calls := namedCalls(dt)
		if err := gpk.Eval(inputs...); err != nil {
			b.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			b.Run("op="+name+"/dtype="+p, func(b *testing.B) {
				for range 2 { // plans, tables and memory of the first calls
					if err := called(calls[name]); err != nil {
						b.Fatal(err)
					}
				}
				if err := dev.Synchronize(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				for range b.N {
					if err := called(calls[name]); err != nil {
						b.Fatal(err)
					}
				}
				if err := dev.Synchronize(b.Context()); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// called computes the results of a call and frees them.
func called(call func() arrayList) error {
	out := call()
	err := gpk.Eval(out...)
	for _, a := range out {
		a.Free()
	}
	return err
}

// namedCalls returns operands of a type, and calls that read them.
func namedCalls(dt gpk.DType) (inputs arrayList, calls map[string]func() arrayList) {
	r := gpk.NewRNG(1)
	n := 1 << 20
	x := r.Normal(dt, 0, 1, n)
	y := r.Normal(dt, 0, 1, n)
	m := x.Reshape(1024, 1024)
	m2 := y.Reshape(1024, 1024)
	pos := x.Abs().Add(0.1)
	small := r.Normal(dt, 0, 1, 1000)
	idx := r.Uniform(gpk.Float64, 0, float64(n), n).Floor().Cast(gpk.Int64)
	rows := r.Uniform(gpk.Float64, 0, 1024, 1024).Floor().Cast(gpk.Int64)
	ints := r.Uniform(gpk.Float64, 0, 1000, n).Floor().Cast(gpk.Int64)
	along := r.Uniform(gpk.Float64, 0, 1024, 1024, 1024).Floor().Cast(gpk.Int64)
	mask := x.Gt(0)
	unit := x.Tanh()
	t3 := x.Reshape(64, 128, 128)
	img := x.Reshape(16, 256, 256)
	sorted := x.Sort(0, false)
	b64 := r.Normal(dt, 0, 1, 256, 64, 64)
	s64 := b64.MatMul(b64.SwapAxes(1, 2)).Add(gpk.Eye(dt, 64).Mul(64))
	s256 := gpk.Eye(dt, 256).Mul(256).Add(r.Normal(dt, 0, 1, 256, 256))
	rgb := r.Normal(dt, 0, 1, 349525, 3)
	rgb2 := r.Normal(dt, 0, 1, 349525, 3)
	tall := r.Normal(dt, 0, 1, 100000, 10)
	inputs = arrayList{x, y, m, m2, pos, small, idx, rows, ints, along, mask, unit, sorted, b64, s64, s256, rgb, rgb2, tall}
	return inputs, map[string]func() arrayList{
		"add":          func() arrayList { return one(x.Add(y)) },
		"mul":          func() arrayList { return one(x.Mul(2)) },
		"div":          func() arrayList { return one(x.Div(y)) },
		"sqrt":         func() arrayList { return one(pos.Sqrt()) },
		"exp":          func() arrayList { return one(x.Exp()) },
		"log":          func() arrayList { return one(pos.Log()) },
		"log2":         func() arrayList { return one(pos.Log2()) },
		"log10":        func() arrayList { return one(pos.Log10()) },
		"log1p":        func() arrayList { return one(pos.Log1p()) },
		"expm1":        func() arrayList { return one(x.Expm1()) },
		"exp2":         func() arrayList { return one(x.Exp2()) },
		"sin":          func() arrayList { return one(x.Sin()) },
		"cos":          func() arrayList { return one(x.Cos()) },
		"tan":          func() arrayList { return one(x.Tan()) },
		"asin":         func() arrayList { return one(unit.Asin()) },
		"acos":         func() arrayList { return one(unit.Acos()) },
		"atan":         func() arrayList { return one(x.Atan()) },
		"atan2":        func() arrayList { return one(x.Atan2(y)) },
		"sinh":         func() arrayList { return one(x.Sinh()) },
		"cosh":         func() arrayList { return one(x.Cosh()) },
		"tanh":         func() arrayList { return one(x.Tanh()) },
		"asinh":        func() arrayList { return one(x.Asinh()) },
		"acosh":        func() arrayList { return one(pos.Add(1).Acosh()) },
		"atanh":        func() arrayList { return one(unit.Atanh()) },
		"hypot":        func() arrayList { return one(x.Hypot(y)) },
		"cbrt":         func() arrayList { return one(x.Cbrt()) },
		"pow":          func() arrayList { return one(pos.Pow(y)) },
		"pow3":         func() arrayList { return one(x.Pow(3)) },
		"square":       func() arrayList { return one(x.Square()) },
		"floor":        func() arrayList { return one(x.Floor()) },
		"round":        func() arrayList { return one(x.Round()) },
		"sign":         func() arrayList { return one(x.Sign()) },
		"abs":          func() arrayList { return one(x.Abs()) },
		"neg":          func() arrayList { return one(x.Neg()) },
		"floordiv":     func() arrayList { return one(x.FloorDivide(y)) },
		"rem":          func() arrayList { return one(x.Remainder(y)) },
		"copysign":     func() arrayList { return one(x.CopySign(y)) },
		"nextafter":    func() arrayList { return one(x.NextAfter(y)) },
		"logaddexp":    func() arrayList { return one(x.LogAddExp(y)) },
		"maximum":      func() arrayList { return one(x.Maximum(y)) },
		"clip":         func() arrayList { return one(x.Clamp(-1, 1)) },
		"gt":           func() arrayList { return one(x.Gt(y)) },
		"isnan":        func() arrayList { return one(x.IsNaN()) },
		"isfinite":     func() arrayList { return one(x.IsFinite()) },
		"where":        func() arrayList { return one(gpk.Where(mask, x, y)) },
		"where0":       func() arrayList { return one(gpk.Where(mask, x, 0)) },
		"cast_i32":     func() arrayList { return one(x.Cast(gpk.Int32)) },
		"cast_i64":     func() arrayList { return one(x.Cast(gpk.Int64)) },
		"cast_f16":     func() arrayList { return one(x.Cast(gpk.Float16)) },
		"cast_bool":    func() arrayList { return one(x.Cast(gpk.Bool)) },
		"bool_to":      func() arrayList { return one(mask.Cast(dt)) },
		"int_add":      func() arrayList { return one(ints.Add(ints)) },
		"int_floordiv": func() arrayList { return one(ints.FloorDivide(7)) },
		"int_rem":      func() arrayList { return one(ints.Remainder(7)) },
		"int_sum":      func() arrayList { return one(ints.Sum()) },
		"int_max":      func() arrayList { return one(ints.Max()) },
		"int_mul":      func() arrayList { return one(ints.Mul(ints)) },
		"int_and":      func() arrayList { return one(ints.And(ints)) },
		"sum":          func() arrayList { return one(x.Sum()) },
		"sum0":         func() arrayList { return one(m.Sum(0)) },
		"sum1":         func() arrayList { return one(m.Sum(1)) },
		"mean0":        func() arrayList { return one(m.Mean(0)) },
		"max":          func() arrayList { return one(x.Max()) },
		"max0":         func() arrayList { return one(m.Max(0)) },
		"max1":         func() arrayList { return one(m.Max(1)) },
		"prod":         func() arrayList { return one(x.Prod()) },
		"std":          func() arrayList { return one(x.Std()) },
		"var0":         func() arrayList { return one(m.Var(0)) },
		"var1":         func() arrayList { return one(m.Var(1)) },
		"argmax":       func() arrayList { return one(gpk.ArgMax(x)) },
		"argmax0":      func() arrayList { return one(m.ArgMax(0)) },
		"argmax1":      func() arrayList { return one(m.ArgMax(1)) },
		"any":          func() arrayList { return one(mask.Any()) },
		"all0":         func() arrayList { return one(mask.Reshape(1024, 1024).All(0)) },
		"count":        func() arrayList { return one(mask.CountNonzero()) },
		"countf":       func() arrayList { return one(x.CountNonzero()) },
		"cumsum":       func() arrayList { return one(x.CumSum(0)) },
		"cumsum0":      func() arrayList { return one(m.CumSum(0)) },
		"cumsum1":      func() arrayList { return one(m.CumSum(1)) },
		"cumprod":      func() arrayList { return one(x.CumProd(0)) },
		"diff":         func() arrayList { return one(x.Diff(1, 0)) },
		"diff0":        func() arrayList { return one(m.Diff(1, 0)) },
		"sum_mid":      func() arrayList { return one(t3.Sum(1)) },
		"sum_02":       func() arrayList { return one(t3.Sum(0, 2)) },
		"mean_last10":  func() arrayList { return one(tall.Mean(0)) },
		"sum_last10":   func() arrayList { return one(tall.Sum(1)) },
		"max_last10":   func() arrayList { return one(tall.Max(1)) },
		"norm1":        func() arrayList { return one(m.VectorNorm(2, 1)) },
		"sort":         func() arrayList { return one(x.Sort(0, false)) },
		"sort1":        func() arrayList { return one(m.Sort(1, false)) },
		"sort0":        func() arrayList { return one(m.Sort(0, false)) },
		"argsort":      func() arrayList { return one(x.ArgSort(0, false)) },
		"argsort1":     func() arrayList { return one(m.ArgSort(1, false)) },
		"topk": func() arrayList {
			v, i := x.TopK(10, 0)
			return arrayList{v, i}
		},
		"topk1": func() arrayList {
			v, i := m.TopK(10, 1)
			return arrayList{v, i}
		},
		"unique":   func() arrayList { return one(ints.Unique()) },
		"uniquef":  func() arrayList { return one(x.Unique()) },
		"median":   func() arrayList { return one(x.Median()) },
		"median1":  func() arrayList { return one(m.Median(1)) },
		"median0":  func() arrayList { return one(m.Median(0)) },
		"quantile": func() arrayList { return one(x.Quantile(0.9)) },
		"histogram": func() arrayList {
			c, e := x.Histogram(100, -4, 4)
			return arrayList{c, e}
		},
		"bincount":     func() arrayList { return one(ints.BinCount(1000)) },
		"searchsorted": func() arrayList { return one(sorted.SearchSorted(y, false)) },
		"sort_int":     func() arrayList { return one(ints.Sort(0, false)) },
		"argsort_int":  func() arrayList { return one(ints.ArgSort(0, false)) },
		"take":         func() arrayList { return one(x.Take(idx, 0)) },
		"take_rows":    func() arrayList { return one(m.Take(rows, 0)) },
		"take_cols":    func() arrayList { return one(m.Take(rows, 1)) },
		"along0":       func() arrayList { return one(m.TakeAlongAxis(along, 0)) },
		"along1":       func() arrayList { return one(m.TakeAlongAxis(along, 1)) },
		"mask":         func() arrayList { return one(x.MaskedSelect(mask)) },
		"nonzero":      func() arrayList { return mask.Nonzero() },
		"nonzero2":     func() arrayList { return mask.Reshape(1024, 1024).Nonzero() },
		"scatter_add":  func() arrayList { return one(gpk.Zeros(dt, 1000).ScatterAdd(ints, x, 0)) },
		"put_along":    func() arrayList { return one(m.PutAlongAxis(along, m2, 1)) },
		"copy":         func() arrayList { return one(x.Clone()) },
		"T":            func() arrayList { return one(m.T().Contiguous()) },
		"T3":           func() arrayList { return one(t3.Transpose(2, 0, 1).Contiguous()) },
		"T3b":          func() arrayList { return one(t3.Transpose(1, 0, 2).Contiguous()) },
		"T3c":          func() arrayList { return one(t3.Transpose(0, 2, 1).Contiguous()) },
		"flip":         func() arrayList { return one(x.Flip(0).Contiguous()) },
		"flip1":        func() arrayList { return one(m.Flip(1).Contiguous()) },
		"flip0":        func() arrayList { return one(m.Flip(0).Contiguous()) },
		"roll":         func() arrayList { return one(x.Roll(1000)) },
		"roll1":        func() arrayList { return one(m.Roll(100, 1)) },
		"step2":        func() arrayList { return one(x.Slice(0, 0, n, 2).Contiguous()) },
		"col":          func() arrayList { return one(m.Slice(1, 0, 1024, 2).Contiguous()) },
		"concat":       func() arrayList { return one(gpk.Concat(0, x, y)) },
		"concat1":      func() arrayList { return one(gpk.Concat(1, m, m2)) },
		"stack":        func() arrayList { return one(gpk.Stack(0, x, y)) },
		"stack_last":   func() arrayList { return one(gpk.Stack(1, x, y)) },
		"tile":         func() arrayList { return one(m.Tile(2, 2)) },
		"repeat":       func() arrayList { return one(x.Repeat(3, 0)) },
		"repeat1":      func() arrayList { return one(m.Repeat(2, 1)) },
		"pad":          func() arrayList { return one(m.Pad([][2]int{{1, 1}, {1, 1}}, 0)) },
		"tril":         func() arrayList { return one(m.Tril()) },
		"diag":         func() arrayList { return one(m.Diagonal().Contiguous()) },
		"eye":          func() arrayList { return one(gpk.Eye(dt, 1024)) },
		"arange":       func() arrayList { return one(gpk.Arange(dt, n)) },
		"linspace":     func() arrayList { return one(gpk.Linspace(dt, 0, 1, n)) },
		"full":         func() arrayList { return one(gpk.Full(dt, 3, n)) },
		"zeros":        func() arrayList { return one(gpk.Zeros(dt, n)) },
		"onehot":       func() arrayList { return one(gpk.OneHot(rows, 1000, dt)) },
		"add_row":      func() arrayList { return one(m.Add(m2.At(0))) },
		"add_col":      func() arrayList { return one(m.Add(m2.Slice(1, 0, 1))) },
		"add_T":        func() arrayList { return one(m.Add(m2.T())) },
		"outer":        func() arrayList { return one(small.Outer(small)) },
		"sub_rows":     func() arrayList { return one(rgb.Sub(rgb2.At(0))) },
		"norm3":        func() arrayList { return one(rgb.VectorNorm(2, 1)) },
		"cross":        func() arrayList { return one(rgb.Cross(rgb2, 1)) },
		"dot":          func() arrayList { return one(x.MatMul(y)) },
		"vecdot":       func() arrayList { return one(m.VecDot(m2)) },
		"einsum_ij":    func() arrayList { return one(gpk.Einsum("ij,ij->i", m, m2)) },
		"einsum_trace": func() arrayList { return one(gpk.Einsum("ii", m)) },
		"kron": func() arrayList {
			return one(m.Slice(0, 0, 32).Slice(1, 0, 32).Kron(m.Slice(0, 0, 32).Slice(1, 0, 32)))
		},
		"pairdist": func() arrayList {
			p := rgb.Slice(0, 0, 1000)
			return one(p.Unsqueeze(1).Sub(p.Unsqueeze(0)).Square().Sum(2).Sqrt())
		},
		"stencil": func() arrayList {
			c := func(i, j int) *gpk.Array { return m.Slice(0, i, 1022+i).Slice(1, j, 1022+j) }
			return one(c(0, 1).Add(c(2, 1)).Add(c(1, 0)).Add(c(1, 2)).Mul(0.25))
		},
		"softmax":     func() arrayList { return one(m.Softmax(1)) },
		"standardize": func() arrayList { return one(m.Sub(m.Mean(0)).Div(m.Std(0))) },
		"logsumexp":   func() arrayList { return one(m.LogSumExp(1)) },
		"poly":        func() arrayList { return one(x.Mul(x).Mul(3).Add(x.Mul(2)).Add(1)) },
		"matmul512": func() arrayList {
			a := m.Slice(0, 0, 512).Slice(1, 0, 512)
			return one(a.MatMul(a))
		},
		"matmul_tall": func() arrayList { return one(tall.T().MatMul(tall)) },
		"matmul_b64":  func() arrayList { return one(b64.MatMul(b64)) },
		"matvec":      func() arrayList { return one(m.MatMul(m2.At(0))) },
		"vecmat":      func() arrayList { return one(m2.At(0).MatMul(m)) },
		"matmul_small": func() arrayList {
			a := m.Slice(0, 0, 64).Slice(1, 0, 64)
			return one(a.MatMul(a))
		},
		"chol_b64":  func() arrayList { return one(linalg.Cholesky(s64)) },
		"solve256":  func() arrayList { return one(linalg.Solve(s256, m.Slice(0, 0, 256).Slice(1, 0, 8))) },
		"inv256":    func() arrayList { return one(linalg.Inv(s256)) },
		"det_b64":   func() arrayList { return one(linalg.Det(s64)) },
		"inv_b64":   func() arrayList { return one(linalg.Inv(s64)) },
		"solve_b64": func() arrayList { return one(linalg.Solve(s64, b64.Slice(2, 0, 1))) },
		"eigh_b64": func() arrayList {
			v, z := linalg.Eigh(s64)
			return arrayList{v, z}
		},
		"svd_b64": func() arrayList {
			u, s, v := linalg.SVD(s64)
			return arrayList{u, s, v}
		},
		"qr_b64": func() arrayList {
			q, r := linalg.QR(b64)
			return arrayList{q, r}
		},
		"eigh256": func() arrayList {
			v, z := linalg.Eigh(s256)
			return arrayList{v, z}
		},
		"svd256": func() arrayList {
			u, s, v := linalg.SVD(s256)
			return arrayList{u, s, v}
		},
		"svdvals256": func() arrayList { return one(linalg.SVDVals(s256)) },
		"lstsq": func() arrayList {
			a, _, _, _ := linalg.LstSq(tall, tall.Slice(1, 0, 1))
			return one(a)
		},
		"pinv":        func() arrayList { return one(linalg.Pinv(tall)) },
		"fft":         func() arrayList { return one(fft.FFT(x)) },
		"rfft":        func() arrayList { return one(fft.RFFT(x)) },
		"fft1024":     func() arrayList { return one(fft.FFT(m)) },
		"rfft1024":    func() arrayList { return one(fft.RFFT(m)) },
		"fft2":        func() arrayList { return one(fft.FFT2(m)) },
		"fft_img":     func() arrayList { return one(fft.RFFT2(img)) },
		"fft1000":     func() arrayList { return one(fft.FFT(m.Slice(1, 0, 1000))) },
		"fftaxis0":    func() arrayList { return one(fft.FFT(m, fft.Axes(0))) },
		"convolve":    func() arrayList { return one(fft.Convolve(x, small, fft.Full)) },
		"normal":      func() arrayList { return one(r.Normal(dt, 0, 1, n)) },
		"uniform":     func() arrayList { return one(r.Uniform(dt, 0, 1, n)) },
		"permutation": func() arrayList { return one(r.Permutation(n)) },
		"s_add":       func() arrayList { return one(small.Add(small)) },
		"s_exp":       func() arrayList { return one(small.Exp()) },
		"s_sum":       func() arrayList { return one(small.Sum()) },
		"s_sort":      func() arrayList { return one(small.Sort(0, false)) },
		"s_slice_add": func() arrayList { return one(small.Slice(0, 0, 999).Add(small.Slice(0, 1, 1000))) },
		"s_max":       func() arrayList { return one(small.Max()) },
		"s_cumsum":    func() arrayList { return one(small.CumSum(0)) },
		"s_argmax":    func() arrayList { return one(gpk.ArgMax(small)) },
		"s_where":     func() arrayList { return one(gpk.Where(small.Gt(0), small, 0)) },
		"s_take":      func() arrayList { return one(small.Take(rows.Slice(0, 0, 100).Remainder(1000), 0)) },
	}
}
