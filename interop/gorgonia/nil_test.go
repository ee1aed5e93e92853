package gorgonia

import (
	"errors"
	"math"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	niltest.Run(t, niltest.Package{
		Values: []func() any{func() any { return NewEngine() }},
		Functions: map[string]any{
			"FromDense": FromDense, "ToDense": ToDense, "IntoDense": IntoDense, "WithDevice": WithDevice, "WithMinSize": WithMinSize,
			"WithPrecision": WithPrecision, "NewEngine": NewEngine,
		},
	})
}

// TestFitsFar checks strides whose products overflow an int.
func TestFitsFar(t *testing.T) {
	for _, s := range []strided{
		{[]int{3, 5}, []int{math.MaxInt / 2, 1}},
		{[]int{math.MaxInt, 3}, []int{2, 1}},
		{[]int{5, 5}, []int{math.MaxInt / 4, math.MaxInt / 4}},
	} {
		if err := s.fits(100); !errors.Is(err, gpk.ErrShape) {
			t.Errorf("%v: %v", s, err)
		}
	}
	if err := (strided{[]int{math.MaxInt, 0}, []int{math.MaxInt, 1}}).fits(0); err != nil {
		t.Errorf("no elements: %v", err)
	}
}
