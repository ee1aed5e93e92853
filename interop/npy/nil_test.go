package npy

import (
	"path/filepath"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls every function of the package with nil, with zero values and with the smallest and
// largest numbers.
func TestNil(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	niltest.Run(t, niltest.Package{Functions: map[string]any{
		"Header": Header, "Read": Read, "ReadFile": ReadFile, "Load": Load, "Bytes": Bytes[float32], "Write": Write,
		"WriteFile": func(_ string, a *gpk.Array) error { return WriteFile(file, a) },
		"ReadZip":   ReadZip, "ReadZipFile": ReadZipFile, "WriteZip": WriteZip,
		"WriteZipFile": func(_ string, as map[string]*gpk.Array) error { return WriteZipFile(file, as) },
	}})
}
