package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/matmul"
	"github.com/x448/float16"
)

// precision is one value of -dtypes: an element type and how its products are
// rounded.
type precision struct {
	name  string           // the name in the names of cases
	alias []string         // other names that -dtypes accepts, in addition to those of dtype.Parse
	dtype dtype.DType      // type of the operands
	out   dtype.DType      // type of the product
	named matmul.Precision // asked for on the call; matmul.Default where there is nothing to choose
	bound float64          // largest relative Frobenius error of a right product; 0: exact
}

// precisions lists every precision in the order of the table of -quick. The bounds are
// the acceptance limits of the project. A complex product has the bound of its parts,
// which sum twice as many terms and are larger by the same factor. tf32 is requested on
// each call although it is float32's default: with GPK_NO_TF32, a default product would
// be FP32 under the name tf32.
var precisions = []precision{
	{name: "bf16", dtype: dtype.BFloat16, out: dtype.BFloat16, bound: 4e-3},
	{name: "fp16", alias: []string{"half"}, dtype: dtype.Float16, out: dtype.Float16, bound: 5e-4},
	{name: "tf32", alias: []string{"tfloat32"}, dtype: dtype.Float32, out: dtype.Float32, named: matmul.TF32, bound: 4e-4},
	{name: "fp32", alias: []string{"float"}, dtype: dtype.Float32, out: dtype.Float32, named: matmul.FullPrecision, bound: 3e-6},
	{name: "fp64", alias: []string{"double"}, dtype: dtype.Float64, out: dtype.Float64, bound: 1e-14},
	{name: "tc64", dtype: dtype.Complex64, out: dtype.Complex64, named: matmul.TF32, bound: 4e-4},
	{name: "c64", dtype: dtype.Complex64, out: dtype.Complex64, named: matmul.FullPrecision, bound: 3e-6},
	{name: "c128", dtype: dtype.Complex128, out: dtype.Complex128, bound: 1e-14},
	{name: "i8", dtype: dtype.Int8, out: dtype.Int32},
}

// precisionOf returns the precision with a name: one of the table's names or aliases, or
// a name that dtype.Parse knows. For a type with two precisions this is the full one:
// float32 is fp32.
func precisionOf(name string) (precision, error) {
	name = strings.ToLower(name)
	for _, p := range precisions {
		if p.name == name {
			return p, nil
		}
		for _, a := range p.alias {
			if a == name {
				return p, nil
			}
		}
	}
	if d, err := dtype.Parse(name); err == nil {
		for _, p := range precisions {
			if p.dtype == d && p.named != matmul.TF32 {
				return p, nil
			}
		}
	}
	names := make([]string, len(precisions))
	for i, p := range precisions {
		names[i] = p.name
	}
	return precision{}, fmt.Errorf("-dtypes: %q is not one of %s", name, strings.Join(names, ", "))
}

// mustPrecision is like precisionOf for the names in the suites' own tables, which exist.
func mustPrecision(name string) precision {
	p, err := precisionOf(name)
	if err != nil {
		panic(err)
	}
	return p
}

// flops returns the operations of one multiply-add: 2 on reals, 8 on complex
// numbers.
func (p precision) flops() float64 {
	if p.dtype.IsComplex() {
		return 8
	}
	return 2
}

// round returns the value of the precision's element type (of its real part)
// nearest to v.
func (p precision) round(v float64) float64 { return codecs[p.dtype].round(v) }

// unit returns the factor for standard normal numbers. For int8 it is 24, so that five
// standard deviations fit.
func (p precision) unit() float64 {
	if p.dtype == dtype.Int8 {
		return 24
	}
	return 1
}

// codec converts elements of one type to values and back.
type codec struct {
	round    func(float64) float64 // to the nearest value of the type, or of its real part
	upload   func(v values, shape []int) *gpk.Array
	download func(*gpk.Array) (values, error)
}

var codecs = map[dtype.DType]codec{
	dtype.Float32:    realCodec(func(x float64) float32 { return float32(x) }, func(x float32) float64 { return float64(x) }),
	dtype.Float64:    realCodec(func(x float64) float64 { return x }, func(x float64) float64 { return x }),
	dtype.Float16:    realCodec(func(x float64) float16.Float16 { return float16.Fromfloat32(float32(x)) }, func(x float16.Float16) float64 { return float64(x.Float32()) }),
	dtype.BFloat16:   realCodec(func(x float64) bfloat16.BFloat16 { return bfloat16.FromFloat32(float32(x)) }, func(x bfloat16.BFloat16) float64 { return float64(x.Float32()) }),
	dtype.Int8:       realCodec(func(x float64) int8 { return int8(max(-127, min(127, math.RoundToEven(x)))) }, func(x int8) float64 { return float64(x) }),
	dtype.Int32:      realCodec(func(x float64) int32 { return int32(x) }, func(x int32) float64 { return float64(x) }),
	dtype.Int64:      realCodec(func(x float64) int64 { return int64(x) }, func(x int64) float64 { return float64(x) }),
	dtype.Complex64:  complexCodec(func(x complex128) complex64 { return complex64(x) }, func(x complex64) complex128 { return complex128(x) }),
	dtype.Complex128: complexCodec(func(x complex128) complex128 { return x }, func(x complex128) complex128 { return x }),
}

func realCodec[T dtype.Elem](from func(float64) T, to func(T) float64) codec {
	return codec{
		round: func(x float64) float64 { return to(from(x)) },
		upload: func(v values, shape []int) *gpk.Array {
			s := make([]T, len(v.re))
			for i, x := range v.re {
				s[i] = from(x)
			}
			return gpk.FromSlice(s, shape...)
		},
		download: func(a *gpk.Array) (values, error) {
			s, err := gpk.ToSlice[T](a)
			v := values{re: make([]float64, len(s))}
			for i, x := range s {
				v.re[i] = to(x)
			}
			return v, err
		},
	}
}

func complexCodec[T dtype.Elem](from func(complex128) T, to func(T) complex128) codec {
	return codec{
		round: func(x float64) float64 { return real(to(from(complex(x, 0)))) },
		upload: func(v values, shape []int) *gpk.Array {
			s := make([]T, len(v.re))
			for i, re := range v.re {
				s[i] = from(complex(re, v.im[i]))
			}
			return gpk.FromSlice(s, shape...)
		},
		download: func(a *gpk.Array) (values, error) {
			s, err := gpk.ToSlice[T](a)
			v := values{re: make([]float64, len(s)), im: make([]float64, len(s))}
			for i, x := range s {
				c := to(x)
				v.re[i], v.im[i] = real(c), imag(c)
			}
			return v, err
		},
	}
}
