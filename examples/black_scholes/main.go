// Command black_scholes prices a million European options by the formula of Black and
// Scholes. The operations of a price are one kernel on a GPU.
//
//	go run ./examples/black_scholes
//
// Output:
//
//	an option at 100 on a share of 100, for a year: call 10.45, put 5.57
//	of 1000000 options, put-call parity holds within 1e-10
package main

import (
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/gpk-go/gpk"
)

const options, rate, volatility = 1_000_000, 0.05, 0.2

// prices returns the prices of calls and puts on shares at spot, with strike prices and
// times to expiry in years.
func prices(spot, strike, years *gpk.Array) (call, put *gpk.Array) {
	spread := years.Sqrt().Mul(volatility)
	d1 := spot.Div(strike).Log().Add(years.Mul(rate + volatility*volatility/2)).Div(spread)
	d2 := d1.Sub(spread)
	worth := strike.Mul(years.Mul(-rate).Exp())
	call = spot.Mul(normal(d1)).Sub(worth.Mul(normal(d2)))
	put = worth.Mul(normal(d2.Neg())).Sub(spot.Mul(normal(d1.Neg())))
	return call, put
}

// normal returns the distribution function of the standard normal distribution.
func normal(x *gpk.Array) *gpk.Array { return x.Mul(math.Sqrt2 / 2).Erf().Add(1).Mul(0.5) }

func main() {
	one := func(v float64) *gpk.Array { return gpk.Full(gpk.Float64, v, 1) }
	call, put := prices(one(100), one(100), one(1))
	c, err1 := gpk.Item[float64](call)
	p, err2 := gpk.Item[float64](put)
	fmt.Printf("an option at 100 on a share of 100, for a year: call %.2f, put %.2f\n", c, p)

	rng := gpk.NewRNG(1)
	spot, strike := rng.Uniform(gpk.Float64, 50, 150, options), rng.Uniform(gpk.Float64, 50, 150, options)
	years := rng.Uniform(gpk.Float64, 0.1, 2, options)
	call, put = prices(spot, strike, years)
	// call - put = spot - strike exp(-rate years)
	parity := call.Sub(put).Sub(spot).Add(strike.Mul(years.Mul(-rate).Exp()))
	worst, err3 := gpk.Item[float64](parity.Abs().Max())
	if err := errors.Join(err1, err2, err3); err != nil {
		log.Fatal(err)
	}
	if !(worst <= 1e-10) {
		log.Fatalf("put-call parity is off by %g", worst)
	}
	fmt.Printf("of %d options, put-call parity holds within 1e-10\n", options)
}
