package dist

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
)

// comparison compares the calls of the ranks of a Comm with NCCL. The ranks do not wait for it: a collective function
// starts its work at once. Calls that differ hang in NCCL, so a difference fails the group, and the watch aborts the
// communicator.
//
// The ranks compare in rounds of Gather. In a round, each rank sends digests of the calls that it has not compared yet.
// The ranks compare as many calls as the rank with the fewest has sent; the others are sent again in the next round. A
// rank takes part in a round once it has made a call. So a round waits for a rank that makes no call, until the watch
// or a context ends it.
//
// Ranks of one process meet before each call. If they are all ranks of the Comm, they compare there, and there are no
// rounds.
type comparison struct {
	c     *Comm
	meet  *meeting // where the ranks of this process meet; nil if there is only one
	place int      // this rank's index among them
	alone bool     // all ranks of the Comm are in this process

	mu      sync.Mutex
	calls   []compared // the calls that were not compared yet
	memory  []compared
	added   int   // number of calls so far
	equal   int   // number of these, from the first one on, that are equal on all ranks
	err     error // if set, nothing is compared any more, and add refuses calls
	running bool  // run polls for calls, and need not be woken
	wake    chan struct{}
	urgent  chan struct{}

	rounds int        // rounds and mine belong to run
	mine   []compared // the calls of a round
}

// compared is a call to be compared.
type compared struct {
	head heading
	done []chan error // channels that receive the result
}

// tell sends the result to the goroutines that wait for it.
func (k compared) tell(err error) {
	for _, c := range k.done {
		c <- err // the channel has capacity 1
	}
}

// Times of a comparison.
const (
	comparePause = 200 * time.Microsecond // between rounds, so that a round compares many short calls
	compareIdle  = 20                     // pauses without a call, after which run waits to be woken
)

func newComparison(c *Comm) *comparison {
	p := &comparison{c: c, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
	here := 0
	for i, rank := range c.members {
		if i == c.me {
			p.place = here
		}
		if c.r.holds(rank) {
			here++
		}
	}
	if here > 1 {
		p.meet, p.alone = c.r.beside.of(c.name, here), here == len(c.members)
	}
	return p
}

// add adds a call. If it returns no error, the work of the call may start. It does not wait.
func (p *comparison) add(head *heading, done ...chan error) error {
	p.mu.Lock()
	if err := p.err; err != nil {
		p.mu.Unlock()
		return err
	}
	p.append(compared{*head, done})
	p.added++
	first := !p.running
	p.running = true
	p.mu.Unlock()
	if first {
		signal(p.wake)
	}
	if len(done) > 0 {
		signal(p.urgent)
	}
	return nil
}

// announce adds a call. It waits for the other ranks of this process, if there are any: while NCCL's kernel on one GPU
// waits for the kernel on another, the driver can block calls of the other rank, such as loading a module, because it
// blocks them in the whole process.
func (p *comparison) announce(head *heading) error {
	switch {
	case p.meet == nil:
		return p.add(head)
	case p.alone:
		return p.wait(p.c.ctx, head)
	}
	if err := p.add(head); err != nil {
		return err
	}
	n := p.number()
	err := p.gatherHere(p.c.ctx, head, func([]*heading) error { return errHere })()
	if errors.Is(err, errHere) {
		return p.reach(n) // the round of all ranks names the first rank that differs
	}
	return err
}

// errHere says that calls of ranks in this process differ.
var errHere = errors.New("calls differ")

// gatherHere tells the call to the other ranks of this process, and returns a function that waits for them.
func (p *comparison) gatherHere(ctx context.Context, head *heading, difference func([]*heading) error) (wait func() error) {
	err := context.Cause(ctx)
	var gathering uint64
	if err == nil {
		gathering, err = p.meet.arrive(p.place, head, difference)
	}
	return func() error {
		if err == nil {
			err = p.meet.wait(ctx, p.c.r.node, gathering)
		}
		if err != nil && !errors.Is(err, errHere) {
			return p.c.end(err)
		}
		return err
	}
}

// differenceHere names the first rank whose heading carries an error or differs from that of rank 0.
func (p *comparison) differenceHere(headings []*heading) error {
	all := make([][]byte, len(headings))
	for i, h := range headings {
		b, err := h.encode()
		if err != nil {
			return p.c.blame(i, err)
		}
		all[i] = b
	}
	return p.c.difference(all)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait adds a call, and waits until it and all earlier ones were compared.
func (p *comparison) wait(ctx context.Context, head *heading) error { return p.begin(ctx, head)() }

// begin adds a call, and returns a function that waits until it and all earlier ones were compared.
func (p *comparison) begin(ctx context.Context, head *heading) (wait func() error) {
	if p.alone {
		return p.gatherHere(ctx, head, p.differenceHere)
	}
	done := make(chan error, 1)
	if err := p.add(head, done); err != nil {
		return func() error { return p.c.end(err) }
	}
	return func() error {
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return p.c.end(context.Cause(ctx))
		case <-p.c.r.node.Done():
			return p.c.end(p.c.r.node.Err())
		}
	}
}

// number returns the number of calls so far.
func (p *comparison) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.added
}

