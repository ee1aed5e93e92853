package array

import (
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/matmul"
)

// TestPackPrecision: a product has the precision that Pack was given, unless it
// names one itself.
func TestPackPrecision(t *testing.T) {
	defer matmul.SetPrecision(matmul.SetPrecision(matmul.TF32))
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Complex64} {
		x, w := Ones(dt, 3, 4), Ones(dt, 4, 4)
		for _, c := range []struct {
			pack, call []matmul.Option
			want       matmul.Precision
		}{
			{nil, nil, matmul.TF32},
			{[]matmul.Option{matmul.FullPrecision}, nil, matmul.FullPrecision},
			{[]matmul.Option{matmul.FullPrecision}, []matmul.Option{matmul.TF32}, matmul.TF32},
			{nil, []matmul.Option{matmul.FullPrecision}, matmul.FullPrecision},
		} {
			p := Pack(w, c.pack...)
			for role, y := range map[string]*Array{"MatMul": x.MatMul(p, c.call...), "Linear": Linear(x, p, nil, matmul.NoActivation, c.call...)} {
				if err := y.Err(); err != nil {
					t.Fatal(err)
				}
				if got := y.node().product.Precision; got != c.want {
					t.Errorf("%s of %v, packed with %v, called with %v: %v, want %v", role, dt, c.pack, c.call, got, c.want)
				}
			}
			p.Free()
		}
	}
}
