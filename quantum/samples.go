package quantum

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// samples are the rows of x: on the host in float64, or where they lie on a GPU,
// which checks and reads them itself.
type samples struct {
	n, features int
	data        []float64
	array       *gpk.Array // on a GPU
}

func (s *samples) row(i int) []float64 { return s.data[i*s.features : (i+1)*s.features] }

// readSamples brings x [n, features] to the host and checks it: its type, its
// rank, enough features for the circuit, and no NaN or Inf, which is never
// repaired.
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
	s := &samples{n: shape[0], features: shape[1]}
	if s.features < need {
		return nil, fmt.Errorf("%w: %s has %d features, the circuit reads %d (feature %d is missing)", gpk.ErrShape, name, s.features, need, s.features)
	}
	if x.Device().Kind() == device.CUDA {
		s.array = x
		return s, nil
	}
	if x.DType() == gpk.Float64 {
		data, err := gpk.ToSlice[float64](x)
		if err != nil {
			return nil, err
		}
		s.data = data
	} else {
		data, err := gpk.ToSlice[float32](x)
		if err != nil {
			return nil, err
		}
		s.data = make([]float64, len(data))
		for i, v := range data {
			s.data[i] = float64(v)
		}
	}
	for i, v := range s.data {
		if v-v != 0 { // NaN or Inf
			return nil, notFinite(name, i/s.features, i%s.features, v)
		}
	}
	return s, nil
}

func notFinite(name string, row, col int, v float64) error {
	return fmt.Errorf("%w: %s[%d, %d] is %v (row %d, column %d); drop or mend the sample", gpk.ErrNonFinite, name, row, col, v, row, col)
}
