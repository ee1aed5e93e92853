package ci

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLint checks the format, comments on exported names and a short list of linters.
func TestLint(t *testing.T) {
	const version = "v2.15.0"
	root := wanted(t)
	bin := filepath.Join(os.Getenv("GPK_CI"), "golangci-lint-"+version)
	lint := filepath.Join(bin, "golangci-lint")
	if _, err := os.Stat(lint); err != nil {
		logged(t, root, []string{"GOBIN=" + bin}, "go", "install", "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@"+version)
	}
	logged(t, root, nil, lint, "fmt", "--diff", "./...") // fails if it would change a file
	logged(t, root, nil, lint, "run", "./...")
	logged(t, root, []string{"CGO_ENABLED=0"}, lint, "run", "--disable", "unused", "./...") // the files that say what is missing
	logged(t, root, nil, "go", "mod", "tidy", "-diff")
}
