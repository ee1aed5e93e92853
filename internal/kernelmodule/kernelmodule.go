// Package kernelmodule makes Go modules of prebuilt kernels, laid out as a module
// proxy serves them.
//
// What belongs here: the files of such a module, its archive and its checksum.
// What does not: building the library (cutlass/setup), checking and loading it
// (cutlass).
package kernelmodule

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gpk-go/gpk/cutlass"
)

// Options are the inputs from which Write makes a module.
type Options struct {
	Library string    // the file libgpk.so for one target, with its description beside it
	License string    // the text of the licence
	GPK     string    // the version of gpk that the module requires: v1.2.3
	Time    time.Time // of the release
}

// Module is a module that Write made.
type Module struct {
	Path, Version string
	Sum, GoModSum string // as go.sum has them: h1:...
}

const source = `// Package %[1]s puts gpk's kernels for sm_%[2]s into the program that imports it.
package %[1]s

import (
	_ "embed" // the library

	"github.com/gpk-go/gpk/cutlass"
)

//go:embed %[3]s
var library string

//go:embed %[4]s
var description string

func init() {
	cutlass.Register(cutlass.Prebuilt{Module: %[5]q, Library: library, Description: description})
}
`

// Write makes the module of a library in folder proxy, which GOPROXY can name as
// file://.
func Write(proxy string, o Options) (Module, error) {
	path, s, err := cutlass.Check(o.Library)
	if err != nil {
		return Module{}, err
	}
	if s.KernelSet != cutlass.KernelSetHash() {
		return Module{}, fmt.Errorf("%s is of kernel set %s, this checkout has %s; run `gpk setup -compile`", path, s.KernelSet, cutlass.KernelSetHash())
	}
	if len(s.Archs) != 1 {
		return Module{}, fmt.Errorf("%s is for the targets %s, a module holds one; run `gpk setup -compile -arch TARGET`", path, strings.Join(s.Archs, " "))
	}
	library, err := os.ReadFile(path)
	if err != nil {
		return Module{}, err
	}
	description, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return Module{}, err
	}
	m := Module{Path: cutlass.PrebuiltModule(s.Archs[0]), Version: cutlass.PrebuiltVersion()}
	name := "sm" + s.Archs[0]
	code := fmt.Sprintf(source, name, s.Archs[0], cutlass.PrebuiltLibrary, cutlass.PrebuiltDescription, m.Path+"@"+m.Version)
	doc, _, _ := strings.Cut(code, "\n\n")
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return Module{}, err
	}
	if _, err := z.Write(library); err != nil {
		return Module{}, err
	}
	if err := z.Close(); err != nil {
		return Module{}, err
	}
	goMod := fmt.Sprintf("module %s\n\ngo 1.26\n\nrequire github.com/gpk-go/gpk %s\n", m.Path, o.GPK)
	files := map[string][]byte{
		"go.mod": []byte(goMod), "LICENSE": []byte(o.License), "doc.go": []byte(doc + "\n"),
		"kernels_linux_" + runtime.GOARCH + ".go": []byte(code[strings.Index(code, "package "):]),
		cutlass.PrebuiltLibrary:                   packed.Bytes(), cutlass.PrebuiltDescription: description,
	}
	return m, m.write(proxy, files, o.Time)
}

// write makes the files that a proxy serves of a module.
func (m *Module) write(proxy string, files map[string][]byte, at time.Time) error {
	dir := filepath.Join(proxy, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{m.Version, at.UTC()})
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	prefix := m.Path + "@" + m.Version + "/"
	named := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(prefix + name)
		if err != nil {
			return err
		}
		if _, err := w.Write(files[name]); err != nil {
			return err
		}
		named[prefix+name] = files[name]
	}
	if err := z.Close(); err != nil {
		return err
	}
	m.Sum = sum(named)
	m.GoModSum = sum(map[string][]byte{"go.mod": files["go.mod"]})
	for name, content := range map[string][]byte{
		"list": []byte(m.Version + "\n"), m.Version + ".info": info, m.Version + ".mod": files["go.mod"], m.Version + ".zip": archive.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sum returns the checksum "h1" of go.sum: Hash1 of golang.org/x/mod/sumdb/dirhash.
func sum(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}
