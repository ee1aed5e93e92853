package matmul

import (
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// With few tiles and a long k, multiprocessors are idle. Split-K then divides k into
// parts: equal ones, or with a shorter last one (fitLong). A kernel computes them as the matrices of a batch. gpk_gemm_parts adds float32 parts
// in order and applies the epilogue, and a reduction adds the others. The number of parts
// depends only on the problem and the device.
const (
	maxParts    = 32
	minPartK    = 512  // the shortest part of k
	partsCycles = 6300 // the pass that adds the parts, without its memory traffic
	partsShare  = 0.94 // factor of the model's time, for a kernel of a single wave
	partsRate   = 1.5  // factor of the device's bandwidth: the parts are in L2

	// A very long k of a few tiles, such as that of a dot product, is divided in every type but the integers.
	longK        = 1 << 14
	minLongPart  = 2048 // the shortest part
	maxLongParts = 128
	fewTiles     = 8 // multiprocessors for each tile, at least
	fewLongTiles = 2 // likewise, for a kernel that is made for a long k
)

// fewTilesOf returns the number of multiprocessors that a tile of the kernel needs, so that fitLong divides k.
func fewTilesOf(k cutlass.Kernel) int {
	if k.Schedule == "long" {
		return fewLongTiles
	}
	return fewTiles
}

// inParts is the suffix of a kernel's name if the kernel computes parts of k, although it
// could compute the product without dividing k.
const inParts = "_parts"

// computesParts reports whether a kernel can compute parts of k that are then added.
func computesParts(p Problem, k cutlass.Kernel) bool {
	if 2*p.M <= k.Tile[0] { // most of the tile would be padding
		return false
	}
	return plainHalves(p) && formOf(k) == 0 && k.SM == 90 && k.Out == dtype.Float32 && p.AlignC >= p.Out.Size()
}

// fitParts is fit for a kernel that computes parts of k. It also reports false if k cannot
// be divided, or if the tiles of all parts are more than one wave.
func fitParts(p Problem, k cutlass.Kernel, c device.Capabilities) (candidate, bool) {
	if !computesParts(p, k) {
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
			cand.parts, cand.partK, best = n, part.K, cycles
		}
	}
	if cand.parts == 0 {
		return candidate{}, false
	}
	cand.cycles = best
	cand.addParts(p, pitch)
	return cand, true
}

// fitLong is fitParts for a very long k and few tiles. Parts have one length; if that does not divide k, a last part is
// shorter.
func fitLong(p Problem, k cutlass.Kernel, c device.Capabilities) (candidate, bool) {
	sms, sum := multiProcessors(c), partType(p)
	tiles := alignUp(ceilDiv(p.M, k.Tile[0]), k.Cluster[0]) * alignUp(ceilDiv(p.N, k.Tile[1]), k.Cluster[1])
	switch {
	case p.K < longK, fewTilesOf(k)*tiles > sms, p.Batch != 1, p.AbsSquare, p.Symmetric, !p.A.IsFloat() && !p.A.IsComplex():
		return candidate{}, false
	case formOf(k) != 0, k.Schedule == "streamk", k.Out != sum:
		return candidate{}, false
	}
	q := p
	q.Out, q.AlignC, q.Epilogue = sum, 16, Epilogue{}
	cand, ok := fit(q, k, c)
	if !ok {
		return candidate{}, false
	}
	n := min(sms/tiles, cand.k/minLongPart, maxLongParts)
	unit := max(max(k.AlignA, k.AlignB)/p.A.Size(), k.MultipleK) // both are powers of two
	if k.Schedule == "long" {
		unit = 16 / p.A.Size() // it reads vectors of 16 bytes if parts begin at their multiples
	}
	cand.partK = cand.k / n / unit * unit
	cand.parts = ceilDiv(cand.k, cand.partK)
	part := q
	part.K, part.Batch = cand.partK, n
	pitch := alignedPitch(p.N, sum.Size(), k.AlignOut)
	cand.cycles += kernelCycles(part, k, c) - kernelCycles(q, k, c) + partsCycles + float64(partsBytes(p, cand.parts, pitch))/(bytesPerCycle*partsRate)
	if cand.k%cand.partK != 0 { // the launch of the last part
		cand.cycles += stepOverhead
	}
	cand.addParts(p, pitch)
	if sum != dtype.Float32 && !p.Epilogue.IsZero() {
		cand.separateEpilogue = true
		cand.addStep(ApplyEpilogue, "D", epilogueString(p.Epilogue), 0, p.M*p.N, p.Out.Size())
	}
	if cand.copyOut = sum == dtype.Float32 && p.AlignC < p.Out.Size(); cand.copyOut { // sumParts copies the others itself
		pitch := tempPitch(p, k)
		cand.workspace += int64(p.M) * int64(pitch) * int64(p.Out.Size())
		cand.addStep(CopyOut, "D", fmt.Sprintf("from pitch %d", pitch), 0, p.M*pitch, p.Out.Size())
	}
	return cand, true
}

