package fused

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// RoPEOptions are the options of a rotary position embedding. The zero value rotates all
// features, in halves, with base 10,000.
type RoPEOptions struct {
	// Base is the base of the frequencies: pair i at position p is rotated by
	// p Base^(-2i/Dim) radians. It is positive and finite; 0 stands for 10,000.
	Base float64
	// Interleaved pairs the features 2i and 2i + 1, as GPT-J does. Otherwise pair i is the
	// features i and i + Dim/2, as in Llama and GPT-NeoX.
	Interleaved bool
	// Dim is the number of features at the beginning of a line that are rotated. The others
	// are copied. It is even; 0 stands for all.
	Dim int
	// Scaling changes the frequencies for sequences longer than those of the training. If
	// it is nil, the frequencies are unchanged.
	Scaling *RoPEScaling
}

// RoPEScaling is the scaling of the frequencies of Llama 3 (Grattafiori et al., arXiv
// 2407.21783), with the names of its configuration. A frequency f turns
//
//	n = OriginalPositions f / (2 pi)
//
// times within the positions of the training. It becomes
//
//	f (w + (1 - w)/Factor),  w = (n - LowFreqFactor)/(HighFreqFactor - LowFreqFactor)
//
// with w clamped to [0, 1]: high frequencies stay, and low ones are divided by Factor.
type RoPEScaling struct {
	Factor            float64 // factor, positive
	LowFreqFactor     float64 // low_freq_factor, less than high_freq_factor
	HighFreqFactor    float64 // high_freq_factor
	OriginalPositions int     // original_max_position_embeddings, positive
}

// base returns the base of the frequencies.
func (o *RoPEOptions) base() float64 {
	if o.Base == 0 {
		return 10000
	}
	return o.Base
}

// rotaryDim returns how many of dim features are rotated.
func (o *RoPEOptions) rotaryDim(dim int) int {
	if o.Dim == 0 {
		return dim
	}
	return o.Dim
}

// check returns the first problem of the options for lines of dim features.
func (o *RoPEOptions) check(dim int) error {
	n := o.rotaryDim(dim)
	switch b := o.base(); {
	case !(b > 0) || math.IsInf(b, 1):
		return fmt.Errorf("%w: a base of %v, which is not positive and finite", expr.ErrUnsupported, b)
	case n < 0 || n > dim:
		return layout.Errorf("Dim is %d features, and x has %d", n, dim)
	case n%2 != 0:
		return layout.Errorf("%d features do not form pairs; set Dim to an even number to rotate only the first Dim features", n)
	}
	if o.Scaling == nil {
		return nil
	}
	return o.Scaling.check()
}

// check returns the first problem of the numbers of a scaling.
func (c *RoPEScaling) check() error {
	low, high := c.LowFreqFactor, c.HighFreqFactor
	switch {
	case !(c.Factor > 0) || math.IsInf(c.Factor, 1):
		return fmt.Errorf("%w: a scaling Factor of %v, which is not positive and finite", expr.ErrUnsupported, c.Factor)
	case !(low < high) || math.IsInf(low, -1) || math.IsInf(high, 1):
		return fmt.Errorf("%w: a scaling with LowFreqFactor %v and HighFreqFactor %v, which is not greater and finite", expr.ErrUnsupported, low, high)
	case c.OriginalPositions <= 0:
		return fmt.Errorf("%w: a scaling from %d OriginalPositions, which is not positive", expr.ErrUnsupported, c.OriginalPositions)
	}
	return nil
}

// Frequencies returns, for each pair of n features, the radians by which one position
// rotates it.
func (o *RoPEOptions) Frequencies(n int) []float64 {
	f := make([]float64, n/2)
	for i := range f {
		f[i] = math.Pow(o.base(), -float64(2*i)/float64(n))
		if c := o.Scaling; c != nil {
			w := (f[i]*c.turns() - c.LowFreqFactor) / (c.HighFreqFactor - c.LowFreqFactor)
			w = min(max(w, 0), 1)
			f[i] *= w + (1-w)/c.Factor
		}
	}
	return f
}

// turns returns the number of turns of a frequency of 1 within the positions of the
// training.
func (c *RoPEScaling) turns() float64 { return float64(c.OriginalPositions) / (2 * math.Pi) }
