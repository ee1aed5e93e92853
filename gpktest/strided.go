package gpktest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// testStrided computes with large operands that are column-major, reversed, strided or
// broadcast. Kernels that read strides make no copy of them first, and return the same bits as
// for dense operands.
func testStrided(t *testing.T, s *suite) {
	rows, columns := 1024, 512
	if quick() {
		rows, columns = 200, 96
	}
	x, y := s.random(gpk.Float32, columns, rows).array(), s.random(gpk.Float32, 1, columns).array()
	c, ix := s.random(gpk.Bool, rows, 1).array(), s.indicesInto(gpk.Int32, rows, rows).array()
	wide := s.random(gpk.Float32, rows, 3*columns).array()
	if err := gpk.Eval(x, y, c, ix, wide); err != nil {
		t.Fatal(err)
	}
	views := map[string]*gpk.Array{
		"by columns": x.T(), "backwards": x.Flip().T(), "with steps": wide.Slice(1, 3*columns-1, -3*columns-1, -3), "broadcast": y.BroadcastTo(rows, columns),
	}
	for what, f := range map[string]func(v *gpk.Array) *gpk.Array{
		"Exp":       gpk.Exp,
		"Add":       func(v *gpk.Array) *gpk.Array { return v.Add(y) },
		"Mul":       func(v *gpk.Array) *gpk.Array { return v.Mul(v.Flip(0)) },
		"Maximum":   func(v *gpk.Array) *gpk.Array { return v.Maximum(0.5) },
		"Where":     func(v *gpk.Array) *gpk.Array { return gpk.Where(c, v, y) },
		"Clamp":     func(v *gpk.Array) *gpk.Array { return v.Clamp(y, 2) },
		"Cast":      func(v *gpk.Array) *gpk.Array { return v.Cast(gpk.BFloat16) },
		"Clone":     gpk.Clone,
		"a chain":   func(v *gpk.Array) *gpk.Array { return v.Sub(y).Square().Mul(0.5).Cast(gpk.Float64) },
		"Sum":       func(v *gpk.Array) *gpk.Array { return v.Sum() },
		"rows":      func(v *gpk.Array) *gpk.Array { return v.Sum(1) },
		"columns":   func(v *gpk.Array) *gpk.Array { return v.Mean(0) },
		"Max":       func(v *gpk.Array) *gpk.Array { return v.Max(1) },
		"Var":       func(v *gpk.Array) *gpk.Array { return v.Var(1) },
		"ArgMax":    func(v *gpk.Array) *gpk.Array { return v.ArgMax(1) },
		"Softmax":   func(v *gpk.Array) *gpk.Array { return v.Softmax(1) },
		"LayerNorm": func(v *gpk.Array) *gpk.Array { return gpk.LayerNorm(v, nil, nil, 1e-5) },
		"CumSum":    func(v *gpk.Array) *gpk.Array { return v.CumSum(1) },
		"Sort":      func(v *gpk.Array) *gpk.Array { return v.Sort(1, true) },
		"Take":      func(v *gpk.Array) *gpk.Array { return gpk.Take(v, ix, 0) },
		"Concat":    func(v *gpk.Array) *gpk.Array { return gpk.Concat(0, v, y, v) },
		"Stack":     func(v *gpk.Array) *gpk.Array { return gpk.Stack(1, v, v) },
		"Repeat":    func(v *gpk.Array) *gpk.Array { return v.Repeat(2, 0) },
		"Pad":       func(v *gpk.Array) *gpk.Array { return v.Pad([][2]int{{1, 0}, {0, 1}}, 0) },
	} {
		for how, v := range views {
			plain := v.Clone()
			want := evaluate(t, f(plain))
			plain.Free()
			evaluate(t, f(v)) // has what it needs compiled
			if err := devicetest.AwaitCompiled(s.dev, context.Background()); err != nil {
				t.Fatal(err)
			}
			a := f(v)
			dst := poison(a.DType(), a.Shape()...)
			if err := errors.Join(a.Err(), gpk.Eval(dst)); err != nil {
				t.Fatalf("%s, %s: %v", what, how, err)
			}
			w := devicetest.Watch(s.dev)
			err := gpk.Into(dst, a)
			aside := w.Stop()
			if err != nil {
				t.Fatalf("%s, %s: %v", what, how, err)
			}
			// On a GPU, Sort writes to a temporary, and an array that Take overwrites gets new
			// memory, because its indices are checked when the kernel runs.
			elsewhere := what == "Sort" || what == "Take" && s.dev.Kind() == device.CUDA
			if aside >= int64(v.NBytes())/2 && !elsewhere {
				t.Errorf("%s of an operand that lies %s: %d bytes aside, the operand has %d", what, how, aside, v.NBytes())
			}
			got := read(t, dst)
			if k := differ(got, want); k >= 0 {
				t.Errorf("%s of an operand that lies %s: element %d is %v, of a dense one %v", what, how, k, got.at(k), want.at(k))
			}
			dst.Free()
		}
	}
}

