package dist

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/dist/internal/control"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/nccl"
)

// Send sends an array to another rank, which calls Recv. Messages from one rank to another arrive in the order in
// which they were sent. Send may return before the message is received. It waits for Recv with NCCL, with MPI for long
// arrays, and while 64 MiB of earlier messages have not been received. So two ranks that exchange arrays must not both
// call Send first; AllToAll exchanges them. If the array carries an error, both sides return it.
func (c *Comm) Send(ctx context.Context, a *gpk.Array, to int) error {
	op := array.NewOperation("dist.Send", []*gpk.Array{a})
	fail := func(err error) error { return op.Failed(err).Err() }
	if err := c.ready(ctx, to); err != nil {
		return fail(err)
	}
	if a.Stream().Capturing() {
		return fail(errCapturedMessage)
	}
	head := heading{Call: "Send"}
	err := op.Check()
	var body []byte
	if err == nil {
		head.DType, head.Shape = a.DType().String(), a.Shape()
		if c.gpu == nil {
			body, err = bytesOf(a)
		} else {
			a = a.To(c.Device()).Contiguous()
			err = gpk.Eval(a)
		}
	}
	if err != nil {
		head.Error, head.Is, body = control.Text(err), control.Sentinels(err), nil
	}
	ctx, cancel := both(ctx, c.ctx)
	defer cancel()
	key, sendErr := c.sendMessage(ctx, to, head, body)
	if sendErr == nil && err == nil && c.gpu != nil && a.Size() > 0 {
		sendErr = c.sendOnGPU(ctx, op, key, a, to)
	}
	if sendErr != nil {
		return fail(c.end(sendErr))
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

var errCapturedMessage = fmt.Errorf("%w: Send and Recv cannot be captured, because each waits for the other side", gpk.ErrUnsupported)

// sendOnGPU sends an array by NCCL after the receiver has called Recv. If the send were enqueued earlier, it could
// block later work that the receiver waits for, which is a deadlock.
func (c *Comm) sendOnGPU(ctx context.Context, op *array.Operation, key string, a *gpk.Array, to int) error {
	if err := c.move.recv(ctx, c, key+"/ready", make([]byte, 1), to); err != nil {
		return err
	}
	_, err := c.gpu.enqueue(op, dtype.Uint8, []int{1}, a, nccl.Call{Kind: nccl.Send, Count: a.NBytes(), Type: nccl.Uint8, Peer: to})
	return err
}

// recvOnGPU receives by NCCL an array of n > 0 bytes from a rank.
func (c *Comm) recvOnGPU(ctx context.Context, op *array.Operation, key string, head heading, n, from int) (*gpk.Array, error) {
	dt, err := dtype.Parse(head.DType)
	if err != nil {
		return nil, err
	}
	if err := c.move.send(ctx, c, key+"/ready", []byte{1}, from); err != nil {
		return nil, err
	}
	return c.gpu.enqueue(op, dt, head.Shape, nil, nccl.Call{Kind: nccl.Recv, Count: n, Type: nccl.Uint8, Peer: from})
}

// ready makes the checks that both sides of a message need.
func (c *Comm) ready(ctx context.Context, peer int) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	if peer == c.me {
		return fmt.Errorf("%w: rank %d cannot send a message to itself or receive one", gpk.ErrUnsupported, peer)
	}
	return c.within(peer)
}

// sendMessage sends a heading and bytes, and returns the key of the message.
func (c *Comm) sendMessage(ctx context.Context, to int, head heading, body []byte) (key string, err error) {
	b, err := head.encode()
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.sent[to]++
	key = c.letterKey(c.me, to, c.sent[to])
	c.mu.Unlock()
	block := make([]byte, maxHeading)
	copy(block, b)
	if err := c.move.send(ctx, c, key, block, to); err != nil || len(body) == 0 {
		return key, err
	}
	return key, c.move.send(ctx, c, key+"/body", body, to)
}

// Recv waits for the next array that a rank sends to this one, and writes its elements into an array of the same type
// and shape. If type or shape differ, the error is ErrDType or ErrShape, and the message is lost.
func (c *Comm) Recv(ctx context.Context, into *gpk.Array, from int) error {
	op := array.NewOperation("dist.Recv", []*gpk.Array{into})
	fail := func(err error) error { return op.Failed(err).Err() }
	if err := op.Check(); err != nil {
		return fail(err)
	}
	if err := c.ready(ctx, from); err != nil {
		return fail(err)
	}
	if into.Stream().Capturing() {
		return fail(errCapturedMessage)
	}
	ctx, cancel := both(ctx, c.ctx)
	defer cancel()
	head, body, received, err := c.recvMessage(ctx, op, from)
	if err != nil {
		return fail(c.end(err))
	}
	if head.Error != "" {
		return fail(c.blame(from, control.Remote(head.Error, head.Is)))
	}
	mine := heading{Call: "Send", DType: into.DType().String(), Shape: into.Shape()}
	if head.DType != mine.DType {
		return fail(c.blame(from, fmt.Errorf("%w: the rank sends %v %s, but Recv writes to %v %s", gpk.ErrDType, head.Shape, head.DType, mine.Shape, mine.DType)))
	}
	if mine.differs(&head) != nil {
		return fail(c.blame(from, fmt.Errorf("%w: the rank sends %v %s, but Recv writes to %v %s", gpk.ErrShape, head.Shape, head.DType, mine.Shape, mine.DType)))
	}
	if received != nil {
		return into.CopyFrom(received.To(into.Device()))
	}
	if err := codecs[into.DType()].into(into, body); err != nil {
		return fail(err)
	}
	return nil
}

// recvMessage receives a message of any type and shape: its elements in body, or with NCCL an array on the rank's GPU.
func (c *Comm) recvMessage(ctx context.Context, op *array.Operation, from int) (head heading, body []byte, received *gpk.Array, err error) {
	c.mu.Lock()
	c.got[from]++
	key := c.letterKey(from, c.me, c.got[from])
	c.mu.Unlock()
	block := make([]byte, maxHeading)
	if err = c.move.recv(ctx, c, key, block, from); err != nil {
		return head, nil, nil, err
	}
	end := len(block)
	for end > 0 && block[end-1] == 0 {
		end--
	}
	if err = json.Unmarshal(block[:end], &head); err != nil || head.Error != "" {
		return head, nil, nil, err
	}
	n, err := head.bytes()
	if err != nil || n == 0 {
		return head, nil, nil, err
	}
	if c.gpu != nil {
		received, err = c.recvOnGPU(ctx, op, key, head, n, from)
		return head, nil, received, err
	}
	if err := room(n, 1); err != nil {
		return head, nil, nil, err
	}
	body = aligned(n)
	return head, body, nil, c.move.recv(ctx, c, key+"/body", body, from)
}
