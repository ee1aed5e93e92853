package gpktest

import (
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/numpytest"
)

// numpyCase is a line of testdata/numpy_names.py.
type numpyCase struct {
	Op               string
	Shape, WantShape []int
	Data, Want       []float64
	Ints             []int
	Q                float64
}

// numpyNames are the functions of NumPy that it calls.
var numpyNames = map[string]func(x *gpk.Array, c *numpyCase) *gpk.Array{
	"tile":      func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.Tile(c.Ints...) },
	"roll":      func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.Roll(c.Ints[0], c.Ints[1]) },
	"roll flat": func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.Roll(c.Ints[0]) },
	"moveaxis":  func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.MoveAxis(c.Ints[0], c.Ints[1]) },
	"swapaxes":  func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.SwapAxes(c.Ints[0], c.Ints[1]) },
	"tril":      func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.Tril(c.Ints[0]) },
	"triu":      func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.Triu(c.Ints[0]) },
	"diag":      func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.Diag(c.Ints[0]) },
	"std": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		d, n := c.Ints[0], c.Ints[1]
		if length := x.Shape()[(d+x.NDim())%x.NDim()]; n < 1 || n >= length {
			return x.Std(d)
		}
		return x.Std(d, gpk.DDof(n))
	},
	"median":   func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.Median(c.Ints[0], gpk.KeepDims) },
	"quantile": func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.Quantile(c.Q, c.Ints[0]) },
	"cumprod":  func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.CumProd(c.Ints[0]) },
	"norm":     func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.VectorNorm(c.Q, c.Ints[0]) },
	"argmax":   func(x *gpk.Array, _ *numpyCase) *gpk.Array { return gpk.ArgMax(x).Cast(gpk.Float64) },
	"windows":  func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.Windows(c.Ints[0], c.Ints[1]) },
	"kron":     func(x *gpk.Array, _ *numpyCase) *gpk.Array { return x.Kron(x.Transpose()) },
	"along": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		return x.TakeAlongAxis(gpk.ArgMax(x, c.Ints[0], gpk.KeepDims), c.Ints[0])
	},
	"index":   numpyIndex,
	"argsort": func(x *gpk.Array, c *numpyCase) *gpk.Array { return x.ArgSort(c.Ints[0], false).Cast(gpk.Float64) },
	"searchsorted": func(x *gpk.Array, _ *numpyCase) *gpk.Array {
		return x.Flatten().Sort(0, false).SearchSorted(x, false).Cast(gpk.Float64)
	},
	"searchsorted right": func(x *gpk.Array, _ *numpyCase) *gpk.Array {
		return x.Flatten().Sort(0, false).SearchSorted(x, true).Cast(gpk.Float64)
	},
	"unique":         func(x *gpk.Array, _ *numpyCase) *gpk.Array { return x.Unique() },
	"unique index":   func(x *gpk.Array, _ *numpyCase) *gpk.Array { return numpyUnique(x, 1) },
	"unique inverse": func(x *gpk.Array, _ *numpyCase) *gpk.Array { return numpyUnique(x, 2) },
	"unique counts":  func(x *gpk.Array, _ *numpyCase) *gpk.Array { return numpyUnique(x, 3) },
	"histogram": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		counts, _ := x.Histogram(c.Ints[0], -c.Q, c.Q)
		return counts.Cast(gpk.Float64)
	},
	"histogram edges": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		_, edges := x.Histogram(c.Ints[0], -c.Q, c.Q)
		return edges
	},
	"histogram density": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		density, _ := x.Clamp(-c.Q, c.Q).HistogramDensity(c.Ints[0], -c.Q, c.Q)
		return density
	},
	"histogram of edges": func(x *gpk.Array, _ *numpyCase) *gpk.Array {
		edges := gpk.Concat(0, x.Round().Flatten(), gpk.FromSlice([]float64{-1, 9})).Unique()
		return x.HistogramEdges(edges).Cast(gpk.Float64)
	},
	"bincount": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		return x.Abs().Flatten().Cast(gpk.Int64).BinCount(c.Ints[0]).Cast(gpk.Float64)
	},
	"bincount of weights": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		return x.Abs().Flatten().Cast(gpk.Int64).BinCount(c.Ints[0], x.Flatten())
	},
	"nonzero": func(x *gpk.Array, _ *numpyCase) *gpk.Array { return gpk.Stack(0, x.Nonzero()...).Cast(gpk.Float64) },
	"mask":    func(x *gpk.Array, _ *numpyCase) *gpk.Array { return x.MaskedSelect(x.Gt(0)) },
	"compress": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		n := x.Shape()[(c.Ints[0]+x.NDim())%x.NDim()]
		return x.IndexSelect(gpk.Arange(gpk.Int64, n).And(1).Eq(0), c.Ints[0])
	},
	"put along": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		shape, at := c.Ints[1:1+x.NDim()], c.Ints[1+x.NDim():]
		return x.PutAlongAxis(numpyIndices(at, shape...), gpk.Arange(gpk.Float64, len(at)).Reshape(shape...), c.Ints[0])
	},
	"add at": func(x *gpk.Array, c *numpyCase) *gpk.Array {
		at := numpyIndices(c.Ints[1:])
		return x.ScatterAdd(at, gpk.Take(x, at, c.Ints[0]).Add(1), c.Ints[0])
	},
	"einsum":       func(x *gpk.Array, _ *numpyCase) *gpk.Array { return gpk.Einsum("...ij,...kj->...ik", x, x) },
	"einsum order": func(x *gpk.Array, _ *numpyCase) *gpk.Array { return gpk.Einsum("ij,kj,kl->il", x, x, x) },
}

