package ops

import (
	"fmt"
	"testing"

	"github.com/gpk-go/gpk/expr"
)

// TestNextAfterNumber checks that no operation of package expr has the number of NextAfter in the kernel library.
func TestNextAfterNumber(t *testing.T) {
	if s := nextAfter.String(); s != fmt.Sprintf("Op(%d)", nextAfter) {
		t.Errorf("number %d is that of %v; give NextAfter another one here and in ops_functions.cu", nextAfter, s)
	}
	if s := expr.Add.String(); s != "Add" {
		t.Errorf("Add is %q", s)
	}
}
