package gpktest

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strconv"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/arraytest"
	"github.com/gpk-go/gpk/internal/numpytest"
)

// standardCall calls the function of gpk for a function of the array API standard, with at most
// three arrays and other arguments. It returns an array, several arrays, or booleans. internal/gen
// reads the expression that it returns, and shows it in docs/numpy.md.
type standardCall func(x, y, z *gpk.Array, p *standardArguments) any

// standardTables are the calls, by the names of the standard. "NAME of X" is a variant of NAME.
var standardTables = []map[string]standardCall{
	standardElementwise, standardArrays, standardProducts, standardBeyond, standardRows, standardRowNumbers,
}

// standardArguments are the arguments that are not arrays.
type standardArguments struct {
	Dt                     typeName
	Axes, Other, Shape     []int // with keepdims, Axes contain gpk.KeepDims
	Axis, I, J, K, L, M, N int
	Mode                   int
	Widths                 [][2]int
	Start, Stop, Step      float64
	Q                      order
	Value                  int
	Data                   []float64
	Names                  []string
	Flag, Keep             bool
}

// typeName is a type by NumPy's name.
type typeName struct{ dtype.DType }

func (n *typeName) UnmarshalText(text []byte) error {
	var ok bool
	if n.DType, ok = numpyTypes[string(text)]; !ok {
		return fmt.Errorf("no type %q", text)
	}
	return nil
}

// order is the order of a norm: a number, "inf" or "-inf".
type order float64

func (o *order) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	*o = order(v)
	return err
}

// standardArray is an operand or a result.
type standardArray struct {
	Type, View string
	Shape      []int
	Data       []byte
	Stretch    int     // the length that a stretched axis has
	Ulp, Tol   float64 // the allowed error of a result: units in the last place, and absolute
	Zero       bool    // the signs of zeros count
}

// standardCase is a line of testdata/standard.py.
type standardCase struct {
	Name, Type string
	In, Want   []standardArray
	P          standardArguments
}

func (a *standardArray) array(t *testing.T) *gpk.Array {
	t.Helper()
	x := arraytest.FromBytes(numpyTypes[a.Type], a.Data, a.Shape...)
	n := len(a.Shape)
	switch a.View {
	case "T":
		return x.Transpose()
	case "step":
		return x.Slice(n-1, 0, a.Shape[n-1], 2)
	case "flip":
		return x.Flip()
	case "stretch":
		return x.BroadcastTo(append([]int{a.Stretch}, a.Shape[1:]...)...)
	}
	return x
}

// arrays returns the results of a call.
func arrays(result any) []*gpk.Array {
	switch r := result.(type) {
	case *gpk.Array:
		return []*gpk.Array{r}
	case []*gpk.Array:
		return r
	case []bool:
		return []*gpk.Array{gpk.FromSlice(r)}
	case bool:
		return []*gpk.Array{gpk.Full(gpk.Bool, r)}
	}
	panic(fmt.Sprintf("a result of %T", result))
}

// list makes one value of several results.
func list(as ...*gpk.Array) []*gpk.Array { return as }

// standardOf returns the call of a variant or, if there is none, of its function.
func standardOf(name string) standardCall {
	base, _, _ := strings.Cut(name, " of ")
	for _, n := range []string{name, base} {
		for _, table := range standardTables {
			if f := table[n]; f != nil {
				return f
			}
		}
	}
	return nil
}

// TestNumPyStandard compares the functions of the array API standard, and further functions of
// NumPy, with NumPy on the default device. It makes 200 random calls of each function on each type.
// Operands are strided, reversed, broadcast, empty and 0-d, and have NaN, infinities, -0 and extreme
// integers among their elements.
func TestNumPyStandard(t *testing.T) {
	count, wrong, cases := map[string]int{}, map[string]int{}, numpytest.Cases(t, 200)
	numpytest.Each(t, "testdata/standard.py", cases, func(c *standardCase) {
		call := standardOf(c.Name)
		if call == nil {
			t.Fatalf("no call for %s", c.Name)
		}
		key := c.Name + " of " + c.Type
		count[key]++
		if err := c.compare(t, call); err != nil {
			if wrong[key]++; wrong[key] <= 3 {
				t.Errorf("%s of %s: %v", c.Name, c.Type, err)
			}
		}
	})
	for key, n := range count {
		if n != cases {
			t.Errorf("%d calls of %s, want %d", n, key, cases)
		}
	}
	for key, n := range wrong {
		t.Errorf("%s: %d of %d calls differ", key, n, count[key])
	}
	for _, table := range standardTables {
		for name := range table {
			called := false
			for key := range count {
				called = called || strings.HasPrefix(key, name+" of ")
			}
			if !called {
				t.Errorf("%s is not called", name)
			}
		}
	}
}

