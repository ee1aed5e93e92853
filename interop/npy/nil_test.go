package npy

import (
	"testing"

	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	t.Chdir(t.TempDir()) // some write files
	niltest.Run(t, niltest.Package{Functions: map[string]any{
		"Header": Header, "Read": Read, "ReadFile": ReadFile, "Bytes": Bytes[float32], "Write": Write, "WriteFile": WriteFile,
		"ReadZip": ReadZip, "ReadZipFile": ReadZipFile, "WriteZip": WriteZip, "WriteZipFile": WriteZipFile,
	}})
}
