//go:build (amd64 || arm64) && !noasm

package goroutine

import "testing"

// TestOffset: the runtime's record has the number, so that ID is fast. A failure under a
// new version of Go says that ID became slow, not wrong.
func TestOffset(t *testing.T) {
	if offset() == 0 {
		t.Error("the number was not found in the runtime's record of a goroutine")
	}
}
