package cutlass

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
)

// Sources holds the CUDA sources and headers, under src/. A builder writes
// them to one folder, which goes on the include path.
//
//go:embed src
var Sources embed.FS

// sourceFiles lists the files of src by name.
func sourceFiles() []string {
	entries, err := Sources.ReadDir("src")
	if err != nil {
		panic(err) // embedded at build time
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// KernelSetHash identifies everything that the library is compiled from: the
// first 16 hexadecimal digits of SHA-256 over all sources and all generated
// texts. gpk_kernel_set of a library built from them answers the same.
func KernelSetHash() string {
	h := sha256.New()
	add := func(name, text string) { fmt.Fprintf(h, "%s %d\n%s", name, len(text), text) }
	for _, name := range sourceFiles() {
		text, err := Sources.ReadFile("src/" + name)
		if err != nil {
			panic(err) // embedded at build time
		}
		add(name, string(text))
	}
	units := Units()
	for _, u := range units {
		add(u.Name, u.Source())
	}
	add("registry", RegistrySource(units))
	return hex.EncodeToString(h.Sum(nil))[:16]
}
