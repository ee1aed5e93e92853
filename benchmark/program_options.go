package main

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
)

const (
	optionsRate       = 0.03125
	optionsVolatility = 0.25
)

// optionsProgram prices European options by the formula of Black and Scholes:
// call = S N(d1) - K exp(-rT) N(d2), put = call - S + K exp(-rT), with
// d1 = (ln(S/K) + (r + v^2/2) T) / (v sqrt T), d2 = d1 - v sqrt T and N the
// normal distribution function.
var optionsProgram = userProgram{
	name: "black_scholes", types: []string{"fp32", "fp64"}, size: 4 << 20, bound32: 2e-6, bound64: 1e-13,
	outputs: []string{"call", "put"},
	shape:   func(n int) string { return fmt.Sprintf("options=%d", n) },
	make: func(p precision, n int) task {
		spot, strike, years := uniforms(1, n), uniforms(2, n), uniforms(3, n)
		for i := range n { // powers of two keep them exact in float32
			spot[i], strike[i], years[i] = 64+64*spot[i], 64+64*strike[i], 0.25+2*years[i]
			spot[i], strike[i], years[i] = p.round(spot[i]), p.round(strike[i]), p.round(years[i])
		}
		s, k, t := upload(p.dtype, values{re: spot}, n), upload(p.dtype, values{re: strike}, n), upload(p.dtype, values{re: years}, n)
		return task{
			inputs: arrays{s, k, t},
			run:    func() []*gpk.Array { return blackScholes(s, k, t) },
			want:   func() [][]float64 { return wantBlackScholes(spot, strike, years) },
		}
	},
	body: []string{"blackScholes", "normalBelow"},
}

func blackScholes(s, k, t *gpk.Array) []*gpk.Array {
	spread := t.Sqrt().Mul(optionsVolatility)
	d1 := s.Div(k).Log().Add(t.Mul(optionsRate + optionsVolatility*optionsVolatility/2)).Div(spread)
	d2 := d1.Sub(spread)
	worth := k.Mul(t.Mul(-optionsRate).Exp())
	call := s.Mul(normalBelow(d1)).Sub(worth.Mul(normalBelow(d2)))
	put := call.Sub(s).Add(worth)
	return []*gpk.Array{call, put}
}

// normalBelow computes the cumulative normal distribution function.
func normalBelow(x *gpk.Array) *gpk.Array { return x.Mul(math.Sqrt2 / 2).Erf().Add(1).Mul(0.5) }

func wantBlackScholes(s, k, t []float64) [][]float64 {
	call, put := make([]float64, len(s)), make([]float64, len(s))
	below := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	const part = 1 << 16
	parallel((len(s)-1)/part+1, func(c int) {
		for i := c * part; i < min(len(s), (c+1)*part); i++ {
			spread := optionsVolatility * math.Sqrt(t[i])
			d1 := (math.Log(s[i]/k[i]) + (optionsRate+optionsVolatility*optionsVolatility/2)*t[i]) / spread
			worth := k[i] * math.Exp(-optionsRate*t[i])
			call[i] = s[i]*below(d1) - worth*below(d1-spread)
			put[i] = call[i] - s[i] + worth
		}
	})
	return [][]float64{call, put}
}
