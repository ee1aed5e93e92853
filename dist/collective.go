package dist

import (
	"fmt"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/dist/internal/control"
)

// The collective functions evaluate their operand and move data on the line that calls them. They return an array on
// the rank's device, which belongs to the operand's scope. With NCCL they return when the work is enqueued on the
// array's stream. Ranks in different processes then compare their calls while the work runs; ranks of one process
// compare them before. The arrays of all ranks must have the same type and shape. The error is that of the first rank
// that has one. It is the error that its array carries, which reaches all ranks, or ErrUnsupported, ErrDType or
// ErrShape if its call differs from that of rank 0. With NCCL an error ends the group.

// AllReduce returns the reduction of the arrays of all ranks, element by element.
func (c *Comm) AllReduce(a *gpk.Array, op Op) *gpk.Array {
	call := c.begin("dist.AllReduce", heading{Op: op.String()}, a)
	call.check(func() error { return reducible(op, a.DType()) })
	call.needs(2)
	return call.finish(func() (*gpk.Array, error) { return call.allReduce(op) })
}

// AllGather returns the arrays of all ranks, concatenated along an axis in the order of ranks. A
// negative axis counts from the end.
func (c *Comm) AllGather(a *gpk.Array, axis int) *gpk.Array {
	call := c.begin("dist.AllGather", heading{Axis: axis}, a)
	call.along(axis)
	call.needs(1 + c.Size())
	return call.finish(call.allGather)
}

// ReduceScatter reduces as AllReduce does, and returns the part of this rank: the result is cut along an axis into
// equal parts, one for each rank. An axis whose length the number of ranks does not divide is ErrShape.
func (c *Comm) ReduceScatter(a *gpk.Array, op Op, axis int) *gpk.Array {
	call := c.begin("dist.ReduceScatter", heading{Op: op.String(), Axis: axis}, a)
	call.along(axis)
	call.check(func() error { return reducible(op, a.DType()) })
	call.check(call.divisible)
	call.needs(2)
	return call.finish(func() (*gpk.Array, error) { return call.reduceScatter(op) })
}

// Broadcast returns the array of the rank root. The arrays of the other ranks must have the same type and shape;
// their elements do not matter.
func (c *Comm) Broadcast(a *gpk.Array, root int) *gpk.Array {
	call := c.begin("dist.Broadcast", heading{Axis: root}, a)
	call.check(func() error { return c.within(root) })
	call.needs(1)
	return call.finish(func() (*gpk.Array, error) { return call.broadcast(root) })
}

// AllToAll cuts the array along an axis into equal parts, one for each rank, sends part j to rank j, and returns the
// received parts, concatenated along the axis in the order of ranks. An axis whose length the number of ranks does
// not divide is ErrShape.
func (c *Comm) AllToAll(a *gpk.Array, axis int) *gpk.Array {
	call := c.begin("dist.AllToAll", heading{Axis: axis}, a)
	call.along(axis)
	call.check(call.divisible)
	call.needs(2)
	return call.finish(call.allToAll)
}

// within returns ErrShape for a rank that does not exist.
func (c *Comm) within(rank int) error {
	if rank < 0 || rank >= len(c.members) {
		return fmt.Errorf("%w: there is no rank %d; the ranks are 0 to %d", gpk.ErrShape, rank, len(c.members)-1)
	}
	return nil
}

// call is a call of a collective function.
type call struct {
	*array.Operation
	c    *Comm
	a    *gpk.Array
	x    *gpk.Array // the operand as NCCL reads it: dense, with the axis of the call first
	head heading
	err  error // the reason why this rank cannot take part
	axis int   // the axis along which data is divided or joined
	key  string

	operands [1]*gpk.Array // operands of the Operation
}

// begin makes the checks of all collective functions. name is the function's name, with its package.
func (c *Comm) begin(name string, head heading, a *gpk.Array) *call {
	head.Call = strings.TrimPrefix(name, "dist.") // a concatenation would allocate memory
	k := &call{c: c, a: a, operands: [1]*gpk.Array{a}, head: head}
	k.Operation = array.NewOperation(name, k.operands[:])
	if k.err = k.Check(); k.err != nil {
		return k
	}
	if k.err = c.check(); k.err != nil {
		return k
	}
	if d := c.Device(); a.Device() != d {
		k.err = fmt.Errorf("%w: the array is on %v, the rank on %v: To(c.Device()) first", gpk.ErrDevice, a.Device(), d)
	}
	if k.err == nil {
		k.head.Sequence, k.err = k.sequence()
	}
	k.head.DType, k.head.Shape = a.DType().String(), a.Shape()
	return k
}

// check adds a condition for this rank to take part.
func (k *call) check(f func() error) {
	if k.err == nil {
		k.err = f()
	}
}

// needs checks that the host has memory for `blocks` blocks of the array's size, if the data moves through the host.
func (k *call) needs(blocks int) {
	k.check(func() error {
		if k.onGPU() {
			return nil
		}
		return room(k.a.NBytes(), blocks)
	})
}

// along checks an axis and counts it from 0.
func (k *call) along(axis int) {
	if k.err != nil {
		return
	}
	n := k.a.NDim()
	if axis < -n || axis >= n {
		k.err = fmt.Errorf("%w: axis %d of an array with %d axes", gpk.ErrShape, axis, n)
		return
	}
	if axis < 0 {
		axis += n
	}
	k.axis, k.head.Axis = axis, axis
}

func (k *call) divisible() error {
	if n, p := k.a.Shape()[k.axis], len(k.c.members); n%p != 0 {
		return fmt.Errorf("%w: %v: the number of ranks, %d, does not divide the length of axis %d", gpk.ErrShape, k.a.Shape(), p, k.axis)
	}
	return nil
}

// finish evaluates the operand, agrees with the other ranks, and moves the data. A rank that cannot take part tells
// the others too, because they wait for it.
func (k *call) finish(move func() (*gpk.Array, error)) *gpk.Array {
	if k.c == nil || k.c.r == nil {
		return k.Failed(errClosed)
	}
	if err := k.c.check(); err != nil {
		return k.Failed(err)
	}
	if k.err == nil {
		k.err = k.evaluate()
	}
	if k.err != nil {
		k.head.Error, k.head.Is = control.Text(k.err), control.Sentinels(k.err)
	}
	err := k.announce()
	if k.err != nil {
		return k.Failed(k.c.blame(k.c.me, k.err))
	}
	if err != nil {
		return k.Failed(err)
	}
	out, err := move()
	if err != nil {
		return k.Failed(k.c.end(err))
	}
	return k.Own(out)
}

// evaluate computes the operand. It makes the operand dense for NCCL here, so that announce can tell the other ranks
// of an error of the copy. The other ranks of this process then make no call of NCCL.
func (k *call) evaluate() error {
	if err := gpk.Eval(k.a); err != nil || !k.onGPU() {
		return err
	}
	k.x = k.a
	if k.axis > 0 {
		k.x = k.first()
	}
	if k.x = k.x.Contiguous(); k.x == k.a {
		return nil
	}
	return gpk.Eval(k.x)
}

// announce tells the other ranks of the call. With NCCL it does not wait for ranks in other processes.
func (k *call) announce() error {
	c := k.c
	if c.compare == nil {
		k.key = c.next()
		return c.agree(c.ctx, k.key, k.head)
	}
	if err := c.compare.announce(&k.head); err != nil {
		return c.end(err)
	}
	if k.err == nil && !k.onGPU() { // no elements: all ranks of this call report that
		k.key = c.next()
	}
	return nil
}
