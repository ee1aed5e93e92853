package ci

import (
	"os"
	"path/filepath"
	"testing"
)

// wanted returns the root of the repository, and skips the test outside of .ci/run.
func wanted(t *testing.T) string {
	t.Helper()
	if os.Getenv("GPK_CI") == "" {
		t.Skip("NOT RUN: it takes minutes; .ci/run sets GPK_CI=1")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}
