package fft

import (
	"fmt"

	"github.com/gpk-go/gpk"
)

// Norm says which direction has the factor of the transform of n elements. It is an option.
type Norm int

// The norms of NumPy.
const (
	Backward Norm = iota // 1/n in the inverse
	Ortho                // 1/sqrt(n) in both, which are then unitary
	Forward              // 1/n in the forward transform
)

// Option is an option of a transform: a Norm, N or Axes.
type Option interface{ set(o *options) error }

// options is what the options of a call say.
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

// N is the option that sets the lengths along the axes transformed: longer ones are cropped,
// shorter ones padded with zeros. For IRFFT, HFFT and those of more axes the last is the length
// of the result.
func N(n ...int) Option { return lengths(n) }

type axes []int

func (a axes) set(o *options) error { o.axes = append([]int{}, a...); return nil }

// Axes is the option that sets the axes transformed; negative ones count from the end. An axis
// may not stand twice.
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