// stridedLayout is a layout of an array of shape [lines, n]. view returns such an array, as a
// view of an array that make makes.
type stridedLayout struct {
	name string
	view func(lines, n int, make func(shape ...int) *gpk.Array) *gpk.Array
}

var layouts = []stridedLayout{
	{"by columns", func(lines, n int, make func(shape ...int) *gpk.Array) *gpk.Array { return make(n, lines).T() }},
	{"by columns with steps", func(lines, n int, make func(shape ...int) *gpk.Array) *gpk.Array {
		return make(n, 2*lines+3).Slice(1, 1, 1+2*lines, 2).T()
	}},
	{"off by one", func(lines, n int, make func(shape ...int) *gpk.Array) *gpk.Array {
		return make(lines, n+1).Slice(1, 1, n+1)
	}},
	{"in wider rows", func(lines, n int, make func(shape ...int) *gpk.Array) *gpk.Array {
		return make(lines, n+16).Slice(1, 0, n)
	}},
	{"backwards", func(lines, n int, make func(shape ...int) *gpk.Array) *gpk.Array { return make(lines, n).Flip() }},
	{"backwards with steps", func(lines, n int, make func(shape ...int) *gpk.Array) *gpk.Array {
		return make(lines, 3*n).Slice(1, 3*n-1, -3*n-1, -3)
	}},
	{"as one row for all", func(lines, n int, make func(shape ...int) *gpk.Array) *gpk.Array {
		return make(1, n).BroadcastTo(lines, n)
	}},
	{"as one column for all", func(lines, n int, make func(shape ...int) *gpk.Array) *gpk.Array {
		return make(lines, 1).BroadcastTo(lines, n)
	}},
}

