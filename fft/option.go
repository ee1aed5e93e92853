package fft

import (
	"fmt"

	"github.com/gpk-go/gpk"
)

// Norm selects the direction whose transform of n elements has the factor. It is an option.
type Norm int

// The norms of NumPy.
const (
	Backward Norm = iota // 1/n in the inverse
	Ortho                // 1/sqrt(n) in both, which makes them unitary
	Forward              // 1/n in the forward transform
)

// Option is an option of a transform: a Norm, N or Axes.
type Option interface{ set(o *options) error }

// options holds the values of a call's options.
type options struct {
	norm    Norm
	lengths []int // nil: those of the operand
	axes    []int // nil: the last ones
}

func (n Norm) set(o *options) error {
	if n < Backward || n > Forward {
		return fmt.Errorf("%w: Norm(%d)", gpk.ErrUnsupported, int(n))
	}
	o.norm = n
	return nil
}

type lengths []int

func (l lengths) set(o *options) error { o.lengths = append([]int{}, l...); return nil }

// N is the option that sets the lengths of the transformed axes. Longer axes are cropped, and
// shorter ones are padded with zeros. For IRFFT, HFFT and their versions for several axes, the
// last length is that of the result.
func N(n ...int) Option { return lengths(n) }

type axes []int

func (a axes) set(o *options) error { o.axes = append([]int{}, a...); return nil }

// Axes is the option that selects the axes to transform. Negative axes count from the end. An
// axis must not occur twice.
func Axes(a ...int) Option { return axes(a) }

func optionsOf(given []Option) (o options, err error) {
	for _, g := range given {
		if g == nil {
			return o, fmt.Errorf("%w: a nil option", gpk.ErrUnsupported)
		}
		if err := g.set(&o); err != nil {
			return o, err
		}
	}
	return o, nil
}
