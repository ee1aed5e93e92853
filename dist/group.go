package dist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist/internal/control"
)

// Group is the ranks that this process holds, of all ranks of a job. Its methods may be called
// from any goroutine, but Run by one at a time.
type Group struct {
	ranks  []*rank
	how    []string // lines of Explain
	server *control.Server
	close  []func() error

	mu     sync.Mutex
	runs   int
	closed bool
}

// Local returns a group whose ranks are all in this process, one for each device. Without devices
// it is one rank on the default device. A device may be listed several times: ranks on the CPU are
// for tests of programs. NCCL moves data between different GPUs if its library is found.
func Local(devices ...*device.Device) (*Group, error) {
	if len(devices) == 0 {
		devices = []*device.Device{device.Default()}
	}
	for i, d := range devices {
		if err := d.Err(); err != nil {
			return nil, &RankError{Rank: i, Err: err}
		}
	}
	nodes, err := control.Local(len(devices), hostName(), control.Config{Version: version})
	if err != nil {
		return nil, named(err)
	}
	g := &Group{how: []string{fmt.Sprintf("%d ranks in this process", len(devices)), "data moves in memory"}}
	for i, n := range nodes {
		g.ranks = append(g.ranks, &rank{node: n, device: devices[i], move: relay{n}, engine: "memory"})
	}
	g.shareProcess()
	if len(devices) == 1 {
		return g, nil
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), localLimit, errLocalLimit)
	defer cancel()
	if err := g.useNCCL(ctx, false); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// shareProcess tells the ranks of this process of each other.
func (g *Group) shareProcess() {
	if len(g.ranks) == 1 {
		return
	}
	b := &beside{}
	for _, r := range g.ranks {
		b.ranks = append(b.ranks, r.node.Rank())
		r.beside = b
	}
}

// localLimit is how long Local waits for NCCL; for Join, Timeout sets this limit.
const localLimit = time.Minute

var errLocalLimit = fmt.Errorf("%w: NCCL has not started within %v", errEngine, localLimit)

// Join returns the group of the ranks that a launcher started, of which this process is one:
// torchrun, mpirun of Open MPI, mpiexec of MPICH, steps of srun, indexed Jobs of Kubernetes (with
// GPK_SIZE and GPK_ADDR), or anything that sets GPK_RANK, GPK_SIZE and GPK_ADDR (host:port of
// rank 0). Without a launcher it is a group of one. It waits until all ranks have joined.
//
// GPK_TOKEN is a secret of the job that strangers cannot know; without it the token is made of
// what the launcher tells all ranks.
//
// Under MPI every rank starts the library first, whose MPI_Init waits for the others by itself:
// neither ctx nor Timeout ends that. If Join fails, MPI is not finalized, as that waits for ranks
// that may never come.
func Join(ctx context.Context, given ...Option) (*Group, error) {
	o, err := optionsOf(given)
	if err != nil {
		return nil, err
	}
	p, err := environment(o.get, os.Getppid())
	if err != nil {
		return nil, err
	}
	if p.size == 1 {
		d, err := o.deviceFor(p)
		if err != nil {
			return nil, err
		}
		return Local(d)
	}
	g := &Group{how: []string{fmt.Sprintf("rank %d of %d, started by %s", p.rank, p.size, p.launcher)}}
	if err := g.join(ctx, o, p); err != nil {
		return nil, errors.Join(named(err), g.release())
	}
	return g, nil
}

// join connects the rank to rank 0 and opens its engine.
func (g *Group) join(ctx context.Context, o *options, p place) error {
	d, err := o.deviceFor(p)
	if err != nil {
		return &RankError{Rank: p.rank, Err: err}
	}
	var lib *mpiLibrary
	if o.engine == MPI || o.engine != TCP && p.mpi != "" {
		if lib, err = openMPI(p, o.get("GPK_MPI")); err != nil && o.engine == MPI {
			return &RankError{Rank: p.rank, Err: err}
		}
		if err != nil {
			g.how = append(g.how, "MPI is not used: "+err.Error())
		}
	}
	r := &rank{device: d, engine: string(TCP)}
	if lib == nil {
		err = g.meet(ctx, o, p, r)
	} else {
		g.close = append(g.close, lib.finalize)
		r.engine = string(MPI)
		err = g.meetByMPI(ctx, o, p, r, lib)
	}
	if err != nil {
		return err
	}
	g.ranks = []*rank{r}
	if err := g.agree(ctx); err != nil {
		return err
	}
	if o.engine == MPI || o.engine == TCP {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("%w: NCCL has not started within %v", errEngine, o.timeout))
	defer cancel()
	return g.useNCCL(limited, o.engine == NCCL)
}

// meet joins at the address that the launcher's environment gives.
func (g *Group) meet(ctx context.Context, o *options, p place, r *rank) error {
	addresses, err := p.addresses()
	if err != nil {
		return err
	}
	if p.rank == 0 {
		if addresses, err = listenAddresses(ctx, addresses); err != nil {
			return &RankError{Rank: 0, Host: hostName(), Err: err}
		}
	} else {
		limited, cancel := context.WithTimeout(ctx, o.timeout)
		addresses = dialAddresses(limited, addresses)
		cancel()
	}
	if err := g.connect(ctx, o, p, r, addresses, p.token(o.get("GPK_TOKEN"))); err != nil {
		return err
	}
	r.move = relay{r.node}
	g.how = append(g.how, "data moves over TCP, through rank 0")
	return nil
}

