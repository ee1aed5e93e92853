package route_test

import (
	"fmt"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/serve/route"
)

func ExampleModel_Decide() {
	m, gpu := route.Calibrated() // in a program: route.Calibrate(ctx, device.Default())
	for _, op := range []route.Op{
		{Name: "Add", Elements: 1000, DType: gpk.Float32},
		{Name: "Add", Elements: 1000, DType: gpk.Float32, Resident: gpu},
		{Name: "MatMul", Elements: 1 << 20, Bytes: 3 << 22, Flops: 2 << 30, DType: gpk.Float32},
		{Name: "Add", Bytes: 90 << 30, DType: gpk.Float32},
	} {
		d := m.Decide(op)
		fmt.Printf("%-6s on %-6v: %v\n", op.Name, d.Device, d.Reason)
	}
	// Output:
	// Add    on cpu   : faster on the CPU
	// Add    on cuda:0: the data are on the GPU
	// MatMul on cuda:0: faster on the GPU, copies included
	// Add    on cuda:0: too large for the GPU's free memory but in tiles
}
