package ci

import (
	"strings"
	"testing"
)

// TestVet vets gpk with cgo and without, for each system, each assembly and 32-bit ints. None but the first needs a C compiler.
func TestVet(t *testing.T) {
	root := wanted(t)
	logged(t, root, nil, "go", "vet", "./...")
	logged(t, root, []string{"CGO_ENABLED=0"}, "go", "vet", "./...")
	for _, target := range []string{"windows/amd64", "darwin/arm64", "linux/386"} {
		logged(t, root, cross(target), "go", "vet", "./...")
	}
}

// TestBuild builds gpk for other systems, and without CUDA. The tests of this system build the rest.
func TestBuild(t *testing.T) {
	root := wanted(t)
	for _, target := range []string{"windows/amd64", "darwin/arm64", "linux/arm64"} {
		logged(t, root, cross(target), "go", "build", "./...")
	}
	logged(t, root, nil, "go", "build", "-tags", "nocuda", "./...")
}

// cross returns the environment of a build for another system.
func cross(target string) []string {
	system, arch, _ := strings.Cut(target, "/")
	return []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch}
}
