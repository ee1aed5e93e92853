package dist

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/dist/internal/control"
)

// Send sends an array to another rank, which calls Recv with this one. Messages from one rank to
// another arrive in their order. Send may return before the message was received: with Local and over
// TCP, messages that were not received lie in the memory of the receiver, without a bound. An array
// with an error makes both sides return it.
func (c *Comm) Send(ctx context.Context, a *gpk.Array, to int) error {
	op := array.NewOperation("dist.Send", []*gpk.Array{a})
	fail := func(err error) error { return op.Failed(err).Err() }
	if err := c.ready(ctx, to); err != nil {
		return fail(err)
	}
	head := heading{Call: "Send"}
	err := op.Check()
	var body []byte
	if err == nil {
		head.DType, head.Shape = a.DType().String(), a.Shape()
		body, err = bytesOf(a)
	}
	if err != nil {
		head.Error, head.Is, body = control.Text(err), control.Sentinels(err), nil
	}
	ctx, cancel := both(ctx, c.ctx)
	defer cancel()
	if sendErr := c.sendMessage(ctx, to, head, body); sendErr != nil {
		return fail(c.end(sendErr))
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// ready checks what both sides of a message check.
func (c *Comm) ready(ctx context.Context, peer int) error {
	if err := c.check(); err != nil {
		return err
	}
	if ctx == nil {
		return errClosed
	}
	if peer == c.me {
		return fmt.Errorf("%w: a message of rank %d to itself", gpk.ErrUnsupported, peer)
	}
	return c.within(peer)
}

func (c *Comm) sendMessage(ctx context.Context, to int, head heading, body []byte) error {
	b, err := head.encode()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.sent[to]++
	key := c.letterKey(c.me, to, c.sent[to])
	c.mu.Unlock()
	block := make([]byte, maxHeading)
	copy(block, b)
	if err := c.move.send(ctx, c, key, block, to); err != nil || len(body) == 0 {
		return err
	}
	return c.move.send(ctx, c, key+"/body", body, to)
}

// Recv waits for the next array that a rank sends to this one, and writes its elements into an
// array of the same type and shape. One that differs is ErrDType or ErrShape, and the message is
// gone.
func (c *Comm) Recv(ctx context.Context, into *gpk.Array, from int) error {
	op := array.NewOperation("dist.Recv", []*gpk.Array{into})
	fail := func(err error) error { return op.Failed(err).Err() }
	if err := op.Check(); err != nil {
		return fail(err)
	}
	if err := c.ready(ctx, from); err != nil {
		return fail(err)
	}
	ctx, cancel := both(ctx, c.ctx)
	defer cancel()
	head, body, err := c.recvMessage(ctx, from)
	if err != nil {
		return fail(c.end(err))
	}
	if head.Error != "" {
		return fail(c.blame(from, control.Remote(head.Error, head.Is)))
	}
	mine := heading{Call: "Send", DType: into.DType().String(), Shape: into.Shape()}
	if head.DType != mine.DType {
		return fail(c.blame(from, fmt.Errorf("%w: it sends %v %s", gpk.ErrDType, head.Shape, head.DType)))
	}
	if mine.differs(head) != nil {
		return fail(c.blame(from, fmt.Errorf("%w: it sends %v %s", gpk.ErrShape, head.Shape, head.DType)))
	}
	if err := codecs[into.DType()].into(into, body); err != nil {
		return fail(err)
	}
	return nil
}

// recvMessage receives a message of any type and shape.
func (c *Comm) recvMessage(ctx context.Context, from int) (head heading, body []byte, err error) {
	c.mu.Lock()
	c.got[from]++
	key := c.letterKey(from, c.me, c.got[from])
	c.mu.Unlock()
	block := make([]byte, maxHeading)
	if err = c.move.recv(ctx, c, key, block, from); err != nil {
		return head, nil, err
	}
	end := len(block)
	for end > 0 && block[end-1] == 0 {
		end--
	}
	if err = json.Unmarshal(block[:end], &head); err != nil || head.Error != "" {
		return head, nil, err
	}
	n, err := head.bytes()
	if err != nil || n == 0 {
		return head, nil, err
	}
	if err := room(n, 1); err != nil {
		return head, nil, err
	}
	body = aligned(n)
	return head, body, c.move.recv(ctx, c, key+"/body", body, from)
}
