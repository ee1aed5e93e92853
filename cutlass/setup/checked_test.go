package setup

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCheckedSets checks that the kernel sets of which .ci/run compiles a sample only were compiled by the compiler and with
// the headers of today.
func TestCheckedSets(t *testing.T) {
	text, err := os.ReadFile("../checked.txt")
	if err != nil {
		t.Fatal(err)
	}
	compiler := regexp.MustCompile(`nvidia-cuda-(nvcc)==(\S+)`).FindStringSubmatch(cudaWheels.requirements)
	want := " " + compiler[1] + "-" + compiler[2] + " cutlass-" + cutlassVersion + " "
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, want) {
			t.Errorf("%q: not compiled with%s: remove the line until the set has been checked again", line, want)
		}
	}
}
