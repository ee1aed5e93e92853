package gpktest

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/ops"
)

// functionValues are exact results; testdata/functions.py writes them.
//
//go:embed testdata/functions.txt
var functionValues string

// functionCase is a line of them: an exact result is high + low.
type functionCase struct {
	args      []float64
	high, low float64
}

// functionCases reads functionValues, by the name of the function.
func functionCases() (map[string][]functionCase, error) {
	out := map[string][]functionCase{}
	for line := range strings.Lines(functionValues) {
		words := strings.Fields(line)
		numbers := make([]float64, len(words)-1)
		for i, w := range words[1:] {
			v, err := strconv.ParseFloat(w, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
			}
			numbers[i] = v
		}
		n := len(numbers) - 2
		out[words[0]] = append(out[words[0]], functionCase{numbers[:n], numbers[n], numbers[n+1]})
	}
	return out, nil
}

// digitsOf are the digits of the significand of a type, and the exponent of its least number.
var digitsOf = map[gpk.DType][2]int{
	gpk.Float32: {24, -149}, gpk.Float64: {53, -1074}, gpk.Float16: {11, -24}, gpk.BFloat16: {8, -133},
}

// units returns the error of got in units of the last place of the exact result in type dt.
func (c *functionCase) units(row *ops.Row, dt gpk.DType, got float64) float64 {
	digits, least := digitsOf[dt][0], digitsOf[dt][1]
	size := math.Abs(c.high)
	if row.Error.FromOne {
		size = max(size, 1, math.Abs(c.args[0]))
	}
	if rounded := real(round(dt, complex(c.high, 0))); math.IsInf(rounded, 0) && got == rounded {
		return 0
	}
	e := least
	if size != 0 {
		_, e = math.Frexp(size)
		e = max(e-digits, least)
	}
	return math.Abs((got-c.high)-c.low) / math.Ldexp(1, e)
}

// testFunctions measures the error of every function of the table whose results are rounded,
// on each type, against exact results, and compares with the bound that its row states.
func testFunctions(t *testing.T, s *suite) {
	cases, err := functionCases()
	if err != nil {
		t.Fatal(err)
	}
	for i := range ops.Table {
		row := &ops.Table[i]
		if row.Error.Float64 <= 0.5 {
			continue // the row's reference is exact for operations that are rounded once
		}
		list, method := cases[row.Op.String()], binaryMethods[row.Op]
		if row.Kind == ops.Unary {
			method = func(a, _ any) *gpk.Array { return unaryMethods[row.Op](a.(*gpk.Array)) }
		}
		if len(list) == 0 && row.Op.String() != "Angle" { // Atan2 is
			t.Errorf("%v: testdata/functions.txt has no values of it; run functions.py", row.Op)
		}
		for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16} {
			most := row.Error.Units(dt)
			if dt != gpk.Float32 && dt != gpk.Float64 {
				most = 0.5 + most*math.Ldexp(1, digitsOf[dt][0]-24) // a float32, rounded
			}
			operands := [2][]complex128{}
			var held []*functionCase
			for k := range list {
				c := &list[k]
				fits := true
				for _, a := range c.args {
					fits = fits && round(dt, complex(a, 0)) == complex(a, 0)
				}
				if !fits {
					continue
				}
				for j, a := range c.args {
					operands[j] = append(operands[j], complex(a, 0))
				}
				held = append(held, c)
			}
			if len(held) == 0 {
				continue
			}
			x, y := tensor{dt: dt, shape: []int{len(held)}, values: operands[0]}, tensor{dt: dt, shape: []int{len(held)}, values: operands[1]}
			other := any(nil)
			if row.Kind == ops.Binary {
				other = y.array()
			}
			got := evaluate(t, method(x.array(), other)).values
			worst := widest{}
			for k, c := range held {
				if u := c.units(row, dt, real(got[k])); !(u <= worst.ulp) {
					worst = widest{u, c.args[0]}
				}
			}
			t.Logf("%v of %v: %.4f ulp at %v, in %d values", row.Op, dt, worst.ulp, worst.at, len(held))
			if !(worst.ulp <= most) {
				t.Errorf("%v of %v: %.4f ulp at %v; at most %v", row.Op, dt, worst.ulp, worst.at, most)
			}
		}
	}
}
