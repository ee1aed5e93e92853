package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMPI runs the ranks of package dist in processes that MPI launchers start: Debian's Open MPI, and
// PyPI's Open MPI and MPICH. The latter also has the MPI standard's ABI.
func TestMPI(t *testing.T) {
	root := wanted(t)
	if _, err := exec.LookPath("mpirun.openmpi"); err != nil {
		logged(t, "", nil, "apt-get", "-qq", "update")
		logged(t, "", []string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get", "-qq", "install", "-y", "--no-install-recommends", "openmpi-bin")
	}
	expected := []string{"TestOpenMPI", "TestKilledMPI", "TestMissingMPI", "TestRefusedMPI"}
	args := []string{"-timeout", "10m", "-run", "MPI$", "./dist"}
	openMPI, why := mpiWheel(t, "openmpi", "5.0.11")
	mpich, why2 := mpiWheel(t, "mpich", "5.0.2")
	if why+why2 == "" {
		expected = append(expected, "TestWheelMPI")
	} else {
		notRun(t, "MPI's wheels, with the standard's ABI: pip cannot install them: "+why+why2)
		args = append([]string{"-skip", "^TestWheelMPI$"}, args...)
	}
	out := passed(t, root, []string{"GPK_TEST_OPENMPI=" + openMPI, "GPK_TEST_MPICH=" + mpich}, args...)
	for _, name := range expected {
		if !strings.Contains(out, "--- PASS: "+name+" ") {
			t.Errorf("%s was not run", name)
		}
	}
}

// mpiWheel returns the folder of a wheel of MPI, with bin and lib, or why pip could not install it.
func mpiWheel(t *testing.T, name, version string) (dir, why string) {
	t.Helper()
	dir = filepath.Join(os.Getenv("GPK_CI"), name+"-"+version)
	done := filepath.Join(dir, "done")
	if _, err := os.Stat(done); err == nil {
		return dir, ""
	}
	// --target would leave out lib.
	pip := exec.CommandContext(t.Context(), "python3", "-m", "pip", "install", "--quiet", "--no-deps", "--ignore-installed", "--only-binary", ":all:", "--prefix", dir, name+"=="+version)
	pip.Env = append(os.Environ(), "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_ROOT_USER_ACTION=ignore")
	if out, err := pip.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", err.Error() + ": " + lines[len(lines)-1]
	}
	write(t, done, "")
	return dir, ""
}
