package dist

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
)

// comparison compares the calls of the ranks of a Comm with NCCL. The ranks do not wait for it: a collective
// function starts its work at once. Calls that differ hang in NCCL, so a difference fails the group, and the
// watch aborts the communicator.
//
// The ranks compare in rounds of Gather. In a round, a rank gives digests of the calls that it has not compared
// yet. The least number of digests that any rank gives are compared; the others are given again in the next round.
// A rank takes part in a round once it has made a call. So a round waits for a rank that makes none, which the watch
// or a context ends.
type comparison struct {
	c *Comm

	mu      sync.Mutex
	calls   []compared // that were not compared yet
	added   int        // calls so far
	equal   int        // of them, the first that are equal on all ranks
	err     error      // after which nothing is compared, and add refuses calls
	running bool       // run looks at calls without being woken
	wake    chan struct{}
	urgent  chan struct{}
	rounds  int
}

// compared is a call to be compared.
type compared struct {
	head heading
	done []chan error // get the result
}

// tell gives the result to those who wait for it.
func (k compared) tell(err error) {
	for _, c := range k.done {
		c <- err // has room for one
	}
}

// Times of a comparison.
const (
	comparePause = 200 * time.Microsecond // between rounds, so that a round compares many short calls
	compareIdle  = 20                     // pauses without a call, after which run waits to be woken
)

func newComparison(c *Comm) *comparison {
	return &comparison{c: c, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
}

// add adds a call, whose work may start if add returns no error. It does not wait.
func (p *comparison) add(head heading, done ...chan error) error {
	p.mu.Lock()
	if err := p.err; err != nil {
		p.mu.Unlock()
		return err
	}
	p.calls = append(p.calls, compared{head, done})
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

// announce adds a call of c. It waits for the other ranks only if this process holds some of them: while NCCL's kernel
// waits on one GPU for that of another, the driver can block what the other rank still has to do, such as loading a
// module, in the whole process.
func (p *comparison) announce(c *Comm, head heading) error {
	if c.r.beside {
		return p.wait(c.ctx, head)
	}
	return p.add(head)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait adds a call, and waits until it and all earlier ones were compared.
func (p *comparison) wait(ctx context.Context, head heading) error { return p.begin(ctx, head)() }

// begin adds a call, and returns a function that waits until it and all earlier ones were compared.
func (p *comparison) begin(ctx context.Context, head heading) (wait func() error) {
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

// reach waits until the first n calls were compared, or returns the error of the group.
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
		return named(p.c.r.node.Err())
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

// leave refuses further calls. It fails the group if a call was not compared when ctx ended: nobody would find that it
// hangs.
func (p *comparison) leave(ctx context.Context) {
	cause := context.Cause(ctx)
	if failed := p.c.r.node.Err(); failed != nil {
		cause = named(failed)
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

// round compares the calls that all ranks have made. An error has failed the group.
func (p *comparison) round(ctx context.Context) error {
	p.mu.Lock()
	mine := slices.Clone(p.calls[:min(len(p.calls), p.most())])
	p.mu.Unlock()
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
	p.mu.Lock()
	finished := p.calls[:n]
	p.equal += n
	if p.calls = p.calls[n:]; len(p.calls) == 0 {
		p.calls = nil // its memory has room for no more calls
	}
	p.mu.Unlock()
	for _, k := range finished {
		k.tell(nil)
	}
	return nil
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
	if equal || failed { // no rank has started work if the call has failed on all
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
		err = fmt.Errorf("%w: digests of %v differ", gpk.ErrUnsupported, head) // not by an honest rank
	}
	return err
}

// failed fails the group, and gives the error to those who wait for a comparison.
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

// digest identifies a heading (FNV-1a, www.isthe.com/chongo/tech/comp/fnv). Its last bit says whether the heading
// has an error.
func (h *heading) digest() uint64 {
	d := uint64(0xcbf29ce484222325)
	number := func(n uint64) { d = (d ^ n) * 0x100000001b3 }
	text := func(s string) {
		for i := range len(s) {
			number(uint64(s[i]))
		}
		number(uint64(len(s)))
	}
	text(h.Call)
	text(h.Op)
	text(h.DType)
	text(h.Error)
	number(uint64(h.Axis))
	number(uint64(h.Sequence))
	for _, n := range h.Shape {
		number(uint64(n))
	}
	number(uint64(len(h.Shape)))
	d ^= d >> 32
	if h.Error != "" {
		return d | 1
	}
	return d &^ 1
}
