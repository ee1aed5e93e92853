package array

import (
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// TestChecked checks that the operations whose indices a GPU checks while it runs say so: with Into they would wait for
// the check otherwise.
func TestChecked(t *testing.T) {
	x := FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	i := FromSlice([]int64{0, 1}, 2)
	places := i.Reshape(2, 1)
	for name, a := range map[string]*Array{
		"Take":          x.Take(i, 1),
		"TakeAlongAxis": x.TakeAlongAxis(places, 1),
		"PutAlongAxis":  x.PutAlongAxis(places, 0, 1),
		"ScatterAdd":    x.ScatterAdd(i, x, 0),
	} {
		if a.Err() != nil || a.DType() != dtype.Float32 {
			t.Fatalf("%s: %v", name, a.Err())
		}
		n := a.node()
		for n != nil && !n.checked && len(n.in) > 0 { // views and casts of the result
			n = n.in[0].of.node
		}
		if n == nil || !n.checked {
			t.Errorf("%s is not marked as checked on the device", name)
		}
	}
}
