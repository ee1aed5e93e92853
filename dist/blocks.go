package dist

import (
	"slices"

	"github.com/gpk-go/gpk"
)

// oneStep is the number of bytes up to which AllReduce gathers the whole arrays in every rank. Longer
// arrays are reduced in parts, one for each rank. The bits are the same. A test replaces it.
var oneStep = 16 << 10

// allReduce gathers and reduces. The ranks have parts of equal size; the last part may be padded.
func (k *call) allReduce(op Op) (*gpk.Array, error) {
	if k.onGPU() {
		return k.gpuAllReduce(op)
	}
	in, err := bytesOf(k.a)
	if err != nil {
		return nil, err
	}
	p, size := len(k.c.members), k.a.DType().Size()
	if len(in) <= oneStep {
		all := aligned(p * len(in))
		if err := k.c.move.allGather(k.c.ctx, k.c, k.key, all, in); err != nil {
			return nil, err
		}
		reduceInto(op, k.a.DType(), in, all, p)
		return k.result(in, k.a.Shape())
	}
	part := (len(in)/size + p - 1) / p * size
	padded := aligned(p * part)
	copy(padded, in)
	mine, err := k.reduceParts(op, padded)
	if err != nil {
		return nil, err
	}
	if err := k.c.move.allGather(k.c.ctx, k.c, k.key+"/gather", padded, mine); err != nil {
		return nil, err
	}
	return k.result(padded[:len(in)], k.a.Shape())
}

// reduceParts exchanges parts and reduces the part of this rank. It overwrites in.
func (k *call) reduceParts(op Op, in []byte) ([]byte, error) {
	all := aligned(len(in))
	if err := k.c.move.allToAll(k.c.ctx, k.c, k.key, all, in); err != nil {
		return nil, err
	}
	p := len(k.c.members)
	mine := all[: len(all)/p : len(all)/p]
	reduceInto(op, k.a.DType(), mine, all, p)
	return mine, nil
}

// first returns the array with the axis of the call moved to the front.
func (k *call) first() *gpk.Array { return k.a.Transpose(k.order()...) }

// order returns the axes, with that of the call first.
func (k *call) order() []int {
	axes := []int{k.axis}
	for i := range k.a.NDim() {
		if i != k.axis {
			axes = append(axes, i)
		}
	}
	return axes
}

// blocks returns the shape of a result in which the axis of the call is first and has length n.
// inverse is the order of axes that moves it back.
func (k *call) blocks(n int) (shape, inverse []int) {
	order := k.order()
	shape, inverse = make([]int, len(order)), make([]int, len(order))
	for i, axis := range order {
		shape[i], inverse[axis] = k.a.Shape()[axis], i
	}
	shape[0] = n
	return shape, inverse
}

// back makes the result from elements in which the axis of the call is first and has length n.
func (k *call) back(b []byte, n int) (*gpk.Array, error) {
	shape, inverse := k.blocks(n)
	out, err := k.result(b, shape)
	if err != nil || k.axis == 0 {
		return out, err
	}
	return out.Transpose(inverse...), nil
}

func (k *call) length() int { return k.a.Shape()[k.axis] }

func (k *call) allGather() (*gpk.Array, error) {
	if k.onGPU() {
		return k.gpuGather()
	}
	in, err := bytesOf(k.first())
	if err != nil {
		return nil, err
	}
	p := len(k.c.members)
	all := aligned(p * len(in))
	if err := k.c.move.allGather(k.c.ctx, k.c, k.key, all, in); err != nil {
		return nil, err
	}
	return k.back(all, p*k.length())
}

func (k *call) reduceScatter(op Op) (*gpk.Array, error) {
	if k.onGPU() {
		return k.gpuReduceScatter(op)
	}
	in, err := bytesOf(k.first())
	if err != nil {
		return nil, err
	}
	mine, err := k.reduceParts(op, in)
	if err != nil {
		return nil, err
	}
	return k.back(mine, k.length()/len(k.c.members))
}

func (k *call) allToAll() (*gpk.Array, error) {
	if k.onGPU() {
		return k.gpuAllToAll()
	}
	in, err := bytesOf(k.first())
	if err != nil {
		return nil, err
	}
	out := aligned(len(in))
	if err := k.c.move.allToAll(k.c.ctx, k.c, k.key, out, in); err != nil {
		return nil, err
	}
	return k.back(out, k.length())
}

func (k *call) broadcast(root int) (*gpk.Array, error) {
	if k.onGPU() {
		return k.gpuBroadcast(root)
	}
	b, err := aligned(k.a.NBytes()), error(nil)
	if k.c.me == root {
		if b, err = bytesOf(k.a); err != nil {
			return nil, err
		}
	}
	if err := k.c.move.broadcast(k.c.ctx, k.c, k.key, b, root); err != nil {
		return nil, err
	}
	return k.result(b, slices.Clone(k.a.Shape()))
}
