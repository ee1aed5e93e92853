package ci

import (
	"regexp"
	"testing"
)

// TestSkipped says which tests of a GPU were skipped.
func TestSkipped(t *testing.T) {
	root := wanted(t)
	for _, c := range []struct{ what, tests, folder, reason string }{
		{"the conformance suite on CUDA", "^TestCUDA$", "./gpktest", `: the GPU suite was NOT run: (.*)`},
		{"a test of package quantum", "^(TestPointBits|TestFusedSmallGram)$", "./quantum", `_test\.go:[0-9]+: (.*-quantum\.device=cuda.*)`},
	} {
		out := logged(t, root, nil, "go", "test", "-count=1", "-v", "-run", c.tests, c.folder)
		for _, m := range regexp.MustCompile(c.reason).FindAllStringSubmatch(out, -1) {
			notRun(t, c.what+": "+m[1])
		}
	}
}
