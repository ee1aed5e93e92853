package setup

import (
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
)

// TestCheckedSets checks that all kernel sets in checked.txt were compiled by the present compiler, with the present headers and
// flags. .ci/run compiles only a sample of these sets.
func TestCheckedSets(t *testing.T) {
	text, err := os.ReadFile("../checked.txt")
	if err != nil {
		t.Fatal(err)
	}
	compiler := regexp.MustCompile(`nvidia-cuda-(nvcc)==(\S+)`).FindStringSubmatch(cudaWheels.requirements)
	flags := sha256.New()
	for _, u := range cutlass.Units() {
		if gencode(u.SM, []string{"90a"}) != nil {
			fmt.Fprintln(flags, u.Name, unitFlags(u, []string{"90a"}))
		}
	}
	want := fmt.Sprintf(" %s-%s cutlass-%s flags-%.8x ", compiler[1], compiler[2], cutlassVersion, flags.Sum(nil)[:4])
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, want) {
			t.Errorf("%q: not compiled with%s: remove the line until the set has been checked again", line, want)
		}
	}
}
