//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package device

import (
	"testing"

	"github.com/gpk-go/gpk/cutlass"
)

func TestDriverNotBuilt(t *testing.T) {
	s := newSystem()
	s.getenv = func(string) string { return "" }
	install(t, s)
	_, err := Open("cuda")
	is(t, err, ErrNoGPU)
	is(t, err, cutlass.ErrNotBuilt)
	if d := Default(); d.Kind() != CPU {
		t.Errorf("the default is %v", d)
	}
}