// reach waits until the first n calls were compared. It returns the group's error if it fails first.
func (p *comparison) reach(n int) error {
	p.mu.Lock()
	if n <= p.equal || p.err != nil {
		defer p.mu.Unlock()
		if n <= p.equal {
			return nil
		}
		return p.err
	}
	done := make(chan error, 1)
	at := n - 1 - p.equal
	p.calls[at].done = append(p.calls[at].done, done)
	p.mu.Unlock()
	signal(p.urgent)
	select {
	case err := <-done:
		return err
	case <-p.c.r.node.Done():
		return asRankError(p.c.r.node.Err())
	}
}

// run compares until ctx ends or the group fails.
func (p *comparison) run(ctx context.Context) {
	defer p.leave(ctx)
	pause := time.NewTimer(comparePause)
	defer pause.Stop()
	for idle := 0; ; {
		p.mu.Lock()
		n := len(p.calls)
		if n == 0 && idle >= compareIdle {
			p.running = false
		}
		asleep := !p.running
		p.mu.Unlock()
		switch {
		case n > 0:
			idle = 0
			if err := p.round(ctx); err != nil {
				return
			}
		case asleep:
			idle = 0
			select {
			case <-p.wake:
			case <-ctx.Done():
				return
			case <-p.c.r.node.Done():
				return
			}
		default:
			idle++
		}
		pause.Reset(comparePause)
		select {
		case <-pause.C:
		case <-p.urgent:
		case <-ctx.Done():
			return
		case <-p.c.r.node.Done():
			return
		}
	}
}

// leave refuses further calls. If a call was not compared when ctx ended, it fails the group, because otherwise nobody
// would notice that the call hangs.
func (p *comparison) leave(ctx context.Context) {
	cause := context.Cause(ctx)
	if failed := p.c.r.node.Err(); failed != nil {
		cause = asRankError(failed)
	}
	p.mu.Lock()
	waiting := len(p.calls) > 0
	if !waiting && p.err == nil {
		p.err = cause
	}
	p.mu.Unlock()
	if waiting {
		_ = p.failed(cause)
	}
}

// most is the largest number of calls in a round. The payloads of few ranks may differ in length; those of many
// are equal, unless their calls differ, so that rank 0 sends one payload and not all.
func (p *comparison) most() int {
	if len(p.c.members) > 64 {
		return 1
	}
	return 256
}

// round compares the calls that all ranks have made. If it returns an error, the group has failed.
func (p *comparison) round(ctx context.Context) error {
	p.mu.Lock()
	p.mine = append(p.mine[:0], p.calls[:min(len(p.calls), p.most())]...)
	p.mu.Unlock()
	mine := p.mine
	defer clear(mine)
	own := make([]byte, 0, 8*len(mine))
	for _, k := range mine {
		own = binary.BigEndian.AppendUint64(own, k.head.digest())
	}
	p.rounds++
	all, err := p.gather(ctx, fmt.Sprintf("%s/calls%d", p.c.name, p.rounds), own)
	if err != nil {
		return p.failed(err)
	}
	n := len(mine)
	for _, b := range all {
		n = min(n, len(b)/8)
	}
	for i, k := range mine[:n] {
		if err := p.compare(ctx, all, i, k.head); err != nil {
			return p.failed(err)
		}
	}
	p.finish(n)
	return nil
}

// finish removes the first n calls, which are equal on all ranks.
func (p *comparison) finish(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.calls[:n] {
		k.tell(nil)
	}
	clear(p.calls[:n])
	p.calls = p.calls[n:]
	p.equal += n
}

// append adds a call. Once the memory is full, the calls move to its beginning if half of it is free there: a call
// otherwise allocates more than the rest of a collective function does. mu is held.
func (p *comparison) append(k compared) {
	if full := len(p.calls) == cap(p.calls); full {
		if free := len(p.memory) - cap(p.calls); free > 0 && free >= len(p.calls) {
			n := copy(p.memory, p.calls)
			clear(p.memory[n:])
			p.calls = p.memory[:n]
		} else {
			p.calls = slices.Grow(p.calls, 1+len(p.calls))
			p.memory = p.calls[:cap(p.calls)]
		}
	}
	p.calls = append(p.calls, k)
}

func (p *comparison) gather(ctx context.Context, key string, own []byte) ([][]byte, error) {
	return p.c.r.node.Gather(ctx, key, p.c.me, len(p.c.members), own)
}

// compare compares call i of a round. If digests differ, the ranks exchange the headings.
func (p *comparison) compare(ctx context.Context, all [][]byte, i int, head heading) error {
	equal, failed := true, true
	for _, b := range all {
		d := binary.BigEndian.Uint64(b[8*i:])
		equal = equal && d == binary.BigEndian.Uint64(all[0][8*i:])
		failed = failed && d&1 != 0
	}
	if equal || failed { // if the call has failed on all ranks, none has started work
		return nil
	}
	own, err := head.encode()
	if err != nil {
		return err
	}
	headings, err := p.gather(ctx, fmt.Sprintf("%s/call%d.%d", p.c.name, p.rounds, i), own)
	if err != nil {
		return err
	}
	if err = p.c.difference(headings); err == nil {
		err = fmt.Errorf("%w: digests of %v differ", gpk.ErrUnsupported, head) // cannot happen unless a rank misbehaves
	}
	return err
}

// failed fails the group, and sends the error to the goroutines that wait for a comparison.
func (p *comparison) failed(err error) error {
	err = p.c.end(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.calls {
		k.tell(err)
	}
	p.calls, p.err = nil, err
	return err
}
