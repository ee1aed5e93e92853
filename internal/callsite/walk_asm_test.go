//go:build (amd64 || arm64) && !noasm

package callsite

import "testing"

// TestFramed checks that Here uses the fast walk, so that the other tests cover it.
func TestFramed(t *testing.T) {
	if !framed {
		t.Error("callers does not find what runtime.Callers finds")
	}
}
