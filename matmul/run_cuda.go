package matmul

import (
	"slices"
	"sync"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// manifest lists the kernels. It is built once.
var manifest = cutlass.Kernels()

// runCUDA computes every matrix of the product.
func (p *Product) runCUDA(s *device.Stream) error { return p.withoutFreed(s, (*Product).runStacks) }

// runStacks plans the stacks and launches each of them.
func (p *Product) runStacks(s *device.Stream) error {
	if x := p.planned; x.c != nil && x.stack.batch == 1 && p.D.Layout.NDim() == 2 {
		return p.execute(s, x.stack, x.q, x.c)
	}
	first, offsets := p.stacks()
	if offsets == nil {
		return p.launch(s, first)
	}
	for _, at := range offsets {
		st := first
		st.a.offset, st.b.offset, st.d.offset = at[0], at[1], at[2]
		if err := p.launch(s, st); err != nil {
			return err
		}
	}
	return nil
}

// launch plans one stack and executes the plan.
func (p *Product) launch(s *device.Stream, st stack) error {
	q := p.problem(st)
	if q.K == 0 {
		return p.emptySum(s, st)
	}
	c, err := p.candidate(s, st, q)
	if err != nil {
		return err
	}
	return p.execute(s, st, q, c)
}

// candidate returns the plan of one stack, ready to run.
func (p *Product) candidate(s *device.Stream, st stack, q Problem) (*candidate, error) {
	kernel := p.Kernel
	if kernel == "" && p.D.Buffer != nil && (p.Measure || autotune()) {
		kernel = p.tuned(s, st, q)
	}
	return plans.get(q, kernel, s.Device())
}

// execute runs the plan of one stack. It prepares the operands and then, for each block,
// runs the kernel, the epilogue and the copy to D.
func (p *Product) execute(s *device.Stream, st stack, q Problem, c *candidate) error {
	k := c.k
	if c.form != 0 {
		k = q.K
	}
	l := launches.Get().(*launch)
	defer l.done()
	a, freeA, err := prepareOperand(s, p.A, st.a, st.batch, c.prepA, k, false, &l.pads)
	if err != nil {
		return err
	}
	defer freeA()
	b, freeB, err := prepareOperand(s, p.B, st.b, st.batch, c.prepB, k, true, &l.pads)
	if err != nil {
		return err
	}
	defer freeB()
	if err := l.pads.run(s); err != nil {
		return err
	}
	*l = launch{p: p, q: q, c: c, a: a, b: b, act: p.Activation, alpha: 1, reads: append(l.reads, a.view.Buffer, b.view.Buffer), writes: append(l.writes, nil)}
	l.setEpilogue()
	if c.form != 0 {
		if l.scaled, err = p.scaled(s, st, q, c, a, b); err != nil {
			return err
		}
		defer l.scaled.buf.Free()
		l.writes = append(l.writes, l.scaled.buf)
		if q.Packed {
			l.reads = append(l.reads, p.Packed.buf)
		}
	}
	// All allocations come before the first write to D, so that a failed one leaves D
	// unchanged.
	work, err := l.allocScratch(s)
	if err != nil {
		return err
	}
	defer work.free()
	if c.last != nil {
		if err := p.executeLast(s, st, q, c, a, b); err != nil {
			return err
		}
	}
	if err := l.runBlocks(s, st.d, &work); err != nil {
		return err
	}
	if q.Symmetric && !p.Upper {
		return mirror(s, st.d.view(p.D, q.Batch))
	}
	return nil
}

// setEpilogue sets the epilogue that the kernel applies.
func (l *launch) setEpilogue() {
	p := l.p
	if p.Bias.Buffer != nil && !l.c.separateEpilogue {
		l.bias = p.Bias.Addr()
		l.reads = append(l.reads, p.Bias.Buffer)
	}
	switch {
	case l.c.separateEpilogue:
		l.act = NoActivation
	case p.Steps:
		l.act, l.alpha = p.Activation|actSteps, p.Scale
	}
}

// blockRows returns the number of rows of D that one launch computes.
func (c *candidate) blockRows(q Problem) int {
	if c.rows > 0 {
		return c.rows
	}
	return q.M
}

// scratch is the memory that a product needs while it runs.
type scratch struct {
	workspace, parts *device.Buffer // nil if the kernel needs none
	temp             device.View    // a block of the result before it is copied out
	pitch            int            // pitch of temp
}

// free frees the memory in stream order.
func (w *scratch) free() {
	for _, b := range [...]*device.Buffer{w.temp.Buffer, w.parts, w.workspace} {
		if b != nil {
			b.Free()
		}
	}
}

// allocScratch allocates the kernel's workspace, the parts of k and the temporary
// result, each if the plan needs it. After an error nothing stays allocated.
func (l *launch) allocScratch(s *device.Stream) (w scratch, err error) {
	c, dev := l.c, s.Device()
	defer func() {
		if err != nil {
			w.free()
		}
	}()
	if c.scratch > 0 {
		if w.workspace, err = dev.Alloc(c.scratch, s); err != nil {
			return w, err
		}
		l.workspace = w.workspace.Addr()
		l.writes = append(l.writes, w.workspace)
	}
	if c.parts > 0 {
		if w.parts, err = l.allocParts(s); err != nil {
			return w, err
		}
	}
	if c.copyOut {
		w.temp.DType = l.q.storedType(c.kernel)
		w.pitch = tempPitch(l.q, c.kernel)
		w.temp.Buffer, err = dev.Alloc(int64(l.q.Batch)*int64(c.blockRows(l.q))*int64(w.pitch)*int64(w.temp.DType.Size()), s)
	}
	return w, err
}

// runBlocks computes all rows of d except those that executeLast computes.
func (l *launch) runBlocks(s *device.Stream, d matrix, w *scratch) error {
	q, c := &l.q, l.c
	rows, end := c.blockRows(*q), q.M-c.lastRows
	for row := 0; row < end; row += rows {
		l.at = block{row: row, rows: min(rows, end-row)}
		if q.Symmetric {
			l.at.col = row
		}
		place := d.block(l.at)
		l.out, l.m = l.p.D, place
		if c.copyOut {
			l.out = w.temp
			l.m = matrix{rows: place.rows, cols: place.cols, rowStride: w.pitch, colStep: 1, batchStride: place.rows * w.pitch}
		}
		l.writes[0] = l.out.Buffer
		if err := s.Device().LaunchWork(s, l.reads, l.writes, l); err != nil {
			return err
		}
		l.ready = true
		if w.parts != nil && partType(*q) != dtype.Float32 {
			if err := l.sumParts(s, place.view(l.p.D, 1), w.parts); err != nil {
				return err
			}
		}
		if err := l.finishBlock(s, place); err != nil {
			return err
		}
	}
	return nil
}

// finishBlock runs the steps after the kernel: the epilogue, the squared modulus, and the
// copy to place, which is the block's part of D.
func (l *launch) finishBlock(s *device.Stream, place matrix) error {
	c := l.c
	if !c.separateEpilogue && !c.separateSquare && !c.copyOut {
		return nil
	}
	result := l.m.view(l.out, l.q.Batch)
	if c.separateEpilogue {
		if err := l.p.applyEpilogue(s, result); err != nil {
			return err
		}
	}
	switch {
	case c.separateSquare:
		return square(s, place.view(l.p.D, l.q.Batch), result)
	case c.copyOut:
		return ops.Cast(s, place.view(l.p.D, l.q.Batch), result)
	}
	return nil
}

// block returns the part of D that a block computes.
func (m matrix) block(b block) matrix {
	m.offset += b.row*m.rowStride + b.col*m.colStep
	m.rows, m.cols = b.rows, m.cols-b.col
	return m
}

// launches is a pool, so that a product allocates no launch.
var launches = sync.Pool{New: func() any { return new(launch) }}

// done clears the launch and returns it to the pool. It keeps the lists' capacity.
func (l *launch) done() {
	clear(l.reads)
	clear(l.writes)
	*l = launch{reads: l.reads[:0], writes: l.writes[:0]}
	launches.Put(l)
}

// launch is one block of a product that is about to start.
type launch struct {
	p             *Product
	q             Problem
	c             *candidate
	a, b          operand
	pads          padding // its lists are used until pads.run
	scaled        scaledRun
	ready         bool // the planes exist
	bias          uint64
	act           Activation
	alpha         float64
	workspace     uint64
	partsAt       uint64 // address of the partial sums of k
	partPitch     int
	reads, writes []*device.Buffer

	at  block
	out device.View // the destination: the matrix m of this view
	m   matrix
}

// Enqueue implements device.Queued for blocks of one library call each. Products of parts
// or planes take several calls, and the timings of autotuning need the error of the call.
func (l *launch) Enqueue(ordinal int, stream uint64) (bool, error) {
	if l.c.parts > 0 || l.c.form != 0 || l.p.trial {
		return false, nil
	}
	return true, l.out.Buffer.Device().Submitted().Gemm(ordinal, stream, l.c.index, l.gemm())
}

// gemm returns the arguments of the kernel library for the block, without planes.
func (l *launch) gemm() cutlass.Gemm {
	q, c := &l.q, l.c
	ldd := l.m.rowStride
	if l.m.rows <= 1 { // no second row: any pitch that the kernel accepts
		ldd = alignUp(l.m.cols, max(1, 16/l.out.DType.Size()))
	}
	return cutlass.Gemm{
		M: l.m.rows, N: l.m.cols, K: c.k, Batch: q.Batch,
		A: l.a.addr() + uint64(l.at.row*l.a.m.rowStride*q.A.Size()), LDA: l.a.pitch, StrideA: l.a.m.batchStride,
		B: l.b.addr() + uint64(l.at.col*l.b.m.colStep*q.A.Size()), LDB: l.b.pitch, StrideB: l.b.m.batchStride,
		D: l.out.Buffer.Addr() + uint64(l.m.offset*l.out.DType.Size()), LDD: ldd, StrideD: l.m.batchStride,
		Bias: l.bias, Act: int(l.act), AlphaRe: l.alpha, Workspace: l.workspace, WorkspaceBytes: c.scratch,
	}
}

// Start enqueues the block.
func (l *launch) Start(ordinal int, stream uint64) error {
	q, c, g := &l.q, l.c, l.gemm()
	lib := l.out.Buffer.Device().Library()
	switch {
	case c.parts > 0:
		return l.startParts(lib, ordinal, stream, g)
	case c.form == 0:
		return lib.Gemm(ordinal, stream, c.index, g)
	}
	if !l.ready && !c.few() {
		if err := l.scaled.prepare(lib, ordinal, stream, q.A, c.form, *q); err != nil {
			return err
		}
	}
	r := &l.scaled
	g.GuardA, g.GuardB, g.GuardLimit = r.a.guards, r.b.guards, guardLimit(c.form, c.k)
	other := g
	other.K, other.Guard = c.fallback.k, cutlass.GuardMisses

	if c.few() { // this kernel computes the guard words of A itself
		g.B, g.ScaleA, g.ScaleB, g.LDB = r.b.high, r.b.scales, r.b.scales, r.b.pitch
		g.Guard = cutlass.GuardFits
		if err := lib.Gemm(ordinal, stream, c.index, g); err != nil {
			return err
		}
		return lib.Gemm(ordinal, stream, c.fallback.index, other)
	}
	factor := 1
	if q.A.IsComplex() {
		factor = 2
		if !c.kernel.AbsSquare {
			g.LDD, g.StrideD = 2*g.LDD, 2*g.StrideD
		}
	}
	g.N *= factor
	a, b := r.a.from(l.at.row), r.b.from(factor*l.at.col)
	g.A, g.LowA, g.ScaleA, g.LDA, g.StrideA = a.high, a.low, a.scales, a.pitch, r.strideA
	g.B, g.LowB, g.ScaleB, g.LDB, g.StrideB = b.high, b.low, b.scales, b.pitch, r.strideB
	if l.p.Normwise {
		g.GuardA, g.GuardB, g.GuardLimit = 0, 0, 0
		return lib.Gemm(ordinal, stream, c.index, g)
	}
	g.Guard = cutlass.GuardFits
	if err := lib.Gemm(ordinal, stream, c.index, g); err != nil {
		return err
	}
	return lib.Gemm(ordinal, stream, c.fallback.index, other)
}

// view returns the stack as a three-dimensional view of v's buffer.
func (m matrix) view(v device.View, batch int) device.View {
	v.Layout = layout.Layout{Shape: []int{batch, m.rows, m.cols}, Strides: []int{m.batchStride, m.rowStride, m.colStep}, Offset: m.offset}
	return v
}

var activationOps = map[Activation]expr.Op{ReLU: expr.ReLU, GELU: expr.GELU, GELUTanh: expr.GELUTanh, SiLU: expr.SiLU}

// applyEpilogue applies the scale, the bias and the activation after a kernel without an
// epilogue.
func (p *Product) applyEpilogue(s *device.Stream, d device.View) error {
	if p.Steps && p.Scale != 1 {
		scale, err := ops.ScalarOf(d.DType, p.Scale, "") // Scale is an element of the type
		if err == nil {
			err = ops.ApplyScalar(s, expr.Mul, d, d, scale, false)
		}
		if err != nil {
			return err
		}
	}
	if p.Bias.Buffer != nil {
		if err := p.addBias(s, d); err != nil {
			return err
		}
	}
	if op, ok := activationOps[p.Activation]; ok {
		return ops.Apply1(s, op, d, d)
	}
	return nil
}

// addBias adds the bias row to every row of d.
func (p *Product) addBias(s *device.Stream, d device.View) error {
	row := p.Bias
	row.Layout = layout.Layout{Shape: d.Layout.Shape, Strides: make([]int, d.Layout.NDim()), Offset: p.Bias.Layout.Offset}
	row.Layout.Strides[d.Layout.NDim()-1] = 1
	return ops.Apply2(s, expr.Add, d, d, row)
}

// emptySum writes act(bias), which is the product for k = 0.
func (p *Product) emptySum(s *device.Stream, st stack) error {
	d := st.d.view(p.D, st.batch)
	if err := ops.Fill(s, d, ops.Scalar{}); err != nil {
		return err
	}
	if slices.Contains(d.Layout.Shape, 0) {
		return nil
	}
	return p.applyEpilogue(s, d)
}
