package kernels_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/quantum/kernels"
)

// TestDigest checks that the kernel set has the digest of these sources. With another digest,
// setup would put these kernels into the folder of other sources.
func TestDigest(t *testing.T) {
	c := kernels.Companion()
	if !slices.Contains(cutlass.Companions(), c.Name) {
		t.Fatalf("the kernel set has %v, not %s", cutlass.Companions(), c.Name)
	}
	if got := cutlass.CompanionDigest(c.Name); got != c.Digest() {
		t.Errorf("cutlass/companions.txt has %q, the sources have %s: run go generate ./...", got, c.Digest())
	}
}

// TestSources checks that every header that a source includes by name is one of the sources or
// of cutlass/src, and that no unit is missing from the list.
func TestSources(t *testing.T) {
	c := kernels.Companion()
	include := regexp.MustCompile(`(?m)^#include "([^"/]+)"`)
	for name, text := range c.Sources {
		for _, m := range include.FindAllStringSubmatch(text, -1) {
			_, err := cutlass.Sources.ReadFile("src/" + m[1])
			if _, own := c.Sources[m[1]]; own == (err == nil) {
				t.Errorf("%s includes %s, which is here: %v, and in cutlass/src: %v", name, m[1], own, err == nil)
			}
		}
	}
	var names []string
	for _, u := range c.Units() {
		names = append(names, u.Name)
		if u.Source() != c.Sources[u.File] || u.Companion != c.Name || !strings.Contains(u.Source(), "GPK_KERNEL_ENTRY") {
			t.Errorf("%+v", u)
		}
	}
	if want := []string{"quantum_gram", "quantum_states"}; !slices.Equal(names, want) {
		t.Errorf("units %v, want %v", names, want)
	}
	for name := range c.WGMMA {
		if !slices.Contains(names, name) {
			t.Errorf("WGMMA names the unit %s, there are %v", name, names)
		}
	}
}

// TestEntries checks that the sources have every entry point that package quantum binds, and
// no other.
func TestEntries(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "kernels_cuda.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := func(pattern, text string) []string {
		var names []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		return names
	}
	var sources strings.Builder
	for _, u := range kernels.Companion().Units() {
		sources.WriteString(u.Source())
	}
	bound, defined := names(`bind\(lib, "(\w+)"`, string(text)), names(`GPK_KERNEL_ENTRY int (\w+)`, sources.String())
	if len(bound) == 0 || !slices.Equal(bound, defined) {
		t.Errorf("package quantum binds %v, the sources define %v", bound, defined)
	}
}
