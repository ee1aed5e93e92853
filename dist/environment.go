package dist

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// place holds the information of a launcher about a process.
type place struct {
	launcher   string
	rank, size int
	held       int // number of ranks of each process; if it is not 1, the fields above count processes
	local      int // the rank among those of the same host; -1 if unknown
	localSize  int // 0 if unknown
	address    string
	host       string // host of rank 0, for an address with a port that is derived from job
	job        string // a name that is the same for all ranks of the job and different for other jobs
	mpi        string // the MPI whose launcher this is: "openmpi", "mpich", "pmi" (either), or ""
}

// errLauncher is the error of an incomplete environment.
var errLauncher = errors.New("the launcher's environment is not complete")

// environment returns the place that a launcher's environment variables describe. Without a
// launcher it is that of a single rank. parent is the process that started this one.
func environment(get func(string) string, parent int) (place, error) {
	e := &variables{get: get}
	var p place
	switch {
	case e.has("GPK_RANK"):
		p = place{launcher: "GPK_RANK", rank: e.number("GPK_RANK"), size: e.number("GPK_SIZE"), local: -1, address: e.text("GPK_ADDR"), job: get("GPK_ADDR")}
		if e.has("GPK_LOCAL_RANK") {
			p.local = e.number("GPK_LOCAL_RANK")
		}
	case e.has("TORCHELASTIC_RUN_ID"), e.has("RANK") && e.has("WORLD_SIZE") && e.has("MASTER_ADDR"):
		p = place{launcher: "torchrun", rank: e.number("RANK"), size: e.number("WORLD_SIZE"), local: e.optional("LOCAL_RANK", -1), localSize: e.optional("LOCAL_WORLD_SIZE", 0)}
		// MASTER_PORT is used by the store of torchrun's agent.
		p.host, p.job = e.text("MASTER_ADDR"), strings.Join([]string{"torchrun", get("TORCHELASTIC_RUN_ID"), get("MASTER_PORT"), get("TORCHELASTIC_RESTART_COUNT")}, "/")
	case e.has("OMPI_COMM_WORLD_RANK"):
		p = place{launcher: "mpirun (Open MPI)", rank: e.number("OMPI_COMM_WORLD_RANK"), size: e.number("OMPI_COMM_WORLD_SIZE"), local: e.optional("OMPI_COMM_WORLD_LOCAL_RANK", -1), localSize: e.optional("OMPI_COMM_WORLD_LOCAL_SIZE", 0), mpi: "openmpi"}
		p.job = "openmpi/" + get("PMIX_NAMESPACE") + "/" + get("OMPI_MCA_ess_base_jobid")
	case e.has("SLURM_PROCID") && e.has("SLURM_STEP_ID"):
		p = e.slurm()
	case e.has("PMI_RANK"):
		p = place{launcher: "mpiexec (MPICH)", rank: e.number("PMI_RANK"), size: e.number("PMI_SIZE"), local: e.optional("MPI_LOCALRANKID", -1), localSize: e.optional("MPI_LOCALNRANKS", 0), mpi: "mpich"}
		p.job = "mpich/" + strconv.Itoa(parent)
	case e.has("JOB_COMPLETION_INDEX"):
		p = place{launcher: "Kubernetes (an indexed Job)", rank: e.number("JOB_COMPLETION_INDEX"), size: e.number("GPK_SIZE"), local: 0, localSize: 1, address: e.text("GPK_ADDR"), job: get("GPK_ADDR")}
	default:
		return place{launcher: "none", size: 1, localSize: 1}, nil
	}
	return e.checked(p)
}

// checked returns p, with the host of a job on one machine, or the first error.
func (e *variables) checked(p place) (place, error) {
	if e.err == nil {
		e.err = p.check()
	}
	if e.err != nil {
		return place{}, fmt.Errorf("%w: %s: %w", errLauncher, p.launcher, e.err)
	}
	if p.host == "" && p.address == "" && p.localSize == p.size {
		p.host = "127.0.0.1"
	}
	return p, nil
}

// slurm returns the place of a task of a step. SLURM_STEP_ID is required, because in a batch
// script without srun SLURM_PROCID is 0.
func (e *variables) slurm() place {
	p := place{launcher: "srun", rank: e.number("SLURM_PROCID"), local: e.optional("SLURM_LOCALID", -1)}
	if p.size = e.optional("SLURM_STEP_NUM_TASKS", 0); p.size == 0 {
		p.size = e.number("SLURM_NTASKS")
	}
	p.job = strings.Join([]string{"slurm", e.text("SLURM_JOB_ID"), e.get("SLURM_STEP_ID")}, "/")
	nodes := e.get("SLURM_STEP_NODELIST")
	if nodes == "" {
		nodes = e.text("SLURM_NODELIST")
	}
	if e.err == nil {
		p.host, e.err = firstHost(nodes)
	}
	if e.optional("SLURM_STEP_NUM_NODES", 0) == 1 {
		p.localSize, p.host = p.size, "127.0.0.1"
	}
	if e.has("PMIX_RANK") || e.has("PMI_RANK") {
		p.mpi = "pmi"
	}
	return p
}

func (p place) check() error {
	if p.size < 1 || p.rank < 0 || p.rank >= p.size {
		return fmt.Errorf("rank %d of %d", p.rank, p.size)
	}
	if p.address != "" {
		if _, port, err := net.SplitHostPort(p.address); err != nil || port == "" || port == "0" {
			return fmt.Errorf("%q is not host:port", p.address)
		}
	}
	return nil
}

// variables reads an environment and keeps the first error.
type variables struct {
	get func(string) string
	err error
}

func (e *variables) has(name string) bool { return e.get(name) != "" }

// text returns the value of a required variable.
func (e *variables) text(name string) string {
	s := e.get(name)
	if s == "" && e.err == nil {
		e.err = fmt.Errorf("%s is not set", name)
	}
	return s
}

// number returns the value of a required variable, which must be an integer of at least 0.
func (e *variables) number(name string) int {
	s := e.text(name)
	n, err := strconv.Atoi(s)
	if e.err == nil && (err != nil || n < 0) {
		e.err = fmt.Errorf("%s is %q, which is not a rank or a number of ranks", name, s)
	}
	return n
}

// optional returns the number that a variable holds, or otherwise if it is not set.
func (e *variables) optional(name string, otherwise int) int {
	if !e.has(name) {
		return otherwise
	}
	return e.number(name)
}

// firstHost returns the first host of a list in Slurm's format. For "a[01-04,7]-ib,b" it
// returns a01-ib.
func firstHost(list string) (string, error) {
	var host strings.Builder
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case ',':
			i = len(list)
		case '[':
			end := strings.IndexByte(list[i:], ']')
			first, _, _ := strings.Cut(list[i+1:max(i+end, i+1)], ",")
			first, _, _ = strings.Cut(first, "-")
			if end < 0 || first == "" || strings.Trim(first, "0123456789") != "" {
				return "", fmt.Errorf("%q is not a list of hosts", list)
			}
			host.WriteString(first)
			i += end
		case ']':
			return "", fmt.Errorf("%q is not a list of hosts", list)
		default:
			host.WriteByte(list[i])
		}
	}
	if host.Len() == 0 {
		return "", fmt.Errorf("%q is not a list of hosts", list)
	}
	return host.String(), nil
}