// partType returns the type of the sums of parts.
func partType(p Problem) dtype.DType {
	if p.A.IsHalf() {
		return dtype.Float32
	}
	return p.Out
}

// addParts adds the step of the parts and their memory.
func (c *candidate) addParts(p Problem, pitch int) {
	c.steps = append(c.steps, Step{
		Kind: Split, Operand: "k", Detail: fmt.Sprintf("into %d parts, which are added", c.parts), Bytes: partsBytes(p, c.parts, pitch),
	})
	c.workspace += partElements(p, c.parts, pitch) * int64(partType(p).Size())
}

// partElements returns the number of elements of the parts' buffer. Types without gpk_gemm_parts have a copy of D behind
// the parts; see sumParts.
func partElements(p Problem, parts, pitch int) int64 {
	n := int64(parts) * int64(p.M) * int64(pitch)
	if partType(p) != dtype.Float32 {
		n += int64(p.M) * int64(p.N)
	}
	return n
}

// partsBytes returns the number of bytes that the addition of the parts reads and writes.
func partsBytes(p Problem, parts, pitch int) int64 {
	return int64(p.M) * (int64(partType(p).Size())*int64(parts)*int64(pitch) + int64(p.Out.Size())*int64(p.N))
}

// allocParts allocates the buffer for the parts of a launch.
func (l *launch) allocParts(s *device.Stream) (*device.Buffer, error) {
	size := partType(l.q).Size()
	l.partPitch = alignedPitch(l.q.N, size, l.c.kernel.AlignOut)
	buf, err := s.Device().Alloc(partElements(l.q, l.c.parts, l.partPitch)*int64(size), s)
	if err != nil {
		return nil, err
	}
	l.partsAt = buf.Addr()
	l.writes = append(l.writes, buf)
	return buf, nil
}

// startParts enqueues the product g in parts, and the sum of float32 parts.
func (l *launch) startParts(lib *cutlass.Library, ordinal int, stream uint64, g cutlass.Gemm) error {
	part, n := g, g.K/l.c.partK
	part.K, part.Batch = l.c.partK, n
	part.StrideA, part.StrideB = part.K*l.a.m.colStep, part.K*l.b.m.rowStride
	part.D, part.LDD, part.StrideD = l.partsAt, l.partPitch, g.M*l.partPitch
	part.Bias, part.Act, part.AlphaRe = 0, 0, 1
	if err := lib.Gemm(ordinal, stream, l.c.index, part); err != nil {
		return err
	}
	if n < l.c.parts { // the last part
		part.A += uint64(n * part.StrideA * l.q.A.Size())
		part.B += uint64(n * part.StrideB * l.q.A.Size())
		part.D += uint64(n * part.StrideD * partType(l.q).Size())
		part.K, part.Batch = g.K-n*l.c.partK, 1
		if err := lib.Gemm(ordinal, stream, l.c.index, part); err != nil {
			return err
		}
	}
	if partType(l.q) != dtype.Float32 {
		return nil // sumParts follows
	}
	return lib.GemmParts(ordinal, stream, l.q.Out, l.c.parts, l.partsAt, l.partPitch, g)
}

// sumParts adds parts that are not float32, and writes the sums to place, a view of D. They pass through the end of the
// parts' buffer if place is strided.
func (l *launch) sumParts(s *device.Stream, place device.View, buf *device.Buffer) error {
	m, n := l.q.M, l.q.N
	parts := device.View{Buffer: buf, DType: place.DType, Layout: layout.Layout{Shape: []int{l.c.parts, m, n}, Strides: []int{m * l.partPitch, l.partPitch, 1}}}
	sums := place
	if !place.Layout.IsDense() {
		sums.Buffer, sums.Layout = buf, layout.Dense([]int{1, m, n})
		sums.Layout.Offset = l.c.parts * m * l.partPitch
	}
	flat := sums
	flat.Layout = layout.Dense([]int{m, n})
	flat.Layout.Offset = sums.Layout.Offset
	if err := ops.Reduce(s, expr.Sum, flat, parts, []bool{true, false, false}); err != nil || sums.Buffer == place.Buffer {
		return err
	}
	return ops.Cast(s, place, sums)
}
