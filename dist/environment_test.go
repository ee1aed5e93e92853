package dist

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
)

// TestEnvironment lists the variables that each launcher sets, and incomplete sets of them.
func TestEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		env  string
		want place
		says string // the error
	}{
		"nothing": {"", place{launcher: "none", size: 1, localSize: 1}, ""},
		"own": {
			"GPK_RANK=2 GPK_SIZE=3 GPK_ADDR=a:7",
			place{launcher: "GPK_RANK", rank: 2, size: 3, local: -1, address: "a:7", job: "a:7"},
			"",
		},
		"own, local": {
			"GPK_RANK=2 GPK_SIZE=3 GPK_ADDR=[::1]:7 GPK_LOCAL_RANK=1",
			place{launcher: "GPK_RANK", rank: 2, size: 3, local: 1, address: "[::1]:7", job: "[::1]:7"},
			"",
		},
		"own before others": {
			"GPK_RANK=0 GPK_SIZE=3 GPK_ADDR=a:7 OMPI_COMM_WORLD_RANK=1",
			place{launcher: "GPK_RANK", size: 3, local: -1, address: "a:7", job: "a:7"},
			"",
		},
		"own without a size":     {"GPK_RANK=0 GPK_ADDR=a:7", place{}, "GPK_SIZE is not set"},
		"own without an address": {"GPK_RANK=0 GPK_SIZE=2", place{}, "GPK_ADDR is not set"},
		"own without a port":     {"GPK_RANK=0 GPK_SIZE=2 GPK_ADDR=a", place{}, `"a" is not host:port`},
		"own beyond the size":    {"GPK_RANK=2 GPK_SIZE=2 GPK_ADDR=a:7", place{}, "rank 2 of 2"},
		"no number":              {"GPK_RANK=x GPK_SIZE=2 GPK_ADDR=a:7", place{}, `GPK_RANK is "x"`},
		"negative":               {"GPK_RANK=-1 GPK_SIZE=2 GPK_ADDR=a:7", place{}, `GPK_RANK is "-1"`},
		"torchrun on one host": {
			"RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=0",
			place{launcher: "torchrun", rank: 1, size: 2, local: 1, localSize: 2, host: "127.0.0.1", job: "torchrun/none/29500/0"},
			"",
		},
		"torchrun on two": {
			"RANK=9 WORLD_SIZE=16 LOCAL_RANK=1 LOCAL_WORLD_SIZE=8 MASTER_ADDR=node1 MASTER_PORT=29400 TORCHELASTIC_RUN_ID=j7 TORCHELASTIC_RESTART_COUNT=1",
			place{launcher: "torchrun", rank: 9, size: 16, local: 1, localSize: 8, host: "node1", job: "torchrun/j7/29400/1"},
			"",
		},
		"torchrun's variables by hand": {
			"RANK=0 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=1",
			place{launcher: "torchrun", size: 2, local: -1, host: "h", job: "torchrun//1/"},
			"",
		},
		"RANK of something else": {"RANK=3", place{launcher: "none", size: 1, localSize: 1}, ""},
		"Open MPI on one host": {
			"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_NAMESPACE=803667969 OMPI_MCA_ess_base_jobid=803667969 PMIX_RANK=1",
			place{launcher: "mpirun (Open MPI)", rank: 1, size: 4, local: 1, localSize: 4, host: "127.0.0.1", job: "openmpi/803667969/803667969", mpi: "openmpi"},
			"",
		},
		"Open MPI in an allocation of Slurm": {
			"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=5 SLURM_PROCID=0 SLURM_STEP_ID=2",
			place{launcher: "mpirun (Open MPI)", rank: 3, size: 4, local: 1, localSize: 2, job: "openmpi/5/", mpi: "openmpi"},
			"",
		},
		"MPICH": {
			"PMI_RANK=1 PMI_SIZE=2 PMI_FD=8 PMI_ID=1 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2",
			place{launcher: "mpiexec (MPICH)", rank: 1, size: 2, local: 1, localSize: 2, host: "127.0.0.1", job: "mpich/42", mpi: "mpich"},
			"",
		},
		"MPICH on two hosts": {
			"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1",
			place{launcher: "mpiexec (MPICH)", rank: 1, size: 2, local: 0, localSize: 1, job: "mpich/42", mpi: "mpich"},
			"",
		},
		"a step of Slurm": {
			"SLURM_PROCID=5 SLURM_STEP_ID=0 SLURM_JOB_ID=77 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=6 SLURM_LOCALID=1 SLURM_STEP_NODELIST=gpu[03-05,9]-ib,x SLURM_STEP_NUM_NODES=3",
			place{launcher: "srun", rank: 5, size: 6, local: 1, host: "gpu03-ib", job: "slurm/77/0"},
			"",
		},
		"a step on one host": {
			"SLURM_PROCID=1 SLURM_STEP_ID=3 SLURM_JOB_ID=77 SLURM_NTASKS=2 SLURM_LOCALID=1 SLURM_NODELIST=n1 SLURM_STEP_NUM_NODES=1 PMI_RANK=1 PMI_SIZE=2",
			place{launcher: "srun", rank: 1, size: 2, local: 1, localSize: 2, host: "127.0.0.1", job: "slurm/77/3", mpi: "pmi"},
			"",
		},
		"a batch script of Slurm": {"SLURM_PROCID=0 SLURM_JOB_ID=77 SLURM_NTASKS=8", place{launcher: "none", size: 1, localSize: 1}, ""},
		"a step without hosts":    {"SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_JOB_ID=77 SLURM_NTASKS=8", place{}, "SLURM_NODELIST is not set"},
		"an indexed Job": {
			"JOB_COMPLETION_INDEX=3 GPK_SIZE=4 GPK_ADDR=gram-0.gram:29600",
			place{launcher: "Kubernetes (an indexed Job)", rank: 3, size: 4, local: 0, localSize: 1, address: "gram-0.gram:29600", job: "gram-0.gram:29600"},
			"",
		},
		"an indexed Job without a size": {"JOB_COMPLETION_INDEX=3 GPK_ADDR=a:1", place{}, "GPK_SIZE is not set"},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{}
			for f := range strings.FieldsSeq(test.env) {
				k, v, _ := strings.Cut(f, "=")
				env[k] = v
			}
			got, err := environment(func(k string) string { return env[k] }, 42)
			if test.says != "" {
				if !errors.Is(err, errLauncher) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("%+v, %v,\nwant %+v", got, err, test.want)
			}
		})
	}
}

