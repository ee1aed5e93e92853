package gpktest

import (
	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/fft"
	"github.com/gpk-go/gpk/linalg"
)

// standardProducts are products, linear algebra and Fourier transforms.
var standardProducts = map[string]standardCall{
	"matmul":                   func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.MatMul(y, gpk.FullPrecision) },
	"matrix_transpose":         func(x, _, _ *gpk.Array, _ *standardArguments) any { return x.T() },
	"tensordot":                func(x, y, _ *gpk.Array, p *standardArguments) any { return x.TensorDot(y, p.Axes, p.Other) },
	"vecdot":                   func(x, y, _ *gpk.Array, p *standardArguments) any { return x.VecDot(y, p.Axis) },
	"linalg.outer":             func(x, y, _ *gpk.Array, _ *standardArguments) any { return x.Outer(y) },
	"linalg.cross":             func(x, y, _ *gpk.Array, p *standardArguments) any { return x.Cross(y, p.Axis) },
	"linalg.diagonal":          func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Diagonal(p.K) },
	"linalg.trace":             func(x, _, _ *gpk.Array, p *standardArguments) any { return x.Diagonal(p.K).Sum(-1) },
	"linalg.vector_norm":       func(x, _, _ *gpk.Array, p *standardArguments) any { return x.VectorNorm(float64(p.Q), p.Axes...) },
	"linalg.cholesky":          func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.Cholesky(x) },
	"linalg.cholesky of upper": func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.Cholesky(x, linalg.Upper) },
	"linalg.det":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.Det(x) },
	"linalg.eigvalsh":          func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.EigvalsH(x) },
	"linalg.inv":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.Inv(x) },
	"linalg.svdvals":           func(x, _, _ *gpk.Array, _ *standardArguments) any { return linalg.SVDVals(x) },
	"linalg.slogdet":           func(x, _, _ *gpk.Array, _ *standardArguments) any { return list(linalg.SlogDet(x)) },
	"linalg.eigh":              func(x, _, _ *gpk.Array, _ *standardArguments) any { return ofEigh(linalg.Eigh(x)) },
	"linalg.svd":               func(x, _, _ *gpk.Array, _ *standardArguments) any { return ofSVD(linalg.SVD(x)) },
	"linalg.qr":                func(x, _, _ *gpk.Array, _ *standardArguments) any { return ofQR(linalg.QR(x)) },
	"linalg.pinv":              func(x, _, _ *gpk.Array, p *standardArguments) any { return linalg.Pinv(x, float64(p.Q)) },
	"linalg.matrix_rank":       func(x, _, _ *gpk.Array, p *standardArguments) any { return linalg.MatrixRank(x, float64(p.Q)) },
	"linalg.solve":             func(x, y, _ *gpk.Array, _ *standardArguments) any { return linalg.Solve(x, y) },
	"linalg.matrix_norm":       func(x, _, _ *gpk.Array, p *standardArguments) any { return linalg.MatrixNorm(x, float64(p.Q)) },
	"linalg.matrix_power":      func(x, _, _ *gpk.Array, p *standardArguments) any { return linalg.MatrixPower(x, p.N) },
	"fft.fft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.FFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.ifft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.IFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.irfft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.IRFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.hfft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.HFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.rfft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.RFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.ihfft": func(x, _, _ *gpk.Array, p *standardArguments) any {
		return fft.IHFFT(x, fft.Axes(p.Axis), fft.Norm(p.Mode))
	},
	"fft.fftn":      func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.FFTN(x, fft.Norm(p.Mode)) },
	"fft.ifftn":     func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.IFFTN(x, fft.Norm(p.Mode)) },
	"fft.irfftn":    func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.IRFFTN(x, fft.Norm(p.Mode)) },
	"fft.rfftn":     func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.RFFTN(x, fft.Norm(p.Mode)) },
	"fft.fftfreq":   func(_, _, _ *gpk.Array, p *standardArguments) any { return fft.FFTFreq(p.Dt.DType, p.N, float64(p.Q)) },
	"fft.rfftfreq":  func(_, _, _ *gpk.Array, p *standardArguments) any { return fft.RFFTFreq(p.Dt.DType, p.N, float64(p.Q)) },
	"fft.fftshift":  func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.FFTShift(x, p.Axes...) },
	"fft.ifftshift": func(x, _, _ *gpk.Array, p *standardArguments) any { return fft.IFFTShift(x, p.Axes...) },
}

// ofEigh returns the eigenvalues w and V diag(w) V^H, because the signs of eigenvectors are free.
func ofEigh(w, v *gpk.Array) []*gpk.Array {
	scaled := v.Mul(w.Cast(v.DType()).Unsqueeze(-2))
	return list(w, scaled.MatMul(v.Conj().T(), gpk.FullPrecision))
}

// ofSVD returns the singular values, and U diag(s) V^H.
func ofSVD(u, s, vh *gpk.Array) []*gpk.Array {
	return list(s, u.Mul(s.Cast(u.DType()).Unsqueeze(-2)).MatMul(vh, gpk.FullPrecision))
}

// ofQR returns |R|, and Q R.
func ofQR(q, r *gpk.Array) []*gpk.Array { return list(r.Abs(), q.MatMul(r, gpk.FullPrecision)) }
