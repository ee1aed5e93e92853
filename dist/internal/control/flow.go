package control

import "context"

// maxUnread limits the bytes of messages from one rank that another has not received. The sender waits
// before its next message while there are as many. A receiver holds at most these and one message.
const maxUnread = 64 << 20

// tellAfter is the number of bytes after which a rank is told that its data was received, or left rank 0.
const tellAfter = maxUnread / 8

// flow counts the data that a node has sent and received. The node's mutex guards it.
type flow struct {
	maxUnread  int64
	maxRelayed int64         // Send waits while as many bytes are on their way through rank 0; 0: no limit
	unread     map[int]int64 // bytes sent to each rank that it has not reported as received
	inRelay    int64         // bytes sent that rank 0 has not reported as passed on
	taken      map[int]int64 // bytes received from each rank that were not reported to it
	changed    Signal        // there is more room
}

func newFlow() flow {
	return flow{maxUnread: maxUnread, unread: map[int]int64{}, taken: map[int]int64{}}
}

// credit calls change, which changes a count, and wakes those who wait.
func (n *Node) credit(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	n.flow.changed.Send()
}

// await waits until there is room, rank to has left, the group fails or ctx ends. In the first two
// cases it calls take under the mutex.
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

// awaitReader waits while a rank has not received maxUnread bytes that were sent to it.
func (n *Node) awaitReader(ctx context.Context, to int) error {
	return n.await(ctx, to, func() bool { return n.unread[to] < n.maxUnread }, func() {})
}

// awaitRelay waits while maxRelayed bytes are on their way through rank 0, then counts a frame of size bytes to a rank.
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
	n.taken[from] += int64(size)
	told := n.taken[from]
	if told < min(tellAfter, n.maxUnread/2) {
		n.mu.Unlock()
		return
	}
	n.taken[from] = 0
	n.mu.Unlock()
	n.send((&frame{kind: kindRead, peer: uint32(from)}).withAmount(told))
}
