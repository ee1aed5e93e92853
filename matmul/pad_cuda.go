package matmul

import (
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// padding holds the copies of a product's operands that keep their major. One launch makes
// all of them.
type padding struct {
	dev    *device.Device
	dtype  dtype.DType
	n      int
	lines  [2]cutlass.Padded
	reads  [2]*device.Buffer
	writes [2]*device.Buffer
}

// maxPadded bounds the 16-byte units of a copy, because gpk_pad takes fewer than 2^31.
const maxPadded = 1 << 30

// add adds the copy of a stack of `copies` matrices m of v to o. It reports false if the
// copy would have to transpose or conjugate.
func (p *padding) add(v device.View, m matrix, o operand, copies int, how prep) bool {
	if !how.copiesLines() || p.n > 0 && v.DType != p.dtype {
		return false
	}
	size := v.DType.Size()
	c := cutlass.Padded{
		Source: v.Buffer.Addr() + uint64(m.offset*size), Batch: copies, Lines: m.rows, Length: m.cols, Pitch: m.rowStride, Member: m.batchStride,
		Copy: o.addr(), CopyLines: o.m.rows, CopyLength: o.m.cols, CopyPitch: o.pitch, CopyMember: o.m.batchStride,
	}
	if how.major == cutlass.ColMajor {
		c.Lines, c.Length, c.Pitch = m.cols, m.rows, m.colStep
		c.CopyLines, c.CopyLength = o.m.cols, o.m.rows
	}
	if c.Lines == 0 || c.Length == 0 || int64(copies*c.CopyLines) > maxPadded*16/int64(o.pitch*size) {
		return false
	}
	p.dtype = v.DType
	p.lines[p.n], p.reads[p.n], p.writes[p.n] = c, v.Buffer, o.view.Buffer
	p.n++
	return true
}

// run starts the copies.
func (p *padding) run(s *device.Stream) error {
	if p.n == 0 {
		return nil
	}
	p.dev = s.Device()
	return p.dev.LaunchWork(s, p.reads[:p.n], p.writes[:p.n], p)
}

// padder starts the copies: the kernel library, or the device's launch queue.
type padder interface {
	Pad(device int, stream uint64, t dtype.DType, a, b cutlass.Padded) error
}

func (p *padding) start(target padder, ordinal int, stream uint64) error {
	return target.Pad(ordinal, stream, p.dtype, p.lines[0], p.lines[1])
}

// Start enqueues the copies.
func (p *padding) Start(ordinal int, stream uint64) error {
	return p.start(p.dev.Library(), ordinal, stream)
}

// Enqueue implements device.Queued.
func (p *padding) Enqueue(ordinal int, stream uint64) (bool, error) {
	return true, p.start(p.dev.Submitted(), ordinal, stream)
}
