package matmul

import (
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/niltest"
	"github.com/gpk-go/gpk/layout"
)

// TestNil calls every exported function with nil, with zero values and with extreme
// numbers.
func TestNil(t *testing.T) {
	cpu := devicetest.CPU(t)
	defer SetPrecision(SetPrecision(Default))
	view := func() device.View {
		buf, err := cpu.Alloc(16, nil)
		if err != nil {
			t.Fatal(err)
		}
		return device.View{Buffer: buf, DType: dtype.Float32, Layout: layout.Dense([]int{2, 2})}
	}
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { return &Product{D: view(), A: view(), B: view()} },
			func() any {
				p, err := Prepare(cpu.DefaultStream(), view(), FullPrecision)
				if err != nil {
					t.Fatal(err)
				}
				return p
			},
			func() any { return Step{Kind: Pad, Operand: "A"} },
			func() any { return Plan{Kernel: "f", Tile: [3]int{1, 2, 3}} },
			func() any { return TF32 },
			func() any { return Options{Precision: TF32} },
			func() any { return RowMajor },
			func() any { return ReLU },
			func() any { return Epilogue{Bias: true} },
			func() any { return Problem{M: 1, N: 2, K: 3, A: dtype.Float32} },
		},
		Functions: map[string]any{
			"Choose": Choose, "Prepare": Prepare, "WithOutput": WithOutput, "WithKernel": WithKernel, "Collect": Collect, "SetPrecision": SetPrecision,
		},
	})
}
