package dist

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist/internal/control"
)

// Join returns the group of the ranks of all processes that a launcher started, of which this process is one: torchrun,
// mpirun of Open MPI, mpiexec of MPICH, steps of srun, indexed Jobs of Kubernetes (with GPK_SIZE and GPK_ADDR), or
// anything that sets GPK_RANK, GPK_SIZE and GPK_ADDR (host:port of rank 0). Without a launcher it is a group of this
// process alone. It waits until all ranks have joined.
//
// A process holds one rank, whose number is the launcher's, or with OnDevices one for each device.
//
// GPK_TOKEN is a secret of the job. Without it the token is derived from the information that the launcher gives to all
// ranks.
//
// Under MPI every process first calls MPI_Init, which waits for the others. Neither ctx nor Timeout ends this wait. If
// Join fails, MPI is not finalized, because MPI_Finalize would wait for ranks that may never come.
func Join(ctx context.Context, given ...Option) (*Group, error) {
	o, err := optionsOf(given)
	if err != nil {
		return nil, err
	}
	p, err := environment(o.get, os.Getppid())
	if err != nil {
		return nil, err
	}
	p.held = max(1, len(o.devices))
	if p.size > maxRanks/p.held {
		return nil, fmt.Errorf("%w: %s: %d processes of %d ranks; at most %d ranks are supported", errLauncher, p.launcher, p.size, p.held, maxRanks)
	}
	if p.size == 1 {
		devices, err := o.devicesFor(p)
		if err != nil {
			return nil, err
		}
		return Local(devices...)
	}
	g := &Group{how: []string{fmt.Sprintf("%s of %d, started by %s", p.own(), p.ranks(), p.launcher)}}
	if err := g.join(ctx, o, p); err != nil {
		return nil, errors.Join(asRankError(err), g.release())
	}
	return g, nil
}

// maxRanks is the maximum number of ranks.
const maxRanks = 1 << 20

// first returns the first rank of the process. The others follow it.
func (p place) first() int { return p.rank * p.held }

// ranks returns the number of ranks of all processes.
func (p place) ranks() int { return p.size * p.held }

// own describes the ranks of the process in a few words.
func (p place) own() string {
	if p.held == 1 {
		return fmt.Sprintf("rank %d", p.rank)
	}
	return fmt.Sprintf("ranks %d to %d", p.first(), p.first()+p.held-1)
}

// join connects the ranks of the process to rank 0 and opens their engine.
func (g *Group) join(ctx context.Context, o *options, p place) error {
	devices, err := o.devicesFor(p)
	if err != nil {
		return &RankError{Rank: p.first(), Err: err}
	}
	lib, err := g.libraryFor(o, p)
	if err != nil {
		return &RankError{Rank: p.first(), Err: err}
	}
	var nodes []*control.Node
	if lib == nil {
		nodes, err = g.meet(ctx, o, p)
	} else {
		g.close = append(g.close, lib.finalize)
		nodes, err = g.meetByMPI(ctx, o, p, &mpiComm{comm: lib.comm}, lib)
	}
	if err != nil {
		return err
	}
	for i, n := range nodes {
		r := &rank{node: n, device: devices[i], engine: string(TCP), move: relay{n}}
		if lib != nil && p.held == 1 {
			r.engine, r.move = string(MPI), &mpiComm{comm: lib.comm}
		}
		g.ranks = append(g.ranks, r)
	}
	g.shareProcess()
	if err := g.each(func(r *rank) error { return r.agree(ctx) }); err != nil {
		return err
	}
	if o.engine == MPI || o.engine == TCP {
		return nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("%w: NCCL has not started within %v", errEngine, o.timeout))
	defer cancel()
	return g.useNCCL(limited, o.engine == NCCL)
}

