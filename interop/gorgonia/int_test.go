package gorgonia

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"gorgonia.org/tensor"
)

// TestProductTypes: a product of int32 or int64 wraps as Go's does. One of int8, uint8 or
// bool, which gpk does not have in the tensor's type, is refused at the line that asked.
func TestProductTypes(t *testing.T) {
	e := NewEngine()
	for name, c := range map[string]struct {
		a, b, want any
	}{
		"int32": {[]int32{1, 2, 3, 1 << 30}, []int32{5, 6, 7, 8}, []int32{19, 22, -1073741809, 18}},
		"int64": {[]int64{1, 2, 3, 4}, []int64{5, 6, 7, 8}, []int64{19, 22, 43, 50}},
		"int8":  {[]int8{1, 2, 3, 4}, []int8{5, 6, 7, 8}, nil},
		"uint8": {[]uint8{1, 2, 3, 4}, []uint8{5, 6, 7, 8}, nil},
		"bool":  {[]bool{true, false, true, true}, []bool{true, false, true, true}, nil},
	} {
		a := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(c.a), tensor.WithEngine(e))
		b := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking(c.b), tensor.WithEngine(e))
		for call, f := range map[string]func() (tensor.Tensor, error){
			"function": func() (tensor.Tensor, error) { return tensor.MatMul(a, b) },
			"method":   func() (tensor.Tensor, error) { return a.MatMul(b) },
		} {
			got, err := f()
			if c.want != nil {
				if err != nil || !reflect.DeepEqual(got.Data(), c.want) {
					t.Errorf("%s by %s: %v %v, want %v", name, call, got, err, c.want)
				}
				continue
			}
			if !errors.Is(err, gpk.ErrDType) || !strings.Contains(err.Error(), "gorgonia/int_test.go:") || !strings.Contains(err.Error(), "int32") {
				t.Errorf("%s by %s: %v", name, call, err)
			}
		}
	}
	m := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]int8{1, 2, 3, 4}), tensor.WithEngine(e))
	v := tensor.New(tensor.WithShape(2), tensor.WithBacking([]int8{5, 6}), tensor.WithEngine(e))
	if _, err := m.MatVecMul(v); !errors.Is(err, gpk.ErrDType) || !strings.Contains(err.Error(), "gorgonia/int_test.go:") {
		t.Error(err)
	}
}
