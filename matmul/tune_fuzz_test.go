package matmul

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzTuneFile reads arbitrary bytes as the file of measured choices. Every choice names
// an existing kernel and a time, and the next store writes a valid file.
func FuzzTuneFile(f *testing.F) {
	dir := f.TempDir()
	open := func(t testing.TB) *tuneFile {
		file := &tuneFile{path: filepath.Join(dir, "choices.json"), header: tuneHeader{tuneVersion, "a device", "580.1", "0123"}, choices: map[string]tuneChoice{}}
		if found, err := file.read(); err == nil {
			file.choices = found
		}
		return file
	}
	valid := open(f)
	if err := valid.store("a problem", tuneChoice{manifest[3].Name, 12.5}); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(valid.path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	for _, s := range []string{"", "{", "{}", "null", `{"version":1,"device":"a device","driver":"580.1","kernels":"0123"}`, `{"version":1,"device":"a device","driver":"580.1","kernels":"0123","choices":{"k":{"kernel":"none","us":1}}}`, `{"version":1,"device":"a device","driver":"580.1","kernels":"0123","choices":null}x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(valid.path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		file := open(t)
		for key, c := range file.choices {
			known := false
			for _, k := range manifest {
				known = known || k.Name == strings.TrimSuffix(strings.TrimSuffix(c.Kernel, inParts), withLast)
			}
			if !known || key == "" || !(c.Microseconds > 0) || math.IsInf(c.Microseconds, 0) {
				t.Fatalf("%q: %+v", key, c)
			}
		}
		want := tuneChoice{manifest[0].Name, 1}
		if err := file.store("mine", want); err != nil {
			t.Fatal(err)
		}
		if got, ok := open(t).lookup("mine"); !ok || got != want {
			t.Fatalf("stored, and found %+v, %v", got, ok)
		}
	})
}
