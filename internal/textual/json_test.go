package textual

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/gpk-go/gpk/layout"
)

// TestJSONRoundTrip writes and reads random bits of every type.
func TestJSONRoundTrip(t *testing.T) {
	rng := testrand.New(t)
	for _, dt := range dtype.All {
		for _, shape := range [][]int{{}, {0}, {3, 0, 2}, {1}, {7, 11}, {2, 3, 5}} {
			n := 1
			for _, d := range shape {
				n *= d
			}
			raw := make([]byte, n*dt.Size())
			for i := range raw {
				raw[i] = byte(rng.Uint32())
				if dt == dtype.Bool {
					raw[i] &= 1
				}
			}
			text, err := JSON(dt, shape, raw)
			if err != nil {
				t.Fatal(err)
			}
			gotType, gotShape, got, err := FromJSON(text)
			if err != nil {
				t.Fatalf("%v %v: %v in %.200s", dt, shape, err, text)
			}
			again, err := JSON(gotType, gotShape, got)
			if err != nil || gotType != dt || !bytes.Equal(again, text) {
				t.Fatalf("%v %v: %.200s, then %.200s (%v)", dt, shape, text, again, err)
			}
			if !hasNaN(dt, raw) && !bytes.Equal(got, raw) {
				t.Fatalf("%v %v: the bits differ: %x, then %x", dt, shape, raw, got)
			}
		}
	}
}

func hasNaN(dt dtype.DType, raw []byte) bool {
	return strings.Contains(strings.Join(cells(dt, raw, ""), " "), "nan")
}

// TestJSONForms checks the text itself.
func TestJSONForms(t *testing.T) {
	for _, c := range []struct {
		raw  []byte
		dt   dtype.DType
		want string
	}{
		{encoded(t, float32(0.1), float32(math.Inf(1)), float32(math.Copysign(0, -1))), dtype.Float32, `{"dtype":"float32","shape":[3],"data":[0.1,"+Inf",-0]}`},
		{encoded(t, math.NaN(), math.Inf(-1), 1e300), dtype.Float64, `{"dtype":"float64","shape":[3],"data":["NaN","-Inf",1e+300]}`},
		{encoded(t, complex64(complex(1, -2))), dtype.Complex64, `{"dtype":"complex64","shape":[1],"data":[[1,-2]]}`},
		{encoded(t, int64(math.MinInt64)), dtype.Int64, `{"dtype":"int64","shape":[1],"data":[-9223372036854775808]}`},
		{[]byte{0, 1}, dtype.Bool, `{"dtype":"bool","shape":[2],"data":[false,true]}`},
	} {
		got, err := JSON(c.dt, []int{len(c.raw) / c.dt.Size()}, c.raw)
		if err != nil || string(got) != c.want {
			t.Errorf("%s (%v), want %s", got, err, c.want)
		}
	}
}

// TestJSONRefuses gives text that is no array.
func TestJSONRefuses(t *testing.T) {
	for text, want := range map[string]error{
		``:  dtype.ErrDType,
		`7`: dtype.ErrDType,
		`{"dtype":"float3","shape":[1],"data":[1]}`:                                 dtype.ErrDType,
		`{"dtype":"float32","shape":[2],"data":[1]}`:                                layout.ErrShape,
		`{"dtype":"float32","shape":[-1],"data":[1]}`:                               layout.ErrShape,
		`{"dtype":"float32","data":[1]}`:                                            layout.ErrShape,
		`{"dtype":"float32","shape":[9223372036854775807,2],"data":[1]}`:            layout.ErrShape,
		`{"dtype":"float32","shape":[1]}`:                                           dtype.ErrDType,
		`{"dtype":"float32","shape":[1],"data":[1e39]}`:                             dtype.ErrDType,
		`{"dtype":"float32","shape":[1],"data":[null]}`:                             dtype.ErrDType,
		`{"dtype":"float32","shape":[1],"data":["1"]}`:                              dtype.ErrDType,
		`{"dtype":"float32","shape":[1],"data":[true]}`:                             dtype.ErrDType,
		`{"dtype":"int8","shape":[1],"data":[128]}`:                                 dtype.ErrDType,
		`{"dtype":"int8","shape":[1],"data":[1.5]}`:                                 dtype.ErrDType,
		`{"dtype":"bool","shape":[1],"data":[null]}`:                                dtype.ErrDType,
		`{"dtype":"bool","shape":[0],"data":null}`:                                  dtype.ErrDType,
		`{"dtype":"bool","shape":[0],"data":{}}`:                                    dtype.ErrDType,
		`{"dtype":"bool","shape":[0],"data":[]} 7`:                                  dtype.ErrDType,
		`{"dtype":"float16","shape":[1],"data":[1e30]}`:                             dtype.ErrDType,
		`{"dtype":"bfloat16","shape":[1],"data":[3.4e38]}`:                          dtype.ErrDType,
		`{"dtype":"bool","shape":[1],"data":[1]}`:                                   dtype.ErrDType,
		`{"dtype":"complex64","shape":[1],"data":[[1]]}`:                            dtype.ErrDType,
		`{"dtype":"complex64","shape":[1],"data":[1]}`:                              dtype.ErrDType,
		`{"dtype":"float32","shape":[1],"data":[1],"more":2}`:                       dtype.ErrDType,
		`{"dtype":"float32","shape":[1],"data":` + strings.Repeat("[", 20000) + `}`: dtype.ErrDType,
	} {
		if _, _, _, err := FromJSON([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.80s: %v, want %v", text, err, want)
		}
	}
}

func FuzzFromJSON(f *testing.F) {
	f.Add(`{"dtype":"float32","shape":[2],"data":[1,"NaN"]}`)
	f.Add(`{"dtype":"complex128","shape":[],"data":[[1,2]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		dt, shape, raw, err := FromJSON([]byte(text))
		if err != nil {
			return
		}
		if _, err := JSON(dt, shape, raw); err != nil {
			t.Fatal(err)
		}
	})
}
