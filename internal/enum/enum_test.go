package enum_test

import (
	"testing"

	"github.com/gpk-go/gpk/internal/enum"
)

// loud is a type whose own String must not be called by Name.
type loud uint8

func (v loud) String() string { return enum.Name(v, "loud", "a", "b") }

func TestName(t *testing.T) {
	for v, want := range map[loud]string{0: "a", 1: "b", 2: "loud(2)", 255: "loud(255)"} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
