package ci

import (
	"os/exec"
	"testing"
)

// TestMPI runs the ranks of package dist in processes that Open MPI's launcher starts.
func TestMPI(t *testing.T) {
	root := wanted(t)
	if _, err := exec.LookPath("mpirun"); err != nil {
		logged(t, "", nil, "apt-get", "-qq", "update")
		logged(t, "", []string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get", "-qq", "install", "-y", "--no-install-recommends", "openmpi-bin")
	}
	logged(t, root, nil, "go", "test", "-count=1", "-timeout", "10m", "-run", "MPI$", "./dist")
}
