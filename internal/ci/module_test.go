package ci

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	module  = "github.com/gpk-go/gpk"
	version = "v0.0.0-20000101000000-000000000000"
)

// The program of a user's module; it prints said.
const (
	program = `package main

import (
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

func main() {
	x := gpk.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	y, err := gpk.ToSlice[float32](x.MatMul(x.T()).Add(1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(y, len(device.List()) > 0, device.Explain() != "")
}
`
	said = "[6 12 12 26] true true\n"
)

// TestModule: a user's module meets gpk as a published version in the module cache, where
// nothing may be written; no variable, tag or flag is set for it.
func TestModule(t *testing.T) {
	root := wanted(t)
	served, home, cache := filepath.Join(t.TempDir(), "proxy"), t.TempDir(), filepath.Join(t.TempDir(), "modcache")
	publish(t, root, served)
	// The module cache is new, so that it has no files of this checkout. Other modules are taken from
	// the existing cache, or else downloaded.
	env := []string{
		"GOPROXY=" + fmt.Sprintf("file://%s,file://%s/cache/download,%s", served, goEnv(t, "GOMODCACHE"), goEnv(t, "GOPROXY")),
		"GOMODCACHE=" + cache, "GONOSUMDB=" + module,
	}
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", cache).Run() })
	do := func(extra []string, command ...string) string {
		t.Helper()
		return run(t, home, append(env[:len(env):len(env)], extra...), command...)
	}
	write(t, filepath.Join(home, "main.go"), program)
	do(nil, "go", "mod", "init", "example.com/outside")
	do(nil, "go", "get", module+"@"+version)
	do(nil, "go", "mod", "tidy")
	do(nil, "go", "vet", "./...")
	for _, cgo := range [][]string{nil, {"CGO_ENABLED=0"}} {
		do(cgo, "go", "build", "-o", "outside", ".")
		if got := do(cgo, "./outside"); got != said {
			t.Errorf("with %q the program printed %q, want %q", cgo, got, said)
		}
	}
	t.Log(do(nil, "go", "run", module+"/cmd/gpk@"+version, "info")) // as the README says, whatever the program needs itself
	foreign := regexp.MustCompile(`(?m)^(gorgonia\.org|gonum\.org|github\.com/prometheus|github\.com/apache|google\.golang\.org|go\.opentelemetry\.io|github\.com/go-logr)/.*`)
	if list := foreign.FindAllString(do(nil, "go", "list", "-deps", "."), -1); len(list) > 0 {
		t.Errorf("importing gpk brings in %q", list)
	}
	// The names of the contract, as a program outside meets them.
	contract, err := os.ReadFile(filepath.Join(root, "gpk_contract_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "contract", "contract_test.go"), regexp.MustCompile(`(?m)^package .*`).ReplaceAllString(string(contract), "package contract"))
	do(nil, "go", "mod", "tidy")
	do(nil, "go", "vet", "./contract")
	do(nil, "go", "mod", "verify") // nothing was written to the module cache
	do(nil, "go", "mod", "vendor")
	do(nil, "go", "build", "-mod=vendor", "-o", "outside", ".")
	do(nil, "go", "vet", "-mod=vendor", ".")
	if got := do(nil, "./outside"); got != said {
		t.Errorf("vendored, the program printed %q, want %q", got, said)
	}
}

// publish writes the checkout as a version of the module into a folder that serves as a proxy.
func publish(t *testing.T, root, served string) {
	t.Helper()
	at := filepath.Join(served, module, "@v")
	info := fmt.Sprintf(`{"Version": %q, "Time": "2000-01-01T00:00:00Z"}`, version)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, "list"), "")
	write(t, filepath.Join(at, version+".info"), info)
	write(t, filepath.Join(served, module, "@latest"), info)
	write(t, filepath.Join(at, version+".mod"), string(mod))
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	seen := map[string]bool{}
	for name := range strings.SplitSeq(run(t, root, nil, "git", "ls-files", "-z", "-co", "--exclude-standard"), "\x00") {
		file := filepath.Join(root, name)
		if s, err := os.Stat(file); name == "" || seen[name] || err != nil || !s.Mode().IsRegular() || inNestedModule(root, name) {
			continue
		}
		seen[name] = true
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		w, err := z.Create(module + "@" + version + "/" + name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, version+".zip"), b.String())
}

// inNestedModule reports whether a file belongs to a module below root: a module's zip leaves these out.
func inNestedModule(root, name string) bool {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(run(t, ".", nil, "go", "env", name))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in a folder and returns its output.
func run(t *testing.T, dir string, env []string, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%q: %v\n%s%s", command, err, &out, &errs)
	}
	return out.String()
}
