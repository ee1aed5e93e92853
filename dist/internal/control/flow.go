package control

import "context"

// maxUnread limits the bytes that one rank has sent to another and that the other has not received. At
// this limit the sender waits before its next message. A receiver buffers at most maxUnread bytes and one
// message from each rank.
const maxUnread = 64 << 20

// tellAfter is the number of bytes after which a rank is told that its data was received, or that rank 0 has forwarded
// it.
const tellAfter = maxUnread / 8

// flow counts the data that a node has sent and received. The node's mutex guards it.
type flow struct {
	maxUnread  int64
	maxRelayed int64         // Send waits while rank 0 has this many bytes to forward; 0: no limit
	unread     map[int]int64 // bytes sent to each rank that it has not reported as received
	inRelay    int64         // bytes sent that rank 0 has not reported as forwarded
	unreported map[int]int64 // bytes received from each rank that were not yet reported to it
	changed    Signal        // sent when unread or inRelay has decreased
}

func newFlow() flow {
	return flow{maxUnread: maxUnread, unread: map[int]int64{}, unreported: map[int]int64{}}
}

// credit calls change under the mutex and then wakes the callers of await. change decreases a count.
func (n *Node) credit(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	n.flow.changed.Send()
}

// await waits until room returns true, rank `to` has left, the group fails or ctx ends. In the first two
// cases it calls take. It calls room and take under the mutex.
func (n *Node) await(ctx context.Context, to int, room func() bool, take func()) error {
	for {
		n.mu.Lock()
		if n.left[to] || room() {
			take()
			n.mu.Unlock()
			return nil
		}
		changed := n.changed.Wait()
		n.mu.Unlock()
		select {
		case <-changed:
		case <-n.done:
			return n.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitReader waits while maxUnread bytes or more that were sent to a rank are unread.
func (n *Node) awaitReader(ctx context.Context, to int) error {
	return n.await(ctx, to, func() bool { return n.unread[to] < n.maxUnread }, func() {})
}

// awaitRelay waits while rank 0 has maxRelayed bytes to forward. It then counts a frame of size bytes to a rank as
// sent.
func (n *Node) awaitRelay(ctx context.Context, to, size int) error {
	return n.await(ctx, to, func() bool { return n.maxRelayed == 0 || n.inRelay < n.maxRelayed }, func() {
		n.unread[to] += int64(size)
		if n.maxRelayed > 0 {
			n.inRelay += int64(size)
		}
	})
}

// read counts bytes received from a rank, and reports them to it after every tellAfter bytes.
func (n *Node) read(from, size int) {
	n.mu.Lock()
	n.unreported[from] += int64(size)
	amount := n.unreported[from]
	if amount < min(tellAfter, n.maxUnread/2) {
		n.mu.Unlock()
		return
	}
	n.unreported[from] = 0
	n.mu.Unlock()
	n.send((&frame{kind: kindRead, peer: uint32(from)}).withAmount(amount))
}
