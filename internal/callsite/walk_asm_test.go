//go:build (amd64 || arm64) && !noasm

package callsite

import "testing"

// TestFramed: Here uses the fast walk, so that the other tests judge it.
func TestFramed(t *testing.T) {
	if !framed {
		t.Error("callers does not find what runtime.Callers finds")
	}
}