// libraryFor starts the launcher's MPI, nil if it is not used. MPI numbers processes. If they hold several ranks, MPI
// is only used to tell them the address of rank 0.
func (g *Group) libraryFor(o *options, p place) (*mpiLibrary, error) {
	if o.engine == MPI && p.held > 1 {
		return nil, fmt.Errorf("%w: MPI moves data between processes of one rank, and this one holds %d", gpk.ErrUnsupported, p.held)
	}
	if o.engine != MPI && (o.engine == TCP || p.mpi == "") {
		return nil, nil
	}
	lib, err := openMPI(p, o.get("GPK_MPI"))
	if err != nil && o.engine != MPI {
		g.how = append(g.how, "MPI is not used: "+err.Error())
		return nil, nil
	}
	return lib, err
}

// each calls f for each rank of the process, concurrently. It returns the error of the first rank that has one.
func (g *Group) each(f func(r *rank) error) error {
	errs := make([]error, len(g.ranks))
	var wg sync.WaitGroup
	for i, r := range g.ranks {
		wg.Go(func() { errs[i] = f(r) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// meet joins at the address from the launcher's environment.
func (g *Group) meet(ctx context.Context, o *options, p place) ([]*control.Node, error) {
	addresses, err := p.addresses()
	if err != nil {
		return nil, err
	}
	if p.rank == 0 {
		if addresses, err = listenAddresses(ctx, addresses); err != nil {
			return nil, &RankError{Rank: 0, Host: hostName(), Err: err}
		}
	} else {
		limited, cancel := context.WithTimeout(ctx, o.timeout)
		addresses = dialAddresses(limited, addresses)
		cancel()
	}
	nodes, err := g.connect(ctx, o, p, addresses, p.token(o.get("GPK_TOKEN")))
	if err != nil {
		return nil, err
	}
	g.how = append(g.how, overTCP)
	return nodes, nil
}

const overTCP = "data moves over TCP, through rank 0"

// config returns the configuration of the group's control side.
func (o *options) config(p place) control.Config {
	return control.Config{Size: p.ranks(), Version: o.version, Silence: o.silence, Join: o.timeout, Linger: o.linger}
}

// connect makes the nodes of the ranks of the process. In the process of rank 0 they are nodes of its server.
func (g *Group) connect(ctx context.Context, o *options, p place, addresses []string, token []byte) ([]*control.Node, error) {
	cfg := o.config(p)
	if p.rank == 0 && g.server == nil {
		var err error
		if g.server, err = control.Listen(addresses, token, cfg); err != nil {
			return nil, &RankError{Rank: 0, Host: hostName(), Err: err}
		}
	}
	if g.server != nil {
		g.how = append(g.how, "rank 0 listens at "+g.server.Addr())
	}
	nodes, errs := make([]*control.Node, p.held), make([]error, p.held)
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() {
			if g.server != nil {
				nodes[i], errs[i] = g.server.Join(ctx, i, hostName())
			} else {
				nodes[i], errs[i] = control.Dial(ctx, addresses, token, p.first()+i, hostName(), cfg)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			closeNodes(nodes)
			return nil, err
		}
	}
	return nodes, nil
}

// closeNodes closes the nodes of a process that are not nil. It closes the node of rank 0 last, because that ends the
// server.
func closeNodes(nodes []*control.Node) {
	for i := len(nodes) - 1; i >= 0; i-- {
		if nodes[i] != nil {
			nodes[i].Close()
		}
	}
}

// agree makes sure that all ranks have the same engine.
func (r *rank) agree(ctx context.Context) error {
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

// devicesFor returns the devices of the process: those of OnDevices, or one by default.
func (o *options) devicesFor(p place) ([]*device.Device, error) {
	if len(o.devices) > 0 {
		return o.devices, nil
	}
	d := device.Default()
	if d.Kind() != device.CUDA || p.local < 0 || p.size == 1 {
		return []*device.Device{d}, d.Err()
	}
	gpus := 0
	for _, i := range device.List() {
		if i.Kind == device.CUDA {
			gpus++
		}
	}
	if gpus == 0 {
		return []*device.Device{d}, d.Err()
	}
	d, err := device.Open("cuda:" + strconv.Itoa(p.local%gpus))
	return []*device.Device{d}, err
}
