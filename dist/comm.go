package dist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
)

// Comm is a rank among the ranks that communicate: those of the group, or of a Split. All of its ranks call the same
// collective functions in the same order. A Comm is valid within its Run, and must be used by one goroutine at a time.
type Comm struct {
	r       *rank
	ctx     context.Context
	name    string // the same in all ranks
	members []int  // ranks of the group
	me      int    // this rank's index in members
	move    mover
	gpu     *gpuComm    // nil: arrays are copied through the host
	compare *comparison // the comparison of calls whose work has started; nil without gpu: the ranks compare each call first

	captured  *replays // the newest captured sequence
	sequences int

	mu     sync.Mutex
	calls  int
	splits int
	sent   map[int]int // number of messages sent to each rank
	got    map[int]int // number of messages received from each rank
}

func newComm(ctx context.Context, r *rank, name string) *Comm {
	members := make([]int, r.node.Size())
	for i := range members {
		members[i] = i
	}
	return commOf(ctx, r, name, members, r.node.Rank(), r.move, r.gpu)
}

func commOf(ctx context.Context, r *rank, name string, members []int, me int, m mover, gpu *gpuComm) *Comm {
	c := &Comm{r: r, ctx: ctx, name: name, members: members, me: me, move: m, gpu: gpu, sent: map[int]int{}, got: map[int]int{}}
	if gpu != nil {
		c.compare = newComparison(c)
		if !c.compare.alone { // ranks that are all in this process have compared a call before it starts
			gpu.comparedBy(c.compare)
		}
		r.compare(ctx, c.compare)
	}
	return c
}

// Rank returns the rank, from 0.
func (c *Comm) Rank() int {
	if c == nil {
		return 0
	}
	return c.me
}

// Size returns the number of ranks.
func (c *Comm) Size() int {
	if c == nil {
		return 0
	}
	return len(c.members)
}

// Device returns the device of the rank, on which results are.
func (c *Comm) Device() *device.Device {
	if c == nil || c.r == nil {
		return nil
	}
	return c.r.device
}

// Direct reports whether NCCL moves arrays from GPU to GPU. Otherwise they are copied through the host. It is the same on
// all ranks.
func (c *Comm) Direct() bool { return c != nil && c.gpu != nil }

// Beside returns a on a stream that belongs to the Comm. A collective call of the result runs after all work that the
// program has started on a's stream, and concurrently with the work that it starts there later. The result of the call
// is on the Comm's stream; y.On(a.Stream()) moves it back. Without NCCL, in a captured sequence, and if the device has
// no memory for another stream, Beside returns a itself.
func (c *Comm) Beside(a *gpk.Array) *gpk.Array {
	if c == nil || c.gpu == nil || a.Err() != nil || a.Device() != c.Device() || a.Stream().Capturing() {
		return a
	}
	s, err := c.gpu.ownStream(c.Device())
	if err != nil {
		return a
	}
	return a.On(s)
}

// check returns the error of a nil or zero Comm, or of one whose group has failed.
func (c *Comm) check() error {
	if c == nil || c.r == nil {
		return errClosed
	}
	return asRankError(c.r.node.Err())
}

// usable is check for a call with a context.
func (c *Comm) usable(ctx context.Context) error {
	err := c.check()
	if err == nil && ctx == nil {
		err = errNil
	}
	return err
}

// next returns the key of the next collective call whose data moves through the host.
func (c *Comm) next() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return c.name + "/" + strconv.Itoa(c.calls)
}

// patience is how long a rank whose engine has failed waits for the report of another rank's failure.
const patience = 500 * time.Millisecond

// end returns the error of an abandoned call. If the group has not failed yet, end makes it fail, because the other
// ranks wait for this one.
func (c *Comm) end(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, errEngine) {
		select {
		case <-c.r.node.Done():
		case <-time.After(patience):
		}
	}
	if failed := c.r.node.Err(); failed != nil {
		return asRankError(failed)
	}
	return asRankError(c.r.fail(err))
}

// errEngine marks errors of an engine, which may be caused by another rank.
var errEngine = errors.New("the engine has failed")

// Barrier waits until all ranks have called it.
func (c *Comm) Barrier(ctx context.Context) error {
	if err := c.usable(ctx); err != nil {
		return array.NewOperation("dist.Barrier", nil).Wrap(err)
	}
	ctx, cancel := both(ctx, c.ctx)
	defer cancel()
	return c.agree(ctx, c.next(), heading{Call: "Barrier"})
}

// both returns a context that ends when either of two ends.
func both(a, b context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(a)
	stop := context.AfterFunc(b, func() { cancel(context.Cause(b)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Split returns the Comm of the ranks that give the same color, in the order of key, then of rank. With a negative
// color, the rank is in no Comm and Split returns nil. All ranks call it. With MPI and NCCL it makes a communicator,
// which Run frees when all ranks are done. A library supports some thousand communicators.
func (c *Comm) Split(ctx context.Context, color, key int) (*Comm, error) {
	if err := c.usable(ctx); err != nil {
		return nil, array.NewOperation("dist.Split", nil).Wrap(err)
	}
	ctx, cancel := both(ctx, c.ctx)
	defer cancel()
	if err := c.agree(ctx, c.next(), heading{Call: "Split"}); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.splits++
	name := c.name + "/split" + strconv.Itoa(c.splits)
	c.mu.Unlock()
	mine := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(color)), uint64(key))
	all, err := c.r.node.Gather(ctx, name, c.me, len(c.members), mine)
	if err != nil {
		return nil, c.end(err)
	}
	chosen, err := partition(all, color)
	if err != nil {
		return nil, c.end(err)
	}
	// The first rank with a color names the ranks with that color, and their positions order them: the color and the
	// key of an engine may have fewer bits than an int.
	group, place := -1, slices.Index(chosen, c.me)
	if color >= 0 {
		group = chosen[0]
	}
	m, err := c.move.split(ctx, group, place)
	if err != nil {
		return nil, c.end(err)
	}
	var gpu *gpuComm
	if c.gpu != nil {
		if gpu, err = c.gpu.split(ctx, group, place); err != nil {
			return nil, c.end(err)
		}
	}
	if color < 0 {
		return nil, nil
	}
	members := make([]int, len(chosen))
	for i, at := range chosen {
		members[i] = c.members[at]
	}
	name += "." + strconv.Itoa(color)
	c.r.keep(name, m)
	if gpu != nil {
		c.r.keepGPU(gpu)
	}
	return commOf(c.ctx, c.r, name, members, place, m, gpu), nil
}

// partition returns the indices of the payloads with a color, in the order of their keys.
func partition(payloads [][]byte, color int) ([]int, error) {
	type entry struct {
		index int
		key   int64
	}
	var list []entry
	for i, p := range payloads {
		if len(p) != 16 {
			return nil, fmt.Errorf("%w: Split's color and key", gpk.ErrUnsupported)
		}
		if int64(binary.BigEndian.Uint64(p)) == int64(color) {
			list = append(list, entry{i, int64(binary.BigEndian.Uint64(p[8:]))})
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		if a.key != b.key {
			return map[bool]int{true: -1, false: 1}[a.key < b.key]
		}
		return a.index - b.index
	})
	out := make([]int, len(list))
	for i, e := range list {
		out[i] = e.index
	}
	return out, nil
}
