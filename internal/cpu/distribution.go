package cpu

import "math"

// Exponential, gamma, Poisson and binomial numbers, which need a random number of uniform numbers
// each. Element i uses the Philox blocks whose counter has block + i in its low half, and
// 1, 2, … in its high half. No other random number uses these blocks, and no element
// depends on another one. The numbers are computed on the host for every device; products
// are rounded before they are added.

// words64 are the blocks of one element, one after the other.
type words64 struct {
	seed, block, next uint64
	spare             uint64
	more              bool
}

// pair returns the two halves of the next block.
func (w *words64) pair() (a, b uint64) {
	w.next++
	p, q, r, s := philox(uint32(w.block), uint32(w.block>>32), uint32(w.next), uint32(w.next>>32), uint32(w.seed), uint32(w.seed>>32))
	return uint64(p) | uint64(q)<<32, uint64(r) | uint64(s)<<32
}

// unit returns a uniform number in (0, 1): an odd multiple of 2^-53.
func (w *words64) unit() float64 {
	if w.more = !w.more; w.more {
		var a uint64
		a, w.spare = w.pair()
		return openUnit(a)
	}
	return openUnit(w.spare)
}

func openUnit(v uint64) float64 { return float64(v>>12<<1|1) * 0x1p-53 }

// drawn calls f with every element's words.
func drawn[T any](dst []T, seed, block uint64, f func(w *words64) T) {
	Parallel(len(dst), philoxChunk, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dst[i] = f(&words64{seed: seed, block: block + uint64(i)})
		}
	})
}

// Exponential fills dst with numbers of the exponential distribution with mean 1: the
// negative logarithm of a uniform number in (0, 1), which is positive.
func Exponential(dst []float64, seed, block uint64) {
	drawn(dst, seed, block, func(w *words64) float64 { return -logUnit(w.unit()) })
}

// Gumbel fills dst with numbers of the standard Gumbel distribution: the negative logarithm of
// an exponential number.
func Gumbel(dst []float64, seed, block uint64) {
	drawn(dst, seed, block, func(w *words64) float64 { return -logUnit(-logUnit(w.unit())) })
}

// Gamma fills dst with numbers of the gamma distribution with the given positive shape and
// scale 1, by Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables" (ACM
// Transactions on Mathematical Software 26, 2000). For a shape below 1 it multiplies a
// number of shape + 1 by a power of a uniform number.
func Gamma(dst []float64, shape float64, seed, block uint64) {
	d := max(shape, 0) - 1.0/3
	if shape < 1 {
		d = shape + 2.0/3
	}
	c := 1 / math.Sqrt(9*d)
	drawn(dst, seed, block, func(w *words64) float64 {
		g := gamma(w, d, c)
		if shape < 1 {
			g *= math.Exp(logUnit(w.unit()) / shape)
		}
		return g
	})
}

func gamma(w *words64, d, c float64) float64 {
	for {
		x, _ := normal64(w.pair())
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v*v) * v
		bound := float64(0.5*x*x) + d - float64(d*v) + float64(d*logUnit(v))
		if logUnit(w.unit()) < bound {
			return float64(d * v)
		}
	}
}

// shortPoisson is the mean below which Poisson multiplies uniform numbers.
const shortPoisson = 10

// Poisson fills dst with numbers of the Poisson distribution with a mean from 0 to 2^32. Up
// to that mean the error of the logarithm of the probability is below 10^-4. For a small
// mean it counts the uniform numbers until their product is below e^-mean (Knuth, The Art
// of Computer Programming 2, 3.4.1). Otherwise it uses Hörmann, "The transformed rejection
// method for generating Poisson random variables" (Insurance: Mathematics and Economics 12,
// 1993), algorithm PTRS.
func Poisson(dst []int64, mean float64, seed, block uint64) {
	if mean < shortPoisson {
		least := math.Exp(-mean)
		drawn(dst, seed, block, func(w *words64) int64 {
			k := int64(0)
			for p := w.unit(); p > least; p *= w.unit() {
				k++
			}
			return k
		})
		return
	}
	b := 0.931 + float64(2.53*math.Sqrt(mean))
	a := float64(0.02483*b) - 0.059
	p := poisson{mean: mean, logMean: math.Log(mean), a: a, b: b, inverse: 1.1239 + 1.1328/(b-3.4), quick: 0.9277 - 3.6224/(b-2)}
	drawn(dst, seed, block, p.draw)
}

