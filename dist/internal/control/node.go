package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// Node connects a rank to the hub. Its methods may be called from any goroutine.
type Node struct {
	rank, size int
	host       string
	send       func(*frame)                            // sends a frame to the hub without blocking
	wait       func(ctx context.Context, to int) error // waits until there is room for data to a rank; nil in memory
	chunk      int                                     // maximum number of data bytes of a frame
	shut       func()

	mu      sync.Mutex
	hosts   []string
	welcome chan struct{}
	done    chan struct{} // closed once failure is set
	failure *Failure
	closed  bool
	silence chan time.Duration // receives the hub's silence once it is known
	left    map[int]bool
	rounds  map[string]chan *frame
	boxes   map[address]*box
	flow
}

// address identifies a message by its sender and its key.
type address struct {
	from int
	key  string
}

// box holds the bodies that have arrived for an address.
type box struct {
	bodies [][]byte
	more   chan struct{} // has one element if a body has arrived
}

func newNode(m hello) *Node {
	return &Node{
		rank: m.Rank, size: m.Size, host: m.Host, chunk: math.MaxInt,
		welcome: make(chan struct{}), done: make(chan struct{}), silence: make(chan time.Duration, 1),
		left: map[int]bool{}, rounds: map[string]chan *frame{}, boxes: map[address]*box{}, flow: newFlow(),
	}
}

// Local returns the nodes of a group whose ranks are all in this process. host is the name of its host.
func Local(size int, host string, cfg Config) ([]*Node, error) {
	cfg.Size = size
	h := newHub(cfg)
	nodes := make([]*Node, size)
	for rank := range nodes {
		n, err := inMemory(h, hello{Rank: rank, Size: size, Host: host, Version: cfg.Version})
		if err != nil {
			return nil, err
		}
		nodes[rank] = n
	}
	return nodes, nil
}

// inMemory attaches a node to a hub of the same process.
func inMemory(h *hub, m hello) (*Node, error) {
	n := newNode(m)
	n.send = func(f *frame) { h.receive(m.Rank, f) }
	if f := h.attach(m, n); f != nil {
		return nil, f
	}
	return n, nil
}

// Rank returns the rank of the node.
func (n *Node) Rank() int { return n.rank }

// Size returns the number of ranks.
func (n *Node) Size() int { return n.size }

// Host returns the host of a rank, "" before all have joined.
func (n *Node) Host(rank int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if rank < 0 || rank >= len(n.hosts) {
		return ""
	}
	return n.hosts[rank]
}

// Done is closed when the group has failed, or the node was closed.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err returns the Failure that ended the group, ErrClosed if this node was closed, or nil.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failure == nil {
		return nil
	}
	return n.failure
}

// Fail ends the group with an error of this rank. The first failure counts.
func (n *Node) Fail(err error) { n.Blame(&Failure{n.rank, n.host, err}) }

// Blame ends the group with an error of any rank. The first failure counts.
func (n *Node) Blame(f *Failure) {
	n.send(&frame{kind: kindFailure, peer: uint32(f.Rank), body: reportOf(f), err: f.Err})
	n.fail(f)
}

func (n *Node) fail(f *Failure) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.failure == nil {
		n.failure = f
		close(n.done)
	}
}

// deliver handles a frame from the hub.
func (n *Node) deliver(f *frame) {
	switch f.kind {
	case kindWelcome:
		n.start(f.body)
	case kindBeat:
		if d := time.Duration(f.amount()); d > 0 {
			select {
			case n.silence <- d:
			default: // silence is already known
			}
		}
	case kindFailure:
		failure := failureOf(int(f.peer), f.body)
		if f.err != nil {
			failure.Err = f.err
		}
		n.fail(failure)
	case kindLeave:
		n.mu.Lock()
		n.left[int(f.peer)] = true
		n.flow.changed.Send()
		boxes := make([]*box, 0, len(n.boxes))
		for a, b := range n.boxes {
			if a.from == int(f.peer) {
				boxes = append(boxes, b)
			}
		}
		n.mu.Unlock()
		for _, b := range boxes {
			b.wake()
		}
	case kindRound:
		n.mu.Lock()
		answer := n.rounds[f.key]
		delete(n.rounds, f.key)
		n.mu.Unlock()
		if answer != nil {
			answer <- f // the channel has capacity 1
		}
	case kindRead:
		n.credit(func() { n.unread[int(f.peer)] = max(0, n.unread[int(f.peer)]-f.amount()) })
	case kindRelayed:
		n.credit(func() { n.inRelay = max(0, n.inRelay-f.amount()) })
	case kindData:
		b := n.box(address{int(f.peer), f.key})
		n.mu.Lock()
		b.bodies = append(b.bodies, f.body)
		n.mu.Unlock()
		b.wake()
	}
}

