package dist

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/nccl"
)

// The collective functions of ranks on GPUs. NCCL is given dense data with the axis of the call first. An operand with
// another layout is copied on its GPU before the ranks compare their calls.

// onGPU reports whether NCCL moves the data of a call.
func (k *call) onGPU() bool { return k.c.gpu != nil && k.a.Size() > 0 }

// ncclReduction is NCCL's reduction, and the type in which it is computed.
type ncclReduction struct {
	as    nccl.Type
	parts int // elements of that type for each element of gpk's type
	op    nccl.Op
}

var ncclOps = [...]nccl.Op{Sum: nccl.Sum, Mean: nccl.Avg, Prod: nccl.Prod, Max: nccl.Max, Min: nccl.Min}

var ncclTypes = map[dtype.DType]ncclReduction{
	dtype.Float32: {as: nccl.Float32, parts: 1}, dtype.Float64: {as: nccl.Float64, parts: 1},
	dtype.Float16: {as: nccl.Float16, parts: 1}, dtype.BFloat16: {as: nccl.BFloat16, parts: 1},
	dtype.Int8: {as: nccl.Int8, parts: 1}, dtype.Uint8: {as: nccl.Uint8, parts: 1}, dtype.Bool: {as: nccl.Uint8, parts: 1},
	dtype.Int32: {as: nccl.Int32, parts: 1}, dtype.Int64: {as: nccl.Int64, parts: 1},
	dtype.Uint32: {as: nccl.Uint32, parts: 1}, dtype.Uint64: {as: nccl.Uint64, parts: 1}, // NCCL has no 16-bit integers
	dtype.Complex64: {as: nccl.Float32, parts: 2}, dtype.Complex128: {as: nccl.Float64, parts: 2},
}

// reductionOf returns how NCCL reduces a type. It reduces both parts of complex numbers, but has no
// product of them, and its extremes of floating-point numbers do not propagate NaN.
func reductionOf(op Op, dt dtype.DType) (r ncclReduction, ok bool) {
	r, ok = ncclTypes[dt]
	r.op = ncclOps[op]
	switch {
	case dt.IsComplex():
		ok = op == Sum || op == Mean
	case op == Max || op == Min:
		ok = ok && (dt.IsInteger() || dt == dtype.Bool)
	}
	return r, ok
}

// enqueue puts a call of NCCL on the rank's stream and returns its result. x is the array that the call reads, or nil. The call
// starts at once: a pending array would go through the scheduler, which costs more than the rest of the call.
func (g *gpuComm) enqueue(op *array.Operation, dt dtype.DType, shape []int, x *gpk.Array, k nccl.Call) (*gpk.Array, error) {
	var reads []*gpk.Array
	if x != nil {
		reads = append(reads, x)
	}
	outs, err := op.Several([]array.Part{{DType: dt, Shape: shape}}, k.Kind.How(), reads, func(s *device.Stream, dst, reads []device.View) error {
		var src device.View
		if len(reads) > 0 {
			src = reads[0]
		}
		return g.start(s, src, dst[0], k)
	})
	if err != nil {
		return nil, err
	}
	return outs[0], nil
}

// bytes returns a call that moves count elements as bytes.
func (k *call) bytes(kind nccl.Kind, count int) nccl.Call {
	return nccl.Call{Kind: kind, Count: count * k.a.DType().Size(), Type: nccl.Uint8, Ranks: len(k.c.members)}
}

// gpuAllReduce implements allReduce with NCCL. A reduction that NCCL does not have is computed from the arrays of all
// ranks.
func (k *call) gpuAllReduce(op Op) (*gpk.Array, error) {
	r, ok := reductionOf(op, k.a.DType())
	if ok {
		return k.c.gpu.enqueue(k.Operation, k.a.DType(), k.a.Shape(), k.x, nccl.Call{Kind: nccl.AllReduce, Count: k.x.Size() * r.parts, Type: r.as, Op: r.op})
	}
	shape := append([]int{len(k.c.members)}, k.a.Shape()...)
	all, err := k.c.gpu.enqueue(k.Operation, k.a.DType(), shape, k.x, k.bytes(nccl.AllGather, k.x.Size()))
	return reduceFirst(op, all, err)
}

// reduceFirst reduces along the first axis, in the order of its elements.
func reduceFirst(op Op, all *gpk.Array, err error) (*gpk.Array, error) {
	if err != nil {
		return nil, err
	}
	out := all.Prod(0)
	switch op {
	case Max:
		out = all.Max(0)
	case Min:
		out = all.Min(0)
	}
	return out, gpk.Eval(out)
}

// gpuGather implements allGather with NCCL.
func (k *call) gpuGather() (*gpk.Array, error) {
	return k.gpuMove(len(k.c.members)*k.length(), k.bytes(nccl.AllGather, k.x.Size()))
}

// gpuReduceScatter implements reduceScatter with NCCL.
func (k *call) gpuReduceScatter(op Op) (*gpk.Array, error) {
	p := len(k.c.members)
	part := k.x.Size() / p
	if r, ok := reductionOf(op, k.a.DType()); ok {
		return k.gpuMove(k.length()/p, nccl.Call{Kind: nccl.ReduceScatter, Count: part * r.parts, Type: r.as, Op: r.op})
	}
	shape, inverse := k.blocks(k.length() / p)
	all, err := k.c.gpu.enqueue(k.Operation, k.a.DType(), append([]int{p}, shape...), k.x, k.bytes(nccl.AllToAll, part))
	out, err := reduceFirst(op, all, err)
	if err != nil {
		return nil, err
	}
	return out.Transpose(inverse...), nil
}

// gpuAllToAll implements allToAll with NCCL.
func (k *call) gpuAllToAll() (*gpk.Array, error) {
	return k.gpuMove(k.length(), k.bytes(nccl.AllToAll, k.x.Size()/len(k.c.members)))
}

// gpuBroadcast implements broadcast with NCCL.
func (k *call) gpuBroadcast(root int) (*gpk.Array, error) {
	call := k.bytes(nccl.Broadcast, k.x.Size())
	call.Peer = root
	return k.c.gpu.enqueue(k.Operation, k.a.DType(), k.a.Shape(), k.x, call)
}

// gpuMove enqueues a call. The axis of the call has length n in the result.
func (k *call) gpuMove(n int, call nccl.Call) (*gpk.Array, error) {
	shape, inverse := k.blocks(n)
	out, err := k.c.gpu.enqueue(k.Operation, k.a.DType(), shape, k.x, call)
	if err != nil || k.axis == 0 {
		return out, err
	}
	return out.Transpose(inverse...), nil
}
