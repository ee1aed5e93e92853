package cutlass

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzCheck examines any file with any description. A file that passes Check matches its
// description; the error for any other is a LibraryError.
func FuzzCheck(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, LibraryName)
	write(f, path, header())
	describe(f, path, nil)
	good, err := os.ReadFile(filepath.Join(dir, SidecarName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(header(), good)
	f.Add(header()[:20], good)
	f.Add(header(), good[:40])
	f.Add([]byte("\x7fELF"), []byte("{}"))
	f.Add(header(), []byte(`{"size":256,"sha256":"0","abi":-1}`))
	f.Add(header(), []byte(`{"size":1e999,"sha256":null,"abi":"1","archs":{}}`))
	f.Fuzz(func(t *testing.T, library, description []byte) {
		write(t, path, library)
		write(t, filepath.Join(dir, SidecarName), description)
		_, s, err := Check(path)
		if err != nil {
			var e *LibraryError
			if !errors.As(err, &e) || e.Reason == "" || s.SHA256 != "" {
				t.Fatalf("%#v, with %+v", err, s)
			}
			return
		}
		var truth Sidecar
		if err := truth.Measure(path); err != nil || truth.Size != s.Size || truth.SHA256 != s.SHA256 || s.ABI != ABI {
			t.Fatalf("passed as %+v, and is %+v, %v", s, truth, err)
		}
		if !json.Valid(description) {
			t.Fatalf("a description that is no JSON: %q", description)
		}
	})
}