// start records that all ranks have joined.
func (n *Node) start(body []byte) {
	var hosts []string
	if err := json.Unmarshal(body, &hosts); err != nil || len(hosts) != n.size {
		n.fail(&Failure{0, "", fmt.Errorf("%w: %d hosts of %d ranks", errFrame, len(hosts), n.size)})
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.hosts == nil {
		n.hosts = hosts
		close(n.welcome)
	}
}

// joined waits until all ranks have joined.
func (n *Node) joined(ctx context.Context) error {
	select {
	case <-n.welcome:
		return nil
	default:
	}
	select {
	case <-n.welcome:
		return nil
	case <-n.done:
		return n.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *box) wake() {
	select {
	case b.more <- struct{}{}:
	default:
	}
}

func (n *Node) box(a address) *box {
	n.mu.Lock()
	defer n.mu.Unlock()
	b := n.boxes[a]
	if b == nil {
		b = &box{more: make(chan struct{}, 1)}
		n.boxes[a] = b
	}
	return b
}

var errPayload = errors.New("a payload is too long")

// Gather sends a payload of at most 4 KiB, and returns the payloads of the `need` ranks that call it with
// the same key, by index. It waits for them until ctx ends or the group fails. Each key is used once.
func (n *Node) Gather(ctx context.Context, key string, index, need int, payload []byte) ([][]byte, error) {
	if len(payload) > maxPayload || len(key) > maxKey {
		return nil, errPayload
	}
	if err := n.Err(); err != nil {
		return nil, err
	}
	if n.hasLeft(0) {
		return nil, &Failure{0, n.Host(0), ErrLeft}
	}
	answer := make(chan *frame, 1)
	n.mu.Lock()
	n.rounds[key] = answer
	n.mu.Unlock()
	n.send(&frame{kind: kindGather, a: uint32(index), b: uint32(need), key: key, body: payload})
	select {
	case f := <-answer:
		return gathered(f, need)
	case <-n.done:
		select {
		case f := <-answer: // the answer arrived before the failure
			return gathered(f, need)
		default:
		}
		return nil, n.Err()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// hasLeft reports whether a rank has closed its node.
func (n *Node) hasLeft(rank int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.left[rank]
}

func gathered(f *frame, need int) ([][]byte, error) {
	if int64(f.b) != int64(need) {
		return nil, errFrame
	}
	if f.a != 1 {
		return payloads(f.body, need)
	}
	all := make([][]byte, need)
	for i := range all {
		all[i] = f.body
	}
	return all, nil
}

// Send sends a message to another rank, for its Recv under the same key. The bytes are copied. Before it
// begins, Send waits while the rank has not received maxUnread bytes of earlier messages. Over TCP it also
// waits while maxQueued bytes are queued. Both waits end with ctx or when the group fails. A message that
// has begun never waits for its receiver, so two ranks that send one message to each other cannot deadlock.
func (n *Node) Send(ctx context.Context, to int, key string, b []byte) error {
	if err := n.Err(); err != nil {
		return err
	}
	if err := n.awaitReader(ctx, to); err != nil {
		return err
	}
	b = append([]byte{}, b...)
	for first := true; first || len(b) > 0; first = false {
		part := b[:min(len(b), n.chunk)]
		b = b[len(part):]
		if n.wait != nil {
			if err := n.wait(ctx, to); err != nil {
				return err
			}
			if err := n.Err(); err != nil {
				return err
			}
		}
		f := &frame{kind: kindData, peer: uint32(to), key: key, body: part}
		if err := n.awaitRelay(ctx, to, f.size()); err != nil {
			return err
		}
		n.send(f)
	}
	return nil
}

// Recv waits for the message of a rank with a key. Its length must be that of into.
func (n *Node) Recv(ctx context.Context, from int, key string, into []byte) error {
	a := address{from, key}
	b := n.box(a)
	for first := true; first || len(into) > 0; first = false {
		body, err := n.next(ctx, from, b)
		if err != nil {
			return err
		}
		if len(body) > len(into) || len(body) == 0 && len(into) > 0 {
			return fmt.Errorf("%w: %d bytes where %d were expected", errFrame, len(body), len(into))
		}
		copy(into, body)
		into = into[len(body):]
		n.read(from, (&frame{key: key, body: body}).size())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(b.bodies) == 0 && n.boxes[a] == b {
		delete(n.boxes, a)
	}
	return nil
}

// next waits for the next body in a box.
func (n *Node) next(ctx context.Context, from int, b *box) ([]byte, error) {
	for {
		n.mu.Lock()
		if len(b.bodies) > 0 {
			body := b.bodies[0]
			b.bodies = b.bodies[1:]
			n.mu.Unlock()
			return body, nil
		}
		gone := n.left[from]
		n.mu.Unlock()
		if gone {
			return nil, &Failure{from, n.Host(from), ErrLeft}
		}
		select {
		case <-b.more:
		case <-n.done:
			return nil, n.Err()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Close leaves the group. Call it when no other rank waits for this one. Calls of this node that are still
// waiting return ErrClosed.
func (n *Node) Close() {
	n.mu.Lock()
	if n.closed {
		n.mu.Unlock()
		return
	}
	n.closed = true
	failed := n.failure != nil
	if !failed {
		n.failure = &Failure{n.rank, n.host, ErrClosed}
		close(n.done)
	}
	n.mu.Unlock()
	if !failed {
		n.send(&frame{kind: kindLeave, peer: uint32(n.rank)})
	}
	if n.shut != nil {
		n.shut()
	}
}
