//go:build (amd64 || arm64) && !noasm

package array

import "testing"

// TestFramed: the fast walk is the one that runs, so that the tests of sites
// judge it.
func TestFramed(t *testing.T) {
	if !framed {
		t.Error("callers does not find what runtime.Callers finds")
	}
}
