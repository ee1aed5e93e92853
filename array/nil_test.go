package array

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	cpu, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	matrix := func() *Array { return FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3) }
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { return matrix() },
			func() any { return Arange(dtype.Int64, 5) },
			func() any { return FromSlice([]complex128{1i}).BroadcastTo(2, 2) },
			func() any { return Zeros(dtype.Bool, 2, 0) },
			func() any { return matrix().T().Mul(2) },
			func() any { return Pack(matrix()) },
			func() any { return matrix().Reshape(7) },
			func() any { a := matrix(); a.Free(); return a },
			func() any { return NewScope() },
			func() any { return &Operation{} },
			func() any {
				g, err := Capture([]*Array{matrix()}, func(in []*Array) []*Array { return []*Array{in[0].Exp()} })
				if err != nil {
					t.Fatal(err)
				}
				return g
			},
			func() any { return &OpError{Op: "Add", Err: errNil} },
		},
		Functions: map[string]any{
			"FromBuffer": FromBuffer, "FromOwnBuffer": FromOwnBuffer, "FromLayout": FromLayout, "Synchronize": Synchronize, "Failed": Failed, "Settled": Settled, "Unstack": Unstack, "Gathered": Gathered, "Eval": Eval, "Into": Into,
			"Binary": Binary, "Capture": Capture, "NewScope": NewScope, "Scoped": Scoped, "Norm": Norm, "Pack": Pack,
			"Shown":  Shown,
			"Linear": Linear, "BiasAddInPlace": BiasAddInPlace,
			"ToSlice": ToSlice[float32], "FromSliceOn": FromSliceOn[float32], "ToSliceInto": ToSliceInto[float32], "Item": Item[float32],
			"FromSlice": FromSlice[float32], "FromSliceInto": FromSliceInto[float32],
		},
		Except: map[string]string{
			"NewOperation": "its callers are gpk's own packages", "Operation.Check": "as NewOperation", "Operation.Failed": "as NewOperation", "Operation.Failure": "as NewOperation", "Operation.Result": "as NewOperation", "Operation.On": "as NewOperation", "Operation.Elementwise": "as NewOperation", "Operation.Several": "as NewOperation",
			"Operation.Cast": "as NewOperation", "Operation.Reduce": "as NewOperation", "Operation.View": "as NewOperation", "Operation.Product": "as NewOperation", "Operation.Step": "as NewOperation", "Operation.Checked": "as NewOperation", "Operation.Host": "as NewOperation", "Operation.Wait": "as NewOperation", "Operation.Waits": "as NewOperation", "Operation.Own": "as NewOperation", "Operation.Wrap": "as NewOperation", "Operation.Stream": "as NewOperation", "Operation.Write": "as NewOperation", "Operation.Source": "as NewOperation", "Operation.SameType": "as NewOperation",
			"Array.Format": "package fmt calls it, as niltest does with what the others return",
		},
	})
	var none context.Context
	if err := Synchronize(none); !errors.Is(err, expr.ErrUnsupported) || !strings.Contains(err.Error(), "nil_test.go") {
		t.Errorf("Synchronize without a context: %v", err)
	}
	for _, a := range []*Array{nil, {}} {
		if s := fmt.Sprintf("%v %+v %.3f %d", a, a, a, a); s == "" {
			t.Error("nothing is printed")
		}
		for what, err := range map[string]error{
			"Exp": a.Exp().Err(), "Add": a.Add(1).Err(), "the right of Add": matrix().Add(a).Err(), "MatMul": matrix().MatMul(a).Err(),
			"Eval": Eval(a), "Into": Into(a, matrix()), "from Into": Into(matrix(), a), "Concat": Concat(0, matrix(), a).Err(),
		} {
			if !errors.Is(err, errNil) {
				t.Errorf("%s of a nil or zero Array: %v", what, err)
			}
		}
	}
}
