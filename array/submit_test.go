package array

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/submit"
)

// TestSubmitError: the error of queued work names the call that was to write the
// array.
func TestSubmitError(t *testing.T) {
	x := Ones(dtype.Float32, 4)
	z := x.Add(x)
	w := Zeros(dtype.Float32, 4)
	if err := errors.Join(Eval(z, w), Into(w, x.Mul(x))); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("the driver says no")
	for _, c := range []struct {
		a  *Array
		op string
	}{{z, "Add"}, {w, "Into"}} {
		buf, err := c.a.Buffer()
		if err != nil {
			t.Fatal(err)
		}
		buf.State().Fail(&submit.Error{Err: cause})
		_, err = ToSlice[float32](c.a)
		var e *OpError
		if !errors.As(err, &e) || e.Op != c.op || !strings.Contains(e.Site, "submit_test.go:") || !errors.Is(err, cause) {
			t.Errorf("%v, want the error of %s", err, c.op)
		}
	}
	if err := Into(w, x); err != nil { // overwritten whole
		t.Error(err)
	}
	if got, err := ToSlice[float32](w); err != nil || got[0] != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
