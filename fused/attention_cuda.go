package fused

import (
	"strings"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/deferred"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/ops"
)

// arguments describes the attention to the library as if its operands were dense. Addresses
// are not real: a nonzero one says that the operand exists.
func (a *Attention) arguments() cutlass.Attention {
	p := a.Problem()
	dense := func(heads, rows, length int) cutlass.AttentionRows {
		return cutlass.AttentionRows{Data: alignment, Batch: heads * rows * length, Head: rows * length, Row: length}
	}
	args := cutlass.Attention{
		Q: dense(p.Heads, p.Queries, p.Dim), K: dense(p.KVHeads, p.Keys, p.Dim),
		V: dense(p.KVHeads, p.Keys, p.ValueDim), Out: dense(p.Heads, p.Queries, p.ValueDim),
		Type: p.DType, MaskType: p.Mask, Batch: p.Batch, Heads: p.Heads, KVHeads: p.KVHeads, Queries: p.Queries, Keys: p.Keys,
		Dim: p.Dim, ValueDim: p.ValueDim, Scale: a.scale(), Causal: p.Causal, Full: p.DType == dtype.Float32 && p.Precision != matmul.TF32,
	}
	if p.Mask.Valid() {
		args.Mask = alignment
	}
	if p.Ragged {
		args.Offsets, args.Longest = alignment, a.Longest
	}
	return args
}

// attentionKernel is the launch of a kernel of the library that computes an attention.
type attentionKernel struct {
	a         Attention
	dev       *device.Device
	flags     *device.Buffer // receives the result of the check of the offsets; nil for no check
	check     bool           // check the offsets and compute nothing
	aligned   bool           // the kernel needs rows that begin at multiples of 16 bytes
	workspace *device.Buffer // nil for none
}

// runKernel computes the attention with the named kernel of the library. TMA reads only
// rows that begin at multiples of 16 bytes. Other rows are copied first. Another kernel
// could read them directly, but then the bits of the result would depend on the layout of
// the operands.
func (a *Attention) runKernel(s *device.Stream, name string) error {
	k := attentionKernel{a: *a, dev: s.Device(), aligned: strings.Contains(name, "sm90")}
	if !a.ragged() || s.Capturing() {
		return k.run(s)
	}
	if a.Dst.Layout.Size() > 0 && deviceapi.Fresh(a.Dst.Buffer) {
		failure, started, err := deviceapi.CheckOnce(a.Offsets.Buffer, offsetsOf(a.Offsets, a.Problem().Queries), func() (*deferred.Error, error) { return k.checked(s) })
		if err == nil && !started {
			err = k.run(s)
		}
		if err == nil {
			a.Dst.Buffer.State().Attach(failure)
		}
		return err
	}
	// Check the offsets first, and write only if they are valid.
	check := k
	check.check = true
	failure, err := check.checked(s)
	if err == nil {
		err = failure.Wait()
	}
	if err != nil || a.Dst.Layout.Size() == 0 {
		return err
	}
	return k.run(s)
}

// checked runs the kernel with a check of the offsets, and returns the deferred error of
// this check.
func (k *attentionKernel) checked(s *device.Stream) (*deferred.Error, error) {
	rows, fail := k.a.Problem().Queries, k.a.Fail
	failure, flags, err := k.dev.NewDeferredError(s, func(flags [2]int64) error { return failedBy(fail, flaggedOffsets(flags, rows)) })
	if err != nil {
		return nil, err
	}
	k.flags = flags
	if err := k.run(s); err != nil {
		k.flags.Free()
		return nil, err
	}
	return failure, nil
}