// numpyIndex calls Index with the indices that the script describes by four integers each.
func numpyIndex(x *gpk.Array, c *numpyCase) *gpk.Array {
	var index []any
	for i := range len(c.Ints) / 4 {
		start, stop, step := c.Ints[4*i+1], c.Ints[4*i+2], c.Ints[4*i+3]
		open := 0 // stands for an omitted start
		if step < 0 {
			open = gpk.End
		}
		index = append(index, [...]any{
			start, gpk.Range(start, stop, step), gpk.Range(start, gpk.End, step),
			gpk.Range(open, stop, step), gpk.Range(open, gpk.End, step), gpk.All,
		}[c.Ints[4*i]])
	}
	return x.Index(index...)
}

// numpyUnique returns result i of UniqueAll.
func numpyUnique(x *gpk.Array, i int) *gpk.Array {
	values, indices, inverse, counts := x.UniqueAll()
	return [...]*gpk.Array{values, indices, inverse, counts}[i].Cast(gpk.Float64)
}

// numpyIndices makes an array of indices; no shape means one axis.
func numpyIndices(at []int, shape ...int) *gpk.Array {
	list := make([]int64, len(at))
	for i, v := range at {
		list[i] = int64(v)
	}
	return gpk.FromSlice(list, shape...)
}

// TestNumPyNames compares compositions on the default device with NumPy, by 200 random calls
// of each; package numpytest says with which variables.
func TestNumPyNames(t *testing.T) {
	count, cases := map[string]int{}, numpytest.Cases(t, 200)
	numpytest.Each(t, "testdata/numpy_names.py", cases, func(c *numpyCase) {
		call := numpyNames[c.Op]
		if call == nil {
			t.Fatalf("nothing is called for %s", c.Op)
		}
		count[c.Op]++
		a := call(gpk.FromSlice(c.Data, c.Shape...), c)
		got, err := gpk.ToSlice[float64](a)
		if err != nil || !slices.Equal(a.Shape(), c.WantShape) {
			t.Fatalf("%s of %v, %v: shape %v, want %v (%v)", c.Op, c.Shape, c.Ints, a.Shape(), c.WantShape, err)
		}
		for i, w := range c.Want {
			// Sums of at most 256 products of three numbers below 8: less than 1e-9 is rounding.
			if !(math.Abs(got[i]-w) <= 1e-9*(1+math.Abs(w))) {
				t.Fatalf("%s of %v, %v: element %d is %v, want %v", c.Op, c.Shape, c.Ints, i, got[i], w)
			}
		}
	})
	for op := range numpyNames {
		if count[op] != cases {
			t.Errorf("%d calls of %s, want %d", count[op], op, cases)
		}
	}
}
