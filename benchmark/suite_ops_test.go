package main

import (
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// TestOperations runs every operation at a shape whose sides differ, in all
// types of the suite; the same operation with a result that is a little off
// must fail.
func TestOperations(t *testing.T) {
	dev := devicetest.CPU(t)
	defer device.SetDefault(device.SetDefault(nil))
	o := options{seed: 7, count: 1, iterations: 1, warmup: 1}
	r, err := newRunner(o, realLibrary{}, dev)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	for _, name := range []string{"fp32", "bf16", "fp16"} {
		for _, op := range append(cpuOperations[len(cpuOperations)-1:], operations...) {
			wrong := op
			wrong.call = func(o opArrays) *gpk.Array {
				r := op.call(o)
				if r.DType() == dtype.Int64 {
					return r.Add(1)
				}
				return r.Mul(1.0625)
			}
			p := mustPrecision(name)
			right := operationCases("Op", []operation{op}, p, 70, 36)[0].results(r)
			if len(right) != 1 || right[0].Failure != "" {
				t.Errorf("%s of %s: %+v", op.name, name, right)
			}
			for _, one := range operationCases("Op", []operation{wrong}, p, 70, 36)[0].results(r) {
				if !strings.Contains(one.Failure, "wrong result") {
					t.Errorf("%s of %s: a wrong result passed: %+v", op.name, name, one)
				}
			}
		}
	}
}
