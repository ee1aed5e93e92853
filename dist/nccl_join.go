package dist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist/internal/control"
	"github.com/gpk-go/gpk/internal/nccl"
)

// ncclDevices reports which devices NCCL moves data between. A test replaces it.
var ncclDevices = struct {
	has     func(d *device.Device) bool
	context func(d *device.Device) (nccl.Context, error)
}{func(d *device.Device) bool { return d.Kind() == device.CUDA }, nccl.ContextOf}

// shortText returns the text of an error, truncated to the length that fits a round.
func shortText(err error) string {
	s := err.Error()
	for n := 1 << 10; ; n /= 2 {
		if len(s) > n {
			s = s[:n] + "…"
		}
		if b, _ := json.Marshal(s); len(b) <= 3<<10 { // a control character takes six bytes in JSON
			return s
		}
	}
}

// offer is sent by each rank before NCCL is chosen: its version, or the reason why the rank cannot use it.
type offer struct {
	GPU     bool
	Version int
	Why     string
}

func offerOf(d *device.Device) offer {
	o := offer{GPU: ncclDevices.has(d)}
	switch {
	case !o.GPU:
		o.Why = fmt.Sprintf("it is on %v", d)
	case os.Getenv("GPK_NCCL") == "off":
		o.Why = "GPK_NCCL=off"
	default:
		if err := nccl.Load(); err != nil {
			o.Why = shortText(err)
		} else {
			o.Version = nccl.Number()
		}
	}
	return o
}

// obstacle returns the reason why NCCL cannot be used with these offers, or "". gpus reports whether any
// rank has a GPU.
func obstacle(offers []offer) (why string, gpus bool) {
	for i, o := range offers {
		gpus = gpus || o.GPU
		switch {
		case why != "":
		case o.Why != "":
			why = fmt.Sprintf("rank %d: %s", i, o.Why)
		case o.Version != offers[0].Version:
			why = fmt.Sprintf("rank %d has version %d, rank 0 version %d", i, o.Version, offers[0].Version)
		}
	}
	return why, gpus
}

// exchange gathers a value of every rank.
func exchange[T any](ctx context.Context, n *control.Node, key string, mine T) ([]T, error) {
	b, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	all, err := n.Gather(ctx, key, n.Rank(), n.Size(), b)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(all))
	for i, b := range all {
		if err := json.Unmarshal(b, &out[i]); err != nil {
			return nil, &RankError{i, n.Host(i), err}
		}
	}
	return out, nil
}

// invitationByNCCL is sent by rank 0: the communicator's ID, or the reason why there is none.
type invitationByNCCL struct {
	ID  []byte
	Why string
}

// connectGPUs makes the rank's communicator if all ranks have a GPU and NCCL. Otherwise it returns the
// reason, the same on all ranks, or "" if no rank has a GPU. An error fails the group.
func (r *rank) connectGPUs(ctx context.Context) (why string, err error) {
	n := r.node
	offers, err := exchange(ctx, n, "nccl", offerOf(r.device))
	if err != nil {
		return "", err
	}
	why, gpus := obstacle(offers)
	if !gpus {
		return "", nil
	}
	if why != "" {
		return why, nil
	}
	var own invitationByNCCL
	if n.Rank() == 0 {
		id, err := nccl.NewID()
		own.ID = id[:]
		if err != nil {
			own.Why = shortText(err)
		}
	}
	invitations, err := exchange(ctx, n, "nccl/id", own)
	if err != nil {
		return "", err
	}
	if why := invitations[0].Why; why != "" {
		return "rank 0: " + why, nil
	}
	var id nccl.ID
	if copy(id[:], invitations[0].ID) != len(id) {
		return "", &RankError{0, n.Host(0), fmt.Errorf("%w: an NCCL ID of %d bytes", gpk.ErrUnsupported, len(invitations[0].ID))}
	}
	return r.meetGPUs(ctx, id)
}

// othersLimit is how long a rank on which NCCL did not start waits for the results of the others. If one
// of them is still in NCCL, waiting for this rank, the group fails. A test shortens it.
var othersLimit = 10 * time.Second

// meetGPUs makes the communicator, and drops it if any rank could not make its own.
func (r *rank) meetGPUs(ctx context.Context, id nccl.ID) (why string, err error) {
	n := r.node
	var failed string
	contextOf := ncclDevices.context
	comm, initErr := await(ctx, n, func() (*nccl.Comm, error) {
		c, err := contextOf(r.device)
		if err != nil {
			return nil, err
		}
		return nccl.Init(c, n.Size(), id, n.Rank())
	})
	if initErr != nil {
		if !errors.Is(initErr, errEngine) { // the group has failed, or ctx has ended
			return "", initErr
		}
		failed = shortText(initErr)
		limited, cancel := context.WithTimeoutCause(ctx, othersLimit, initErr)
		defer cancel()
		ctx = limited
	}
	all, err := exchange(ctx, n, "nccl/done", failed)
	for i, text := range all {
		if text != "" && why == "" {
			why = fmt.Sprintf("rank %d: %s", i, text)
		}
	}
	if (err != nil || why != "") && comm != nil {
		_ = comm.Abort() // another rank has no communicator
	}
	if err == nil && why == "" {
		r.gpu = newGPUComm(comm, n)
	}
	return why, err
}

// useNCCL connects the GPUs of the ranks of this process. If must is set, it is an error if NCCL cannot be
// used.
func (g *Group) useNCCL(ctx context.Context, must bool) error {
	whys, errs := make([]string, len(g.ranks)), make([]error, len(g.ranks))
	var wg sync.WaitGroup
	for i, r := range g.ranks {
		wg.Go(func() {
			if whys[i], errs[i] = r.connectGPUs(ctx); errs[i] != nil {
				errs[i] = r.fail(errs[i])
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return asRankError(err)
		}
	}
	switch why := whys[0]; {
	case g.ranks[0].gpu != nil:
		g.how = append(g.how, fmt.Sprintf("collective functions run in %s, %s; the ranks compare their calls as above", nccl.Version(), nccl.Path()))
	case must && why == "":
		return fmt.Errorf("%w: NCCL, but no rank is on a GPU", gpk.ErrUnsupported)
	case must:
		return fmt.Errorf("%w: NCCL: %s", gpk.ErrUnsupported, why)
	case why != "":
		g.how = append(g.how, "NCCL is not used, arrays are copied through the host: "+why)
	}
	return nil
}
