//go:build cgo && linux

package dist

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/internal/dynlib"
)

// TestWheelMPI is like TestOpenMPI, with the libraries and launchers of PyPI's wheels, some of which
// have the MPI standard's ABI; Debian's packages do not. CI installs the wheels.
func TestWheelMPI(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN: several processes, in short runs")
	}
	for _, c := range []struct{ folder, library, abi string }{
		{"GPK_TEST_MPICH", "libmpi_abi.so.1", "the MPI standard's ABI 1"},
		{"GPK_TEST_MPICH", "libmpi.so.12", "MPICH's ABI"},
		{"GPK_TEST_OPENMPI", "libmpi.so.40", "Open MPI's ABI"},
	} {
		t.Run(c.folder+"/"+c.library, func(t *testing.T) {
			folder := os.Getenv(c.folder)
			if folder == "" {
				t.Skipf("NOT RUN: %s does not name the folder of a wheel of MPI", c.folder)
			}
			t.Setenv("GPK_MPI", filepath.Join(folder, "lib", c.library))
			t.Setenv("GPK_TEST_ABI", " with "+c.abi)
			command := []string{filepath.Join(folder, "bin", "mpiexec")}
			if strings.HasPrefix(c.abi, "Open") {
				command = append(command, "--oversubscribe")
			}
			testMPI(t, command...)
		})
	}
}

// TestRefusedMPI opens libraries with the functions of MPI, but with no ABI that is known.
func TestRefusedMPI(t *testing.T) {
	functions := "int MPI_Get_library_version(char* text, int* n) { *n = 3; text[0] = 'X'; text[1] = 'Y'; text[2] = 0; return 0; }\n"
	for _, name := range []string{"Init_thread", "Initialized", "Finalize", "Error_string", "Comm_set_errhandler", "Comm_rank", "Comm_size", "Comm_split", "Comm_free", "Iallgather", "Ialltoall", "Ibcast", "Isend", "Irecv", "Test"} {
		functions += "int MPI_" + name + "(void) { return 1; }\n"
	}
	version := func(text string) string {
		return "int MPI_Abi_get_version(int* major, int* minor) { *minor = 3; *major = " + text + "; return 0; }\n"
	}
	for name, c := range map[string]struct{ source, says string }{
		"later":   {functions + version("2"), "has version 2.3 of the MPI standard's ABI; version 1 is supported"},
		"none":    {functions + version("-1"), "neither the MPI standard's ABI nor that of Open MPI or MPICH: XY"},
		"unknown": {functions, "neither the MPI standard's ABI nor that of Open MPI or MPICH: XY"},
		"objects": {functions + "int ompi_mpi_comm_world;\n", "lacks Open MPI's objects"},
		"partial": {version("1"), "lacks MPI_Init_thread"},
	} {
		t.Run(name, func(t *testing.T) {
			file := compiled(t, c.source)
			if _, err := startMPI([]string{file}); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v", err)
			}
			if dynlib.Loaded(file) != 0 {
				t.Error("the library stays open: its functions would take the place of those of the next one")
			}
		})
	}
}

// compiled returns a library compiled from a C source, and skips the test if there is no compiler.
func compiled(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	from, file := filepath.Join(dir, "fake.c"), filepath.Join(dir, "libfake.so")
	if err := os.WriteFile(from, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", file, from).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}
