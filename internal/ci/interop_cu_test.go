package ci

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInteropCU builds interop/cu, the only package that needs CUDA's headers. It links the test
// binary bin/cu.test against a stub libcuda of empty functions. On a machine with a driver,
// bin/cu.test loads the driver's libcuda and can run.
func TestInteropCU(t *testing.T) {
	const cuda = "13.0"
	root, temp := wanted(t), t.TempDir()
	headers := wheels(t, "cuda-headers-"+cuda, "--no-deps", "nvidia-cuda-runtime=="+cuda+".*", "nvidia-cuda-crt=="+cuda+".*")
	include := []string{"-I" + filepath.Join(root, "interop/cu/cuda13"), "-I" + filepath.Join(headers, "nvidia/cu13/include")}
	env := []string{"CGO_CPPFLAGS=" + strings.Join(include, " "), "CGO_LDFLAGS=-L" + temp}
	logged(t, root, env, "go", "vet", "-tags", "gorgonia_cu", "./interop/cu")
	logged(t, root, env, "go", "build", "-tags", "gorgonia_cu", "./interop/cu")

	source := filepath.Join(temp, "cuda.c")
	write(t, source, "#include <cuda.h>\n")
	text := run(t, temp, nil, append([]string{"gcc", "-E", source}, include...)...)
	names := regexp.MustCompile(`\bcu[A-Z]\w*\(`).FindAllString(text, -1)
	slices.Sort(names)
	var empty strings.Builder
	for _, name := range slices.Compact(names) {
		empty.WriteString("void " + name + "void) {}\n")
	}
	write(t, filepath.Join(temp, "libcuda.c"), empty.String())
	run(t, temp, nil, "gcc", "-shared", "-fno-builtin", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so", "libcuda.c")
	logged(t, root, env, "go", "test", "-c", "-tags", "gorgonia_cu", "-o", "bin/cu.test", "./interop/cu")
	notRun(t, "interop/cu's own tests: compiled and linked as bin/cu.test, but they need a GPU")
}
