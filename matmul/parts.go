package matmul

import (
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// With few tiles and a long k, multiprocessors are idle. Split-K then divides k into equal
// parts. A kernel with float32 results computes them as the matrices of a batch, and
// gpk_gemm_parts adds them in order and applies the epilogue. The number of parts depends
// only on the problem and the device.
const (
	maxParts    = 32
	minPartK    = 512  // the shortest part of k
	partsCycles = 6300 // the pass that adds the parts, without its memory traffic
	partsShare  = 0.94 // of the model's time, for a kernel of a single wave
	partsRate   = 1.5  // of the device's bandwidth: the parts are in L2
)

// inParts is the suffix of a kernel's name if the kernel computes parts of k, although it
// could compute the product without dividing k.
const inParts = "_parts"

// fitParts is fit for a kernel that computes parts of k. It also reports false if k cannot
// be divided, or if the tiles of all parts are more than one wave.
func fitParts(p Problem, k cutlass.Kernel, c device.Capabilities) (candidate, bool) {
	if 2*p.M <= k.Tile[0] { // most of the tile would be padding
		return candidate{}, false
	}
	if !plainHalves(p) || formOf(k) != 0 || k.SM != 90 || k.Out != dtype.Float32 || p.AlignC < p.Out.Size() {
		return candidate{}, false
	}
	q := p
	q.Out, q.AlignC, q.Epilogue = dtype.Float32, 16, Epilogue{}
	cand, ok := fit(q, k, c)
	if !ok {
		return candidate{}, false
	}
	pitch := alignedPitch(p.N, dtype.Float32.Size(), k.AlignOut)
	prepareCost, best := cand.cycles-kernelCycles(q, k, c), 0.0
	sms := multiProcessors(c)
	tiles := alignUp(ceilDiv(p.M, k.Tile[0]), k.Cluster[0]) * alignUp(ceilDiv(p.N, k.Tile[1]), k.Cluster[1])
	for n := 2; n <= maxParts && p.K/n >= minPartK && n*tiles <= sms; n++ {
		part := q
		part.K, part.Batch = p.K/n, n
		if p.K%n != 0 || part.K*p.A.Size()%max(k.AlignA, k.AlignB) != 0 {
			continue
		}
		bytes := partsBytes(p, n, pitch)
		cycles := prepareCost + partsShare*kernelCycles(part, k, c) + partsCycles + float64(bytes)/(bytesPerCycle*partsRate)
		if cand.parts == 0 || cycles < best {
			cand.parts, best = n, cycles
		}
	}
	if cand.parts == 0 {
		return candidate{}, false
	}
	cand.cycles = best
	cand.steps = append(cand.steps, Step{
		Kind: Split, Operand: "k", Detail: fmt.Sprintf("into %d parts, which are added", cand.parts), Bytes: partsBytes(p, cand.parts, pitch),
	})
	cand.workspace += int64(cand.parts) * int64(p.M) * int64(pitch) * 4
	return cand, true
}

// partsBytes returns the number of bytes that the addition of the parts reads and writes.
func partsBytes(p Problem, parts, pitch int) int64 {
	return int64(p.M) * (4*int64(parts)*int64(pitch) + int64(p.Out.Size())*int64(p.N))
}

// allocParts allocates the buffer for the parts of a launch.
func (l *launch) allocParts(s *device.Stream) (*device.Buffer, error) {
	l.partPitch = alignedPitch(l.q.N, dtype.Float32.Size(), l.c.kernel.AlignOut)
	buf, err := s.Device().Alloc(int64(l.c.parts)*int64(l.q.M)*int64(l.partPitch)*4, s)
	if err != nil {
		return nil, err
	}
	l.partsAt = buf.Addr()
	l.writes = append(l.writes, buf)
	return buf, nil
}

// startParts enqueues the product g in parts, and their sum.
func (l *launch) startParts(lib *cutlass.Library, ordinal int, stream uint64, g cutlass.Gemm) error {
	part := g
	part.K, part.Batch = g.K/l.c.parts, l.c.parts
	part.StrideA, part.StrideB = part.K*l.a.m.colStep, part.K*l.b.m.rowStride
	part.D, part.LDD, part.StrideD = l.partsAt, l.partPitch, g.M*l.partPitch
	part.Bias, part.Act, part.AlphaRe = 0, 0, 1
	if err := lib.Gemm(ordinal, stream, l.c.index, part); err != nil {
		return err
	}
	return lib.GemmParts(ordinal, stream, l.q.Out, l.c.parts, l.partsAt, l.partPitch, g)
}
