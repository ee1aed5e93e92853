package fused

import (
	"encoding/binary"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/observe"
)

// maxGridY is the largest number of blocks of a grid in its second dimension.
const maxGridY = 1<<16 - 1

// maxPiece is the maximum number of elements of a launch with 32-bit indices.
const maxPiece = 1 << 30

// kernelLaunch is one launch of a compiled kernel. It implements device.Work, and is pooled.
type kernelLaunch struct {
	f      *device.Function
	launch device.Launch
	params []byte

	p       *Program
	variant kernelVariant
	call    *Call
	dst     Operand
	shape   []int   // dimensions of a strided traversal, innermost first
	strides [][]int // strides of the destination and of the leaves, in the order of shape
	bufs    [MaxLeaves + 2]*device.Buffer
	writes  [2]*device.Buffer
	queued  bool // the launch queue launches it

	// for a reduction
	folding   folding
	first     *kernelLaunch // the launch that computes the means of Var
	workspace uint64        // address of the means of Var, of `means` bytes, and of the partial results after them
	means     int
}

var kernelLaunches = sync.Pool{New: func() any { return new(kernelLaunch) }}

// Enqueue implements device.Queued.
func (w *kernelLaunch) Enqueue(ordinal int, stream uint64) (bool, error) {
	w.queued = true
	if w.first != nil {
		w.first.queued = true
	}
	return true, w.Start(ordinal, stream)
}

// Start implements device.Work.
func (w *kernelLaunch) Start(_ int, stream uint64) error {
	switch w.variant.traversal {
	case traverseFlat:
		return w.launchFlat(stream)
	case traverseRows:
		return w.launchRows(stream)
	case traverseMixed:
		return w.launchMixed(stream)
	case traverseFold, traverseLines, traverseFoldColumns:
		return w.launchFold(stream)
	}
	return w.launchParts(stream, w.shape, w.addresses())
}

// release returns the launch to the pool.
func (w *kernelLaunch) release() {
	params := w.params[:0]
	*w = kernelLaunch{params: params}
	kernelLaunches.Put(w)
}

// prepare finds the kernel of variant f for w.p, and lists the buffers of w.call and w.dst.
// It reports false if the kernel does not exist.
func (w *kernelLaunch) prepare(k *kernels, s *device.Stream, f kernelVariant) bool {
	w.variant = f
	if w.f = k.function(s, w.p, f); w.f == nil {
		return false
	}
	w.launch.Dependent = s.Device().Info().SM >= 90
	for i := range w.call.Leaves {
		w.bufs[i] = w.call.Leaves[i].Buffer
	}
	n := len(w.call.Leaves)
	w.bufs[n], w.bufs[n+1] = w.call.gamma.Buffer, w.call.beta.Buffer
	w.writes[0] = w.dst.Buffer
	return true
}

func (k *kernels) run(s *device.Stream, p *Program, c *Call, dst Operand) (bool, error) {
	w := kernelLaunches.Get().(*kernelLaunch)
	defer w.release()
	w.p, w.call, w.dst = p, c, dst
	w.choose()
	if !c.chosen {
		c.choice, c.chosen = Choice{variant: w.variant, one: true}, true
	}
	if !w.prepare(k, s, w.variant) {
		return false, nil
	}
	observe.KernelFound(s.Device())
	return true, s.Device().LaunchWork(s, w.bufs[:len(c.Leaves)], w.writes[:1], w)
}

// addresses returns the addresses of the destination and the leaves.
func (w *kernelLaunch) addresses() (at [1 + MaxLeaves]uint64) {
	at[0] = w.dst.Buffer.Addr() + uint64(w.dst.Offset*w.p.Result().Size())
	for i := range w.call.Leaves {
		o := &w.call.Leaves[i]
		at[1+i] = o.Buffer.Addr() + uint64(o.Offset*w.p.Leaves[i].DType.Size())
	}
	return at
}

// packOperands packs the first parameters of every kernel: the addresses of the operands, and the
// scalars.
func (w *kernelLaunch) packOperands(at *[1 + MaxLeaves]uint64) {
	b := w.params[:0]
	for _, a := range at[:1+len(w.call.Leaves)] {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	for _, v := range w.call.Scalars {
		b = binary.LittleEndian.AppendUint64(b, v[0])
		b = binary.LittleEndian.AppendUint64(b, v[1])
	}
	w.params = b
}

func (w *kernelLaunch) packLong(n int) {
	w.params = binary.LittleEndian.AppendUint64(w.params, uint64(n))
}

func (w *kernelLaunch) packWord(n uint32) { w.params = binary.LittleEndian.AppendUint32(w.params, n) }

// packDivider packs a divisor, at most 2^31, as a Divider of chain.cuh.
func (w *kernelLaunch) packDivider(d int) {
	s := uint32(0)
	for s < 32 && 1<<s < d {
		s++
	}
	w.packWord(uint32(d))
	w.packWord(uint32(((1<<s-uint64(d))<<32)/uint64(d) + 1))
	w.packWord(s)
}

// launchItems launches blocks of 256 threads with `each` items per thread. Blocks are smaller if
// full ones would leave multiprocessors idle.
func (w *kernelLaunch) launchItems(stream uint64, items, each int) error {
	block := kernelThreads
	for block > 64 && items < block*each*256 {
		block /= 2
	}
	return w.launchGrid(stream, [3]int{max(1, ceil(items, block*each)), 1, 1}, [3]int{block, 1, 1})
}

func ceil(n, d int) int { return (n + d - 1) / d }

func (w *kernelLaunch) launchGrid(stream uint64, grid, block [3]int) error {
	for len(w.params)%8 != 0 {
		w.params = append(w.params, 0)
	}
	w.launch.Grid, w.launch.Block = grid, block
	if w.queued {
		return w.f.Enqueue(stream, w.launch, w.params)
	}
	return w.f.Start(stream, w.launch, w.params)
}