// connect makes the rank's node: that of the server in rank 0.
func (g *Group) connect(ctx context.Context, o *options, p place, r *rank, addresses []string, token []byte) (err error) {
	cfg := control.Config{Size: p.size, Version: o.version, Silence: o.silence, Join: o.timeout, Linger: o.linger}
	if p.rank > 0 {
		r.node, err = control.Dial(ctx, addresses, token, p.rank, hostName(), cfg)
		return err
	}
	if g.server == nil {
		if g.server, err = control.Listen(addresses, token, cfg); err != nil {
			return &RankError{Rank: 0, Host: hostName(), Err: err}
		}
	}
	g.how = append(g.how, "rank 0 listens at "+g.server.Addr())
	r.node, err = g.server.Join(ctx, hostName())
	return err
}

// agree makes sure that all ranks have the same engine.
func (g *Group) agree(ctx context.Context) error {
	r := g.ranks[0]
	names, err := r.node.Gather(ctx, "engine", r.node.Rank(), r.node.Size(), []byte(r.engine))
	if err != nil {
		return err
	}
	for i, n := range names {
		if string(n) != string(names[0]) {
			err := fmt.Errorf("%w: its engine is %q, that of rank 0 %q", ErrWorld, n, names[0])
			return &RankError{i, r.node.Host(i), err}
		}
	}
	return nil
}

// deviceFor returns the device of the process.
func (o *options) deviceFor(p place) (*device.Device, error) {
	if o.device != nil {
		return o.device, nil
	}
	d := device.Default()
	if d.Kind() != device.CUDA || p.local < 0 || p.size == 1 {
		return d, d.Err()
	}
	gpus := 0
	for _, i := range device.List() {
		if i.Kind == device.CUDA {
			gpus++
		}
	}
	if gpus == 0 {
		return d, d.Err()
	}
	return device.Open("cuda:" + strconv.Itoa(p.local%gpus))
}

func hostName() string {
	h, err := os.Hostname()
	if err != nil {
		return "unknown host"
	}
	return h
}

// Size returns the number of ranks of the job.
func (g *Group) Size() int {
	if g == nil || len(g.ranks) == 0 {
		return 0
	}
	return g.ranks[0].node.Size()
}

// Explain says how the group was formed: the launcher, where rank 0 listens, which engine moves
// data, and why not another.
func (g *Group) Explain() string {
	if g == nil {
		return "no group"
	}
	return strings.Join(g.how, "\n")
}

// errClosed is the error of a group that was closed, or of a nil or zero one.
var errClosed = fmt.Errorf("%w: the group was closed or is not one", gpk.ErrUnsupported)

// Run calls f once for each rank of this process, each in a goroutine, and waits until all ranks
// of the job are done. Every rank's Run returns the same: nil, or the first error of any rank, as
// a RankError. ctx is canceled with that error for the ranks that still run; their collectives
// return it. A group that has failed stays so.
func (g *Group) Run(ctx context.Context, f func(ctx context.Context, c *Comm) error) error {
	if g == nil || f == nil || ctx == nil {
		return errClosed
	}
	g.mu.Lock()
	if g.closed || len(g.ranks) == 0 {
		g.mu.Unlock()
		return errClosed
	}
	g.runs++
	name := "run" + strconv.Itoa(g.runs)
	g.mu.Unlock()

	errs := make([]error, len(g.ranks))
	var wg sync.WaitGroup
	for i, r := range g.ranks {
		wg.Go(func() { errs[i] = r.run(ctx, name, f) })
	}
	wg.Wait()
	if g.server != nil {
		g.server.Flush() // the process may end behind Run
	}
	for _, err := range errs {
		if err != nil {
			return named(err)
		}
	}
	return nil
}

// Close leaves the group, and ends the engine's library. It is called when no other rank needs
// this one any more, as behind Run. A group that is not closed is left when the process ends;
// with MPI, its launcher then complains. What still waits in this process returns ErrUnsupported.
func (g *Group) Close() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil
	}
	g.closed = true
	g.mu.Unlock()
	return g.release()
}

// releaseGPUs ends the communicators of this process concurrently.
func (g *Group) releaseGPUs(failed bool) error {
	errs := make([]error, len(g.ranks))
	var wg sync.WaitGroup
	for i, r := range g.ranks {
		switch {
		case r.gpu == nil:
		case failed:
			wg.Go(r.gpu.leaveFailed)
		default:
			wg.Go(func() { errs[i] = r.gpu.free() })
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

// release frees what the group holds, also where Join has failed and there is no rank.
func (g *Group) release() error {
	var errs []error
	failed := len(g.ranks) == 0
	if failed && g.server != nil {
		g.server.Close() // otherwise its node does
	}
	for _, r := range g.ranks {
		failed = failed || r.node.Err() != nil
	}
	errs = append(errs, g.releaseGPUs(failed))
	for _, r := range g.ranks {
		r.node.Close()
	}
	for _, f := range g.close {
		if failed {
			break // a library whose ranks are not all there may wait for them for ever
		}
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
