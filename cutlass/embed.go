package cutlass

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
)

// Sources contains the CUDA sources and headers, under src/. A builder writes them to a
// folder on the include path.
//
//go:embed src
var Sources embed.FS

// sourceFiles lists the files of src by name.
func sourceFiles() []string {
	entries, err := Sources.ReadDir("src")
	if err != nil {
		panic(err) // they are embedded at build time
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// KernelSetHash identifies the input from which libgpk.so and its companions are compiled: the
// first 16 hexadecimal digits of SHA-256 over all sources, all generated texts, and the
// digests of the companions. A libgpk.so built from them returns the same value from
// gpk_kernel_set.
func KernelSetHash() string {
	h := sha256.New()
	add := func(name, text string) { fmt.Fprintf(h, "%s %d\n%s", name, len(text), text) }
	for _, name := range sourceFiles() {
		text, err := Sources.ReadFile("src/" + name)
		if err != nil {
			panic(err) // they are embedded at build time
		}
		add(name, string(text))
	}
	units := Units()
	for _, u := range units {
		add(u.Name, u.Source())
	}
	add("registry", RegistrySource(units))
	add("companions", companions)
	return hex.EncodeToString(h.Sum(nil))[:16]
}
