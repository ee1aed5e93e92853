package ci

import (
	"os/exec"
	"strings"
	"testing"
)

// TestMPI runs the ranks of package dist in processes that Open MPI's launcher starts.
func TestMPI(t *testing.T) {
	root := wanted(t)
	if _, err := exec.LookPath("mpirun.openmpi"); err != nil {
		logged(t, "", nil, "apt-get", "-qq", "update")
		logged(t, "", []string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get", "-qq", "install", "-y", "--no-install-recommends", "openmpi-bin")
	}
	out := passed(t, root, nil, "-timeout", "10m", "-run", "MPI$", "./dist")
	for _, name := range []string{"TestOpenMPI", "TestStoppedMPI", "TestMissingMPI"} {
		if !strings.Contains(out, "--- PASS: "+name+" ") {
			t.Errorf("%s was not run", name)
		}
	}
}
