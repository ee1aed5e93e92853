package cpu

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// TestGemmTypes checks that every pair of types has products or is ErrDType: a product of zeros
// writes C.
func TestGemmTypes(t *testing.T) {
	products := 0
	for _, dt := range dtype.All {
		for _, out := range dtype.All {
			const poison = 1.0/3 + 1i/3 // no byte is 0
			x, c := complex128(0), complex128(poison)
			zero := Operand{Data: unsafe.Pointer(&x), RS: 1, CS: 1}
			err := Gemm(dt, out, 1, 1, 1, zero, zero, unsafe.Pointer(&c), 1, nil)
			switch {
			case err == nil && c == poison:
				t.Errorf("a product of %v in %v writes nothing", dt, out)
			case err == nil:
				products++
			case !errors.Is(err, dtype.ErrDType) || c != poison:
				t.Errorf("%v in %v: %v, and C is %v", dt, out, err, c)
			}
		}
	}
	if products != 12 {
		t.Errorf("%d pairs of types have products, want 12", products)
	}
}
