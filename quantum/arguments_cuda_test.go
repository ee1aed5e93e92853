//go:build cgo && linux && (amd64 || arm64) && !nocuda

package quantum

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	entries "github.com/gpk-go/gpk/device/kernels"
	"github.com/gpk-go/gpk/internal/devicetest"
	sources "github.com/gpk-go/gpk/quantum/kernels"
)

// TestArguments compares the layouts of argument structures in Go and in C. For each structure
// it compiles an entry that stores the number of every field in the field, and calls it.
func TestArguments(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("NOT RUN: no C compiler (cc) here to compile arguments.h with")
	}
	structs := map[string]any{
		"angles": anglesArgs{}, "slots": slotsArgs{}, "pass": passArgs{}, "norms": normsArgs{}, "closed_form": closedFormArgs{},
		"epilogue": epilogueArgs{}, "closed_gram": closedGramArgs{}, "sample_gram": sampleGramArgs{}, "gram": gramArgs{},
	}
	var code strings.Builder
	code.WriteString("#include \"arguments.h\"\n#include \"gpk_kernels.h\"\nstatic const char* message(int code) { return \"another size\"; }\nGPK_KERNEL_LIBRARY(message)\n")
	for name, s := range structs {
		fmt.Fprintf(&code, "GPK_KERNEL_ENTRY int quantum_%s(int device, uint64_t stream, void* args, int64_t bytes) {\n", name)
		fmt.Fprintf(&code, "  quantum_%s_args* a = (quantum_%[1]s_args*)args;\n  if (bytes != sizeof *a) return GPK_KERNELS_BAD_ARGUMENT;\n", name)
		n := 0
		walkFields(reflect.ValueOf(s), "a->", func(cName string, _ reflect.Value) {
			n++
			fmt.Fprintf(&code, "  %s = %d;\n", cName, n)
		})
		code.WriteString("  return 0;\n}\n")
	}
	if declared := strings.Count(sources.Companion().Sources["arguments.h"], "_args;"); declared != len(structs) {
		t.Errorf("arguments.h has %d structures, %d are compared", declared, len(structs))
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"arguments.c": code.String(), "gpk_kernels.h": entries.Header, "arguments.h": sources.Companion().Sources["arguments.h"]} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "libarguments.so")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-fvisibility=hidden", "-o", path, filepath.Join(dir, "arguments.c")).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s\n%s", err, out, &code)
	}
	if err := entries.Describe(path); err != nil {
		t.Fatal(err)
	}
	gpu := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
	lib, err := entries.Load(gpu, path)
	if err != nil {
		t.Fatal(err)
	}
	checkLayout[anglesArgs](t, lib, "angles")
	checkLayout[slotsArgs](t, lib, "slots")
	checkLayout[passArgs](t, lib, "pass")
	checkLayout[normsArgs](t, lib, "norms")
	checkLayout[closedFormArgs](t, lib, "closed_form")
	checkLayout[epilogueArgs](t, lib, "epilogue")
	checkLayout[closedGramArgs](t, lib, "closed_gram")
	checkLayout[sampleGramArgs](t, lib, "sample_gram")
	checkLayout[gramArgs](t, lib, "gram")
}

// checkLayout calls the entry and compares the value of every field with its number.
func checkLayout[A any](t *testing.T, lib *entries.Library, name string) {
	t.Helper()
	e, err := entries.Bind[A](lib, "quantum_"+name)
	if err != nil {
		t.Fatal(err)
	}
	var args A
	if err := e.Query(&args); err != nil {
		t.Fatal(err)
	}
	n := 0
	walkFields(reflect.ValueOf(args), "", func(cName string, v reflect.Value) {
		n++
		if got := fmt.Sprint(v); got != fmt.Sprint(n) {
			t.Errorf("%s.%s is %s, want %d", name, cName, got, n)
		}
	})
	if n < 5 {
		t.Errorf("%s has %d fields", name, n)
	}
}

var upper = regexp.MustCompile(`([a-z])([A-Z])`)

// walkFields calls f with the C name and the value of every number of a structure; of an array
// it takes the first and the last element.
func walkFields(s reflect.Value, prefix string, f func(cName string, v reflect.Value)) {
	for i := range s.NumField() {
		name := strings.ToLower(upper.ReplaceAllString(s.Type().Field(i).Name, "${1}_$2"))
		name = prefix + strings.NewReplacer("xtype", "x_type", "nangles", "n_angles").Replace(name)
		switch v := s.Field(i); v.Kind() {
		case reflect.Struct:
			walkFields(v, name+".", f)
		case reflect.Array:
			f(name+"[0]", v.Index(0))
			f(fmt.Sprintf("%s[%d]", name, v.Len()-1), v.Index(v.Len()-1))
		default:
			f(name, v)
		}
	}
}
