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
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist/internal/control"
)

// Group is the set of ranks of a job that this process holds. Its methods may be called from any
// goroutine; Run must not be called while another Run is in progress.
type Group struct {
	ranks  []*rank
	how    []string // lines of Explain
	server *control.Server
	close  []func() error

	mu      sync.Mutex
	runs    int
	failure error // error of the last Run
	closed  bool
}

// Local returns a group whose ranks are all in this process, one for each device. Without devices
// it has one rank, on the default device. A device may be listed several times, for example the
// CPU in tests of programs. NCCL moves data between different GPUs if its library is found.
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
		return nil, asRankError(err)
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

// shareProcess connects the ranks of this process with each other.
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

// The errors of calls that have no group or no context.
var (
	errClosed = fmt.Errorf("%w: the group is closed, nil or zero; dist.Local and dist.Join make one", gpk.ErrUnsupported)
	errNil    = fmt.Errorf("%w: a nil context or function", gpk.ErrUnsupported)
)

// Run calls f once for each rank of this process, each in a goroutine, and waits until all ranks
// of the job are done. Every rank's Run returns the same: nil, or the first error of any rank, as
// a RankError. ctx is canceled with that error for the ranks that still run; their collectives
// return it. A group that has failed cannot be used again.
func (g *Group) Run(ctx context.Context, f func(ctx context.Context, c *Comm) error) error {
	name, err := g.begin(ctx != nil && f != nil)
	if err != nil {
		return array.NewOperation("dist.Run", nil).Failed(err).Err()
	}

	errs := make([]error, len(g.ranks))
	var wg sync.WaitGroup
	for i, r := range g.ranks {
		wg.Go(func() { errs[i] = r.run(ctx, name, f) })
	}
	wg.Wait()
	if g.server != nil {
		g.server.Flush() // the process may end after Run
	}
	for _, err := range errs {
		if err != nil {
			g.mu.Lock()
			g.failure = asRankError(err)
			g.mu.Unlock()
			return asRankError(err)
		}
	}
	return nil
}

// begin returns the name of the next Run, or the reason why there can be none. given reports whether its arguments are not nil.
func (g *Group) begin(given bool) (name string, err error) {
	if g == nil {
		return "", errClosed
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed || len(g.ranks) == 0:
		return "", errClosed
	case !given:
		return "", errNil
	case g.failure != nil:
		return "", &again{g.failure}
	}
	g.runs++
	return "run" + strconv.Itoa(g.runs), nil
}

// again is the error of a Run after one that has failed.
type again struct{ first error }

func (e *again) Error() string {
	return "dist: the group has failed in an earlier Run; close it, and make another with dist.Local or dist.Join: " + e.first.Error()
}

func (e *again) Unwrap() error { return e.first }

// Close leaves the group and ends the engine's library. Call it when no other rank needs this one
// any more, for example after Run. If a group is not closed, it is left when the process ends; an
// MPI launcher then prints a warning. Calls of this process that are still waiting return
// ErrUnsupported.
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

// release frees the resources of the group. It also does so after Join has failed, when there may
// be no rank.
func (g *Group) release() error {
	var errs []error
	failed := len(g.ranks) == 0
	if failed && g.server != nil {
		g.server.Close() // otherwise the node of rank 0 closes it
	}
	for _, r := range g.ranks {
		failed = failed || r.node.Err() != nil
	}
	errs = append(errs, g.releaseGPUs(failed))
	nodes := make([]*control.Node, len(g.ranks))
	for i, r := range g.ranks {
		nodes[i] = r.node
	}
	closeNodes(nodes)
	for _, f := range g.close {
		if failed {
			break // a library that waits for missing ranks might never return
		}
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}
