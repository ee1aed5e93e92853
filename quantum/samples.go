package quantum

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/cpu"
)

// samples are the rows of x: converted to float64 on the host, or in place on a GPU, which
// checks and reads them itself.
type samples struct {
	name        string // x or y
	n, features int
	data        []float64
	array       *gpk.Array      // on a GPU
	number      func(i int) int // returns the index of row i in the user's samples; nil: i
	lent        cpu.Scratch[float64]
	made        *gpk.Array // array, if it must be freed
}

// free releases the memory of the rows.
func (s *samples) free() {
	s.lent.Free()
	s.data = nil
	s.made.Free()
}

// origin returns the index of row i in the user's samples.
func (s *samples) origin(i int) int {
	if s.number == nil {
		return i
	}
	return s.number(i)
}

func (s *samples) row(i int) []float64 { return s.data[i*s.features : (i+1)*s.features] }

// readSamples copies x [n, features] to the host and checks its type, its rank, that it
// has enough features for the circuit, and that it has no NaN or Inf.
func readSamples(name string, x *gpk.Array, need int) (*samples, error) {
	if x == nil {
		return nil, fmt.Errorf("%w: %s is nil", gpk.ErrShape, name)
	}
	if err := x.Err(); err != nil {
		return nil, err
	}
	if x.DType() != gpk.Float32 && x.DType() != gpk.Float64 {
		return nil, fmt.Errorf("%w: %s is %v; samples are float32 or float64, Cast them", gpk.ErrDType, name, x.DType())
	}
	shape := x.Shape()
	if len(shape) != 2 {
		return nil, fmt.Errorf("%w: %s has shape %v, not [samples, features]", gpk.ErrShape, name, shape)
	}
	s := &samples{name: name, n: shape[0], features: shape[1]}
	if s.features < need {
		return nil, fmt.Errorf("%w: %s has %d features, the circuit reads %d (feature %d is missing)", gpk.ErrShape, name, s.features, need, s.features)
	}
	if x.Device().Kind() == device.CUDA {
		s.array = x
		return s, nil
	}
	s.lent = cpu.NewScratch[float64](s.n * s.features)
	s.data = s.lent.Data()
	if err := s.read(x); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

// read copies x to the host's memory and checks it.
func (s *samples) read(x *gpk.Array) error {
	wide := x
	if x.DType() != gpk.Float64 {
		if err := gpk.Eval(x); err != nil { // otherwise Cast would compute a pending x, and the next reader would compute it again
			return err
		}
		wide = x.Cast(gpk.Float64)
		defer wide.Free()
	}
	if err := gpk.ToSliceInto(s.data, wide); err != nil {
		return err
	}
	for i, v := range s.data {
		if v-v != 0 { // NaN or Inf
			return notFinite(s.name, i/s.features, i%s.features, v)
		}
	}
	return nil
}

func notFinite(name string, row, col int, v float64) error {
	return fmt.Errorf("%w: %s[%d, %d] is %v (row %d, column %d); drop or mend the sample", gpk.ErrNonFinite, name, row, col, v, row, col)
}