// testStridedOrder reduces operands of many layouts, and dense copies of them, along their
// last and their first axis. The order of the terms depends only on shape and type, so the
// bits are the same.
func testStridedOrder(t *testing.T, s *suite) {
	lengths := []int{1, 2, 31, 32, 33, 64, 255, 256, 257, 1000, 1024, 4095, 4096, 4097, 8200, 16384, 65536, 65539, 131072}
	if quick() {
		lengths = []int{1, 31, 32, 33, 256, 1000, 4096, 4097}
	}
	type operation struct {
		name string
		near bool // operands near 1, for a product
		ties bool // operands with few distinct values
		real bool // not of complex numbers
		of   func(v, gamma, beta *gpk.Array) *gpk.Array
	}
	var along, folds []operation
	for axis, where := range []string{"columns", "rows"} { // what meets
		line := func(name string, real bool, f func(v *gpk.Array) *gpk.Array) {
			along = append(along, operation{name: name + " of " + where, real: real, of: func(v, _, _ *gpk.Array) *gpk.Array { return f(v) }})
		}
		line("Softmax", true, func(v *gpk.Array) *gpk.Array { return v.Softmax(axis) })
		line("LogSoftmax", true, func(v *gpk.Array) *gpk.Array { return v.LogSoftmax(axis) })
		line("CumSum", false, func(v *gpk.Array) *gpk.Array { return v.CumSum(axis) })
		fold := func(name string, near, ties bool, f func(v *gpk.Array) *gpk.Array) {
			folds = append(folds, operation{name: name + " of " + where, near: near, ties: ties, real: ties, of: func(v, _, _ *gpk.Array) *gpk.Array { return f(v) }})
		}
		fold("Sum", false, false, func(v *gpk.Array) *gpk.Array { return v.Sum(axis) })
		fold("Mean", false, false, func(v *gpk.Array) *gpk.Array { return v.Mean(axis) })
		fold("Var", false, false, func(v *gpk.Array) *gpk.Array { return v.Var(axis) })
		fold("Prod", true, false, func(v *gpk.Array) *gpk.Array { return v.Prod(axis) })
		fold("Min", false, true, func(v *gpk.Array) *gpk.Array { return v.Min(axis) })
		fold("ArgMax", false, true, func(v *gpk.Array) *gpk.Array { return v.ArgMax(axis) })
	}
	along = append(
		along,
		operation{name: "LayerNorm", real: true, of: func(v, gamma, beta *gpk.Array) *gpk.Array { return gpk.LayerNorm(v, gamma, beta, 1e-5) }},
		operation{name: "RMSNorm", real: true, of: func(v, _, gamma *gpk.Array) *gpk.Array { return gpk.RMSNorm(v, gamma, 1e-5) }},
	)
	folds = append(folds, operation{name: "Var of all", of: func(v, _, _ *gpk.Array) *gpk.Array { return v.Var() }})
	chains := []operation{
		{name: "a chain and Softmax", real: true, of: func(v, _, _ *gpk.Array) *gpk.Array { return v.Mul(0.5).Softmax(1) }},
		{name: "a chain and LayerNorm", real: true, of: func(v, gamma, beta *gpk.Array) *gpk.Array { return gpk.LayerNorm(v.Add(v), gamma, beta, 1e-5) }},
		{name: "a chain and Var of rows", of: func(v, _, _ *gpk.Array) *gpk.Array { return v.Mul(0.5).Var(1) }},
		{name: "a chain and Var of columns", of: func(v, _, _ *gpk.Array) *gpk.Array { return v.Mul(0.5).Var(0) }},
		{name: "a chain and Prod of columns", near: true, real: true, of: func(v, _, _ *gpk.Array) *gpk.Array { return v.Abs().Prod(0) }},
	}
	try := func(dt gpk.DType, n int, l stridedLayout, run func(check func(o *operation, dst *gpk.Array), lines int)) {
		lines := 37
		if n > 4097 {
			lines = 3
		} else if n > 257 {
			lines = 9
		}
		var made []*gpk.Array
		keep := func(a *gpk.Array) *gpk.Array {
			made = append(made, a)
			return a
		}
		v := l.view(lines, n, func(shape ...int) *gpk.Array { return keep(s.random(dt, shape...).array()) })
		near := l.view(lines, n, func(shape ...int) *gpk.Array {
			return keep(changed(s.random(dt, shape...), func(v complex128) complex128 { return 1 + v/64 }).array())
		})
		ties := v
		if !dt.IsComplex() {
			ties = l.view(lines, n, func(shape ...int) *gpk.Array {
				return keep(changed(s.random(dt, shape...), func(v complex128) complex128 { return complex(math.Round(2*real(v)), 0) }).array())
			})
		}
		weights := [2]*gpk.Array{keep(s.random(dt, n).array()), keep(s.random(dt, n+1).array())}
		weights[1] = weights[1].Slice(0, 1, n+1) // where no vectors may be read
		if err := gpk.Eval(made...); err != nil {
			t.Fatal(err)
		}
		check := func(o *operation, dst *gpk.Array) {
			if o.real && dt.IsComplex() {
				return
			}
			x := v
			if o.near {
				x = near
			} else if o.ties {
				x = ties
			}
			plain, gamma, beta := x.Clone(), weights[0].Clone(), weights[1].Clone()
			want := evaluate(t, o.of(plain, gamma, beta))
			a := o.of(x, weights[0], weights[1])
			if dst == nil {
				dst = poison(a.DType(), a.Shape()...)
			}
			if err := errors.Join(a.Err(), gpk.Into(dst, a)); err != nil {
				t.Fatalf("%s of %v [%d, %d], %s: %v", o.name, dt, lines, n, l.name, err)
			}
			got := read(t, dst)
			if k := differ(got, want); k >= 0 {
				t.Errorf("%s of %v [%d, %d] that lie %s: element %d is %v, of a dense array %v", o.name, dt, lines, n, l.name, k, got.at(k), want.at(k))
			}
			for _, b := range []*gpk.Array{plain, gamma, beta, dst} {
				b.Free()
			}
		}
		run(check, lines)
		for _, b := range made {
			b.Free()
		}
	}
	// Compiled kernels come first, one for this layout and one for a dense array: the
	// compiler's queue is still empty.
	for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16} {
		try(dt, []int{33, 256}[s.rng.IntN(2)], layouts[s.rng.IntN(len(layouts))], func(check func(o *operation, dst *gpk.Array), _ int) {
			for range 2 {
				for i := range chains {
					check(&chains[i], nil)
				}
				if err := devicetest.AwaitCompiled(s.dev, context.Background()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16, gpk.Complex64, gpk.Complex128} {
		for _, n := range lengths {
			if dt.IsComplex() && n > 4097 {
				continue
			}
			for _, l := range layouts {
				if n > 257 && s.rng.IntN(3) > 0 {
					continue // two thirds of the long ones
				}
				try(dt, n, l, func(check func(o *operation, dst *gpk.Array), lines int) {
					for i := range folds {
						check(&folds[i], nil)
					}
					for i := range along {
						check(&along[i], nil)
						if !dt.IsComplex() && s.rng.IntN(3) == 0 { // into memory that is not dense either
							check(&along[i], poison(dt, n, lines+1).Slice(1, 1, lines+1).T())
						}
					}
				})
			}
		}
	}
}

// changed returns f of each element.
func changed(x tensor, f func(complex128) complex128) tensor {
	for i, v := range x.values {
		x.values[i] = round(x.dt, f(v))
	}
	return x
}

// testStridedAxes reduces small arrays of three axes in any order, with negative and larger
// strides, over any of their axes.
func testStridedAxes(t *testing.T, s *suite) {
	operations := []struct {
		name string
		near bool
		of   func(v *gpk.Array, axes []int) *gpk.Array
	}{
		{"Sum", false, func(v *gpk.Array, axes []int) *gpk.Array { return v.Sum(axes...) }},
		{"Mean", false, func(v *gpk.Array, axes []int) *gpk.Array { return v.Mean(axes...) }},
		{"Var", false, func(v *gpk.Array, axes []int) *gpk.Array { return v.Var(axes...) }},
		{"Prod", true, func(v *gpk.Array, axes []int) *gpk.Array { return v.Prod(axes...) }},
		{"Max", false, func(v *gpk.Array, axes []int) *gpk.Array { return v.Max(axes...) }},
		{"Softmax", false, func(v *gpk.Array, axes []int) *gpk.Array { return v.Softmax(axes[0]) }},
		{"CumSum", false, func(v *gpk.Array, axes []int) *gpk.Array { return v.CumSum(axes[0]) }},
		{"ArgMin", false, func(v *gpk.Array, axes []int) *gpk.Array { return v.ArgMin(axes[0]) }},
		{"a chain and Var", false, func(v *gpk.Array, axes []int) *gpk.Array { return v.Mul(0.5).Var(axes...) }},
	}
	lengths := []int{1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 64, 100, 128, 257}
	cases := 2000
	if quick() {
		cases = 300
	}
	for range cases {
		dt := []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16}[s.rng.IntN(4)]
		shape := make([]int, 3)
		for {
			for d := range shape {
				shape[d] = lengths[s.rng.IntN(len(lengths))]
			}
			if size(shape) <= 1<<16 {
				break
			}
		}
		o := &operations[s.rng.IntN(len(operations))]
		base := s.random(dt, shape...).array()
		if o.near {
			base = base.Mul(1. / 64).Add(1)
		}
		if err := gpk.Eval(base); err != nil {
			t.Fatal(err)
		}
		v, how := base, fmt.Sprint("of ", shape)
		for d := range shape {
			switch s.rng.IntN(4) {
			case 0:
				v, how = v.Flip(d), fmt.Sprint(how, ", axis ", d, " backwards")
			case 1:
				v, how = v.Slice(d, shape[d]/8, shape[d], 1+s.rng.IntN(2)), fmt.Sprint(how, ", axis ", d, " in part")
			}
		}
		order := s.rng.Perm(3)
		v, how = v.Transpose(order...), fmt.Sprint(how, ", axes as ", order)
		axes := s.rng.Perm(3)[:1+s.rng.IntN(3)]
		plain := v.Clone()
		want, got := evaluate(t, o.of(plain, axes)), evaluate(t, o.of(v, axes))
		if k := differ(got, want); k >= 0 {
			t.Errorf("%s over %v, %v %s: element %d is %v, of a dense array %v", o.name, axes, dt, how, k, got.at(k), want.at(k))
		}
		plain.Free()
		base.Free()
	}
}