// run starts the kernel. It first copies operands whose rows the kernel cannot read.
func (k *attentionKernel) run(s *device.Stream) error {
	dev := k.dev
	var temporaries []*device.Buffer
	defer func() {
		for _, b := range temporaries {
			b.Free()
		}
	}()
	temporary := func(bytes int64) (*device.Buffer, error) {
		b, err := dev.Alloc(bytes, s)
		if err == nil {
			temporaries = append(temporaries, b)
		}
		return b, err
	}
	work := *k // a capture keeps the work after this call
	if !k.check {
		for _, v := range []*device.View{&work.a.Q, &work.a.K, &work.a.V, &work.a.Dst} {
			if adjacent(v.Layout) && (!k.aligned || granular(*v)) {
				continue
			}
			b, err := temporary(v.NBytes())
			if err != nil {
				return err
			}
			to := device.View{Buffer: b, DType: v.DType, Layout: layout.Dense(v.Layout.Shape)}
			if v != &work.a.Dst {
				if err := ops.Cast(s, to, *v); err != nil {
					return err
				}
			}
			*v = to
		}
		args := work.a.arguments()
		need, err := dev.Library().AttentionWorkspace(dev.Info().Index, &args)
		if err != nil {
			return err
		}
		if need > 0 {
			if work.workspace, err = temporary(need); err != nil {
				return err
			}
		}
	}
	a := &work.a
	reads := []*device.Buffer{a.Q.Buffer, a.K.Buffer, a.V.Buffer, a.Mask.Buffer, a.Offsets.Buffer}
	writes := []*device.Buffer{a.Dst.Buffer, work.flags, work.workspace}
	if k.check {
		reads, writes = []*device.Buffer{a.Offsets.Buffer}, []*device.Buffer{work.flags}
	}
	if err := dev.LaunchWork(s, reads, writes, &work); err != nil {
		return err
	}
	if a.Dst.Buffer != k.a.Dst.Buffer {
		return ops.Cast(s, k.a.Dst, a.Dst)
	}
	return nil
}

// adjacent reports whether the elements of every row are adjacent.
func adjacent(l layout.Layout) bool {
	last := len(l.Shape) - 1
	return l.Strides[last] == 1 || l.Shape[last] <= 1 || l.Size() == 0
}

// granular reports whether TMA can read the rows: all begin at multiples of 16 bytes, and
// no two are the same memory.
func granular(v device.View) bool {
	l := v.Layout
	for i, n := range l.Shape[:len(l.Shape)-1] {
		if n > 1 && (l.Strides[i] <= 0 || l.Strides[i]*v.DType.Size()%16 != 0) {
			return false
		}
	}
	return v.Addr()%16 == 0 || l.Size() == 0
}

// Start implements device.Work.
func (k *attentionKernel) Start(ordinal int, stream uint64) error {
	args := k.arguments()
	return k.dev.Library().Attention(ordinal, stream, &args)
}

// Enqueue implements device.Queued.
func (k *attentionKernel) Enqueue(ordinal int, stream uint64) (bool, error) {
	args := k.arguments()
	return true, k.dev.Submitted().Attention(ordinal, stream, &args)
}

// arguments describes the attention to the library, with addresses.
func (k *attentionKernel) arguments() cutlass.Attention {
	a := &k.a
	args := a.arguments()
	if a.ragged() {
		args.Offsets = a.Offsets.Addr()
	}
	if k.flags != nil {
		args.Flags = k.flags.Addr()
	}
	if k.check {
		args.ValueDim = 0
		return args
	}
	args.Q, args.K, args.V, args.Out = attentionRows(a.Q), attentionRows(a.K), attentionRows(a.V), attentionRows(a.Dst)
	if a.Mask.DType.Valid() {
		args.Mask, args.MaskStrides = a.Mask.Addr(), [4]int(a.Mask.Layout.Strides)
	}
	if k.workspace != nil {
		args.Workspace, args.WorkspaceBytes = k.workspace.Addr(), k.workspace.Size()
	}
	return args
}

// attentionRows describes the rows of a view to the library. A ragged view has no batch.
func attentionRows(v device.View) cutlass.AttentionRows {
	s := v.Layout.Strides
	r := cutlass.AttentionRows{Data: v.Addr()}
	if len(s) == 4 {
		r.Batch, s = s[0], s[1:]
	}
	r.Head, r.Row = s[0], s[1]
	return r
}