// poisson holds the constants of PTRS.
type poisson struct{ mean, logMean, a, b, inverse, quick float64 }

func (p *poisson) draw(w *words64) int64 {
	for {
		u, v := w.unit()-0.5, w.unit()
		s := 0.5 - math.Abs(u)
		k := math.Floor(float64((2*p.a/s+p.b)*u) + p.mean + 0.43)
		switch {
		case s >= 0.07 && v <= p.quick:
			return int64(k)
		case k < 0 || s < 0.013 && v > s:
			continue
		}
		above, _ := math.Lgamma(k + 1)
		if math.Log(v)+math.Log(p.inverse)-math.Log(p.a/float64(s*s)+p.b) <= float64(k*p.logMean)-p.mean-above {
			return int64(k)
		}
	}
}

// shortBinomial is the mean below which Binomial adds up probabilities.
const shortBinomial = 10

// Binomial fills dst with the number of successes among n trials, from 0 to 2^32, of probability p each. A p above
// 1/2 counts the failures. For a small mean it adds up probabilities until they exceed a uniform number. Otherwise
// it uses Hörmann, "The generation of binomial random variates" (Journal of Statistical Computation and Simulation
// 46, 1993), algorithm BTRS. Up to n = 2^32 the error of the logarithm of the probability is below 10^-4.
func Binomial(dst []int64, n int64, p float64, seed, block uint64) {
	if p > 0.5 {
		Binomial(dst, n, 1-p, seed, block)
		for i, k := range dst {
			dst[i] = n - k
		}
		return
	}
	trials := float64(n)
	if float64(trials*p) < shortBinomial {
		none, ratio := math.Exp(float64(trials*math.Log1p(-p))), p/(1-p)
		drawn(dst, seed, block, func(w *words64) int64 {
			u, f := w.unit(), none
			for k := range n {
				if u <= f || f < 0x1p-60 { // rounding leaves u above the sum of all that are larger
					return k
				}
				u -= f
				f *= ratio * float64(n-k) / float64(k+1)
			}
			return n
		})
		return
	}
	deviation := math.Sqrt(float64(trials*p) * (1 - p))
	b := 1.15 + float64(2.53*deviation)
	a := float64(0.0248*b) - 0.0873 + float64(0.01*p)
	d := binomial{
		trials: trials, a: a, b: b, center: float64(trials*p) + 0.5, quick: 0.92 - 4.2/b,
		scale: (2.83 + 5.1/b) * deviation, mode: math.Floor(float64((trials + 1) * p)), logOdds: math.Log(p / (1 - p)),
	}
	d.atMode = d.logFactorials(d.mode)
	drawn(dst, seed, block, d.draw)
}

// binomial holds the constants of BTRS.
type binomial struct{ trials, a, b, center, quick, scale, mode, logOdds, atMode float64 }

// logFactorials returns log(k! (n-k)!).
func (d *binomial) logFactorials(k float64) float64 {
	x, _ := math.Lgamma(k + 1)
	y, _ := math.Lgamma(d.trials - k + 1)
	return x + y
}

func (d *binomial) draw(w *words64) int64 {
	for {
		u, v := w.unit()-0.5, w.unit()
		s := 0.5 - math.Abs(u)
		k := math.Floor(float64((2*d.a/s+d.b)*u) + d.center)
		switch {
		case s >= 0.07 && v <= d.quick:
			return int64(k)
		case k < 0 || k > d.trials:
			continue
		}
		if math.Log(v*d.scale/(d.a/float64(s*s)+d.b)) <= float64((k-d.mode)*d.logOdds)+d.atMode-d.logFactorials(k) {
			return int64(k)
		}
	}
}