func TestFirstHost(t *testing.T) {
	for list, want := range map[string]string{
		"a": "a", "a,b": "a", "n[1-3]": "n1", "n[001-004,7],b": "n001", "n[7,9]x": "n7x", "r[1-2]n[05-06].x": "r1n05.x",
		"": "", "[": "", "a[": "", "a[]": "", "a]": "", "a[x]": "", ",a": "",
	} {
		got, err := firstHost(list)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", list, got, err, want)
		}
	}
}

// FuzzFirstHost looks for lists that end it in another way than a host or an error.
func FuzzFirstHost(f *testing.F) {
	f.Add("n[001-004,7],b")
	f.Add("a[")
	f.Fuzz(func(t *testing.T, list string) {
		if host, err := firstHost(list); (host == "") != (err != nil) {
			t.Errorf("%q, %v", host, err)
		}
	})
}

// TestAddresses checks that a job's ports are the same for all its ranks and others for other jobs,
// and that its secret depends on GPK_TOKEN.
func TestAddresses(t *testing.T) {
	a, errA := place{host: "h", job: "1"}.addresses()
	same, _ := place{host: "h", job: "1", rank: 3}.addresses()
	b, errB := place{host: "h", job: "2"}.addresses()
	if errA != nil || errB != nil || !slices.Equal(a, same) || slices.Equal(a, b) || len(a) != candidates {
		t.Error(a, same, b, errA, errB)
	}
	if _, err := (place{launcher: "mpirun", job: "1"}).addresses(); err == nil || !strings.Contains(err.Error(), "GPK_ADDR") {
		t.Error(err)
	}
	p := place{job: "1"}
	if string(p.token("")) == string(p.token("x")) || string(p.token("")) == string(place{job: "2"}.token("")) {
		t.Error("the token is that of another job")
	}
	listen, err := listenAddresses(t.Context(), []string{"localhost:20001"})
	if err != nil || len(listen) != 1 || !strings.HasPrefix(listen[0], "127.") && !strings.HasPrefix(listen[0], "[::1]") {
		t.Error(listen, err)
	}
	if _, err := listenAddresses(t.Context(), []string{"192.0.2.77:20001"}); err == nil {
		t.Error("an address of another machine is listened at")
	}
}

// TestChooseIP checks the address at which rank 0 listens. Some of the machines resolve their own
// name to a loopback address.
func TestChooseIP(t *testing.T) {
	own := func(cidrs ...string) (out []net.Addr) {
		for _, s := range cidrs {
			ip, n, err := net.ParseCIDR(s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		return out
	}
	machine := own("127.0.0.1/8", "::1/128", "fe80::1/64", "10.0.0.5/24", "192.0.2.9/24")
	for _, test := range []struct {
		host  string
		names []string
		own   []net.Addr
		want  string
	}{
		{"node1", []string{"127.0.1.1"}, machine, "10.0.0.5"},
		{"node1", []string{"127.0.1.1", "192.0.2.9"}, machine, "192.0.2.9"},
		{"node1", []string{"192.0.2.9", "10.0.0.5"}, machine, "192.0.2.9"},
		{"node1", []string{"127.0.1.1"}, own("127.0.0.1/8"), "127.0.1.1"},
		{"localhost", []string{"::1", "127.0.0.1"}, machine, "::1"},
		{"127.0.0.2", []string{"127.0.0.2"}, machine, "127.0.0.2"},
		{"::1", []string{"::1"}, machine, "::1"},
		{"other", []string{"10.0.0.6"}, machine, ""},
	} {
		if got := chooseIP(test.host, test.names, test.own); got != test.want {
			t.Errorf("%s, which is %v: %q, want %q", test.host, test.names, got, test.want)
		}
	}
	if got := dialAddresses(t.Context(), []string{"127.0.0.1:20001", "192.0.2.77:20001"}); len(got) != 2 {
		t.Error(got)
	}
}
