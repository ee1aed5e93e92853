package batch
import ("testing"; "github.com/gpk-go/gpk")
func BenchmarkHostMatMuls(b *testing.B) {
	as, bs := make([]*gpk.Array, 64), make([]*gpk.Array, 64)
	for i := range as { as[i] = gpk.Ones(gpk.Float32, 2, 2); bs[i] = gpk.Ones(gpk.Float32, 2, 2) }
	gpk.Eval(as...); gpk.Eval(bs...)
	b.ReportAllocs()
	for b.Loop() {
		out := MatMuls(as, bs)
		out[0].Free()
	}
}
