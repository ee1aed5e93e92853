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
	Library string    // the file libgpk.so for one target, with its description and its companions beside it
	License string    // the text of the licence
	GPK     string    // the version of gpk that the module requires: v1.2.3
	Time    time.Time // time of the release

	Companions []string // the names of the companions
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
%[6]s
func init() {
	cutlass.Register(cutlass.Prebuilt{Module: %[5]q, Library: library, Description: description%[7]s})
}
`

// companionSource is the part of source for a companion.
const companionSource = `
//go:embed %[2]s
var %[1]sLibrary string

//go:embed %[3]s
var %[1]sDescription string
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
	library, description, err := pack(path, s)
	if err != nil {
		return Module{}, err
	}
	m := Module{Path: cutlass.PrebuiltModule(s.Archs[0]), Version: cutlass.PrebuiltVersion()}
	name := "sm" + s.Archs[0]
	files := map[string][]byte{cutlass.PrebuiltLibrary: library, cutlass.PrebuiltDescription: description}
	var embedded, listed strings.Builder
	for _, c := range o.Companions {
		at, own, err := cutlass.CheckCompanion(filepath.Join(filepath.Dir(path), cutlass.CompanionLibrary(c)))
		if err != nil {
			return Module{}, err
		}
		if !own.SameBuild(s) {
			return Module{}, fmt.Errorf("%s and %s come from different builds; run `gpk setup -compile`", at, path)
		}
		file, describedIn := cutlass.PrebuiltCompanionFiles(c)
		if files[file], files[describedIn], err = pack(at, own); err != nil {
			return Module{}, err
		}
		fmt.Fprintf(&embedded, companionSource, c, file, describedIn)
		fmt.Fprintf(&listed, "\n\t\t{Name: %[1]q, Library: %[1]sLibrary, Description: %[1]sDescription},", c)
	}
	list := ""
	if listed.Len() > 0 {
		list = ", Companions: []cutlass.PrebuiltCompanion{" + listed.String() + "\n\t}"
	}
	code := fmt.Sprintf(source, name, s.Archs[0], cutlass.PrebuiltLibrary, cutlass.PrebuiltDescription, m.Path+"@"+m.Version, embedded.String(), list)
	doc, _, _ := strings.Cut(code, "\n\n")
	goMod := fmt.Sprintf("module %s\n\ngo 1.26\n\nrequire github.com/gpk-go/gpk %s\n", m.Path, o.GPK)
	files["go.mod"], files["LICENSE"], files["doc.go"] = []byte(goMod), []byte(o.License), []byte(doc+"\n")
	files["kernels_linux_"+runtime.GOARCH+".go"] = []byte(code[strings.Index(code, "package "):])
	return m, m.write(proxy, files, o.Time)
}

// pack returns the library at path, compressed, and its description.
func pack(path string, s cutlass.Sidecar) (library, description []byte, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if description, err = json.MarshalIndent(s, "", "  "); err != nil {
		return nil, nil, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, nil, err
	}
	if _, err := z.Write(content); err != nil {
		return nil, nil, err
	}
	err = z.Close()
	return packed.Bytes(), description, err
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
