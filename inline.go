package gpk

// An Array that does not leave the function that made it, as x.Add(y) in
// Into(dst, x.Add(y)), lives on that function's stack: the methods are small
// enough to be inlined. The compiler hands their bodies on to the packages that
// import this one only if this one inlines them too.
var _ = func(a *Array, b any) []*Array {
	return []*Array{
		a.Add(b), a.Sub(b), a.Mul(b), a.Div(b),
		a.Neg(), a.Conj(), a.ReLU(), a.GELU(), a.GELUTanh(), a.SiLU(),
		a.Cast(Float32),
	}
}