// compare calls gpk and returns how its results differ from NumPy's.
func (c *standardCase) compare(t *testing.T, call standardCall) error {
	t.Helper()
	var in [3]*gpk.Array
	for i := range c.In {
		in[i] = c.In[i].array(t)
	}
	if c.P.Keep {
		c.P.Axes = append(c.P.Axes, gpk.KeepDims)
	}
	got := arrays(call(in[0], in[1], in[2], &c.P))
	if len(got) != len(c.Want) {
		return fmt.Errorf("%d results, want %d", len(got), len(c.Want))
	}
	for k := range c.Want {
		w := &c.Want[k]
		if err := w.near(evaluate(t, got[k]), read(t, w.array(t))); err != nil {
			args := make([]string, 0, len(c.In))
			for _, x := range in[:len(c.In)] {
				args = append(args, fmt.Sprintf("%+v", x))
			}
			return fmt.Errorf("result %d: %w; %+v of %s", k, err, c.P, strings.Join(args, ", "))
		}
	}
	return nil
}

// near returns an error that names the position at which a result differs.
func (a *standardArray) near(got, want tensor) error {
	if got.dt != want.dt || !slices.Equal(got.shape, want.shape) {
		return fmt.Errorf("%v %v, want %v %v", got.dt, got.shape, want.dt, want.shape)
	}
	for i := range size(want.shape) {
		if exact(got.dt) {
			if got.ints[i] != want.ints[i] {
				return fmt.Errorf("element %d is %d, want %d", i, got.ints[i], want.ints[i])
			}
		} else if g, w := got.values[i], want.values[i]; !a.alike(got.dt, g, w) {
			return fmt.Errorf("element %d is %v, want %v", i, g, w)
		}
	}
	return nil
}

// alike reports whether two numbers agree. If one is not finite, their parts must agree.
func (a *standardArray) alike(dt gpk.DType, g, w complex128) bool {
	part := func(x, y float64) bool {
		switch {
		case x != x || y != y:
			return x != x && y != y
		case x == 0 && y == 0:
			return !a.Zero || math.Signbit(x) == math.Signbit(y)
		case x == y:
			return true
		case math.IsInf(x, 0) != math.IsInf(y, 0) && a.Ulp > 0: // one is the largest number of the type, the other overflowed
			return x*y > 0 && min(math.Abs(x), math.Abs(y)) >= 0.999*largestOf[dt.Real()]
		case math.IsInf(x, 0) || math.IsInf(y, 0):
			return false
		}
		return math.Abs(x-y) <= a.Ulp*lastPlace(dt)*math.Abs(y)+a.Tol
	}
	if part(real(g), real(w)) && part(imag(g), imag(w)) {
		return true
	}
	if !dt.IsComplex() { // for subnormal numbers the relative unit is too small
		return a.Ulp > 0 && math.Abs(real(g)-real(w)) <= a.Ulp*2*smallest(dt)
	}
	return !cmplx.IsInf(w) && cmplx.Abs(g-w) <= a.Ulp*lastPlace(dt)*cmplx.Abs(w)+a.Tol
}

// lastPlace returns the distance from 1 to the next number of a type.
func lastPlace(dt gpk.DType) float64 { return math.Ldexp(1, 1-digitsOf[dt.Real()][0]) }

// largestOf are the largest numbers of types.
var largestOf = map[gpk.DType]float64{gpk.Float32: math.MaxFloat32, gpk.Float64: math.MaxFloat64, gpk.Float16: 65504}
