package fused

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/observe"
)

// folding is how one kernel computes the steps and the reduction behind them: a form
// of kernel, and the numbers that cutlass/src/fold.cuh takes (Folding). The terms
// meet as in the precompiled reduction of the same elements, dense: sums in a tree
// that depends on their number and type, the other reductions as fold in
// cutlass/src/ops_rows.cu has it.
type folding struct {
	form             form
	folds, terms     int
	groups, perGroup int
	over             int
	team             int
	slices, perSlice int
	grid             int
	partial          int // bytes of the result of a branch, where there are several
	lastTeam         int
	lastGrid         int
}

// fold tells kernels of reductions apart.
type fold struct {
	kept, folded uint8  // dimensions of either kind
	rows         uint8  // of a chunk (sums of rows): 8, or fewer for short ones
	team         uint16 // threads that share a line
	held         uint8  // vectors of it that a thread holds
	whole        bool   // operands are read in vectors
	vectors      bool   // terms are folded in vectors (fold_rows)
	means        bool   // the first pass of Var
}

// What fold.cuh and reduce.cuh have.
const (
	foldWarps = kernelThreads / 32
	chunkRows = 8
	sumBatch  = 4
	foldBusy  = 4096
)

// heldVectors is how many vectors of a line a thread holds at most (lines.cuh).
const heldVectors = 8

// isLine reports whether an operation goes along lines and keeps their shape.
func isLine(op expr.Op) bool {
	return op == expr.Softmax || op == expr.LogSoftmax || op == expr.LayerNorm || op == expr.RMSNorm
}

// isSum reports whether a reduction adds in the tree of ops_reduce.cuh.
func isSum(op expr.Op) bool { return op == expr.Sum || op == expr.Mean }

// foldDims are the dimensions of a call of one kind, innermost first.
type foldDims struct {
	at   [MaxDims]int // dimensions of the call's shape
	n    int          // of them
	size int
}

// split returns the dimensions that stay and those that are folded.
func (c *Call) split() (kept, folded foldDims) {
	kept.size, folded.size = 1, 1
	for d := len(c.Shape) - 1; d >= 0; d-- {
		to := &kept
		if c.Axes>>d&1 != 0 {
			to = &folded
		}
		to.at[to.n] = d
		to.n++
		to.size *= c.Shape[d]
	}
	return kept, folded
}

// folding plans the call's kernel; ok is false where there is none. Of a reduction
// in two passes, means asks for the first.
func (c *Call) folding(means bool) (f folding, ok bool) {
	if len(c.Shape) > MaxDims {
		return f, false
	}
	kept, folded := c.split()
	f.folds, f.terms = kept.size, folded.size
	f.form.fold = fold{kept: uint8(kept.n), folded: uint8(folded.n), means: means}
	// Indices of several dimensions are divided as 32-bit numbers.
	if kept.n > 1 && f.folds > math.MaxInt32 || folded.n > 1 && f.terms > math.MaxInt32 {
		return f, false
	}
	switch op := c.Program.Reduction.Op; {
	case isLine(op):
		if !f.line(c, &folded) {
			return f, false
		}
	case isSum(op):
		f.sum(c, &kept, &folded)
	default:
		f.other(c, &kept, &folded)
	}
	return f, f.grid <= math.MaxInt32 && f.lastGrid <= math.MaxInt32
}

// whole reports whether vectors of v elements along dimension d, the first of run,
// can be read of every operand.
func (c *Call) whole(run *foldDims, v int) bool {
	if run.n == 0 || run.at[0] != len(c.Shape)-1 {
		return false
	}
	inner := run.at[0]
	if run.n > 1 && c.Shape[inner]%v != 0 {
		return false
	}
	for i := range c.Leaves {
		o, size := &c.Leaves[i], c.Program.Leaves[i].DType.Size()
		switch o.Strides[inner] {
		case 0:
			continue
		case 1:
		default:
			return false
		}
		if !aligned(o.Buffer, o.Offset*size, min(16, v*size)) {
			return false
		}
		for d, n := range o.Strides {
			if d != inner && n%v != 0 {
				return false
			}
		}
	}
	return true
}

// aligned reports whether a place in a buffer is a multiple of n; one that is not
// there yet, of a plan that is explained, is.
func aligned(b *device.Buffer, offset, n int) bool {
	return b == nil || (b.Addr()+uint64(offset))%uint64(n) == 0
}

// line plans softmax or a norm, where the precompiled kernel would hold lines in
// the registers of a block (line in ops_rows.cu).
func (f *folding) line(c *Call, folded *foldDims) bool {
	dt := c.terms()
	v := 16 / dt.Size()
	for _, to := range [...]*device.View{&c.dst, &c.gamma, &c.beta} {
		if !aligned(to.Buffer, to.Layout.Offset*dt.Size(), 16) {
			return false
		}
	}
	if folded.n != 1 || f.terms%v != 0 || f.terms > 512*heldVectors*v || !c.dst.Layout.IsDense() {
		return false
	}
	team, held := 32, heldVectors
	if f.terms <= 32*2*v {
		held = 2
	}
	for team*held*v < f.terms {
		team *= 2
	}
	f.groups, f.perGroup = 1, f.terms
	f.form.walk, f.form.width = walkLines, uint8(v)
	f.form.fold.team, f.form.fold.held = uint16(team), uint8(held)
	f.form.fold.whole = c.whole(folded, v)
	f.team = team
	f.grid = ceil(f.folds, lineBlock(team)/team)
	return true
}

// lineBlock is the threads of a block whose lines have so many each.
func lineBlock(team int) int { return max(128, team) }

// terms returns the type of what is folded.
func (c *Call) terms() dtype.DType { return c.Program.Steps[len(c.Program.Steps)-1].DType }

// accumulated is the bytes of what a type is summed in.
func accumulated(dt dtype.DType) int {
	switch dt {
	case dtype.Float32, dtype.Float16, dtype.BFloat16:
		return 4
	case dtype.Complex128:
		return 16
	}
	return 8
}

// cut cuts a sum of chunks into branches of a power of two chunks, at least `least`:
// about as many as wanted.
func (f *folding) cut(chunks, wanted, least int) {
	f.perGroup = least
	for ceil(chunks, f.perGroup) > max(1, wanted) {
		f.perGroup *= 2
	}
	f.groups = ceil(chunks, f.perGroup)
}

// sum plans a sum. How it is shared out changes no bit.
func (f *folding) sum(c *Call, kept, folded *foldDims) {
	dt := c.terms()
	v := 16 / dt.Size()
	lanes := 32 * v
	chunk := chunkRows * lanes
	chunks := ceil(f.terms, chunk)
	if c.Program.Reduction.Op == expr.Mean {
		f.over = f.terms
	}
	f.groups, f.perGroup = 1, chunks
	if kept.n == 0 || folded.at[0] == len(c.Shape)-1 {
		f.form.walk, f.form.width = walkFold, uint8(v)
		f.form.fold.whole = c.whole(folded, v)
		if 2*f.terms <= chunk {
			rows := 1 << bits.Len(uint(ceil(f.terms, lanes)-1))
			f.form.fold.rows = uint8(rows)
			f.team = 1
			for f.team < 32 && f.team*v < f.terms {
				f.team *= 2
			}
			f.grid = ceil(f.folds, 32/f.team*(chunkRows/rows)*foldWarps)
			return
		}
		f.form.fold.rows = chunkRows
		f.slices = 1
		if f.folds < 1024 { // the warps of a block share a branch
			f.slices = foldWarps
			f.cut(chunks, foldBusy/f.folds, foldWarps)
		}
		f.perSlice = f.perGroup / f.slices
		f.grid = ceil(f.folds*f.groups, foldWarps/f.slices)
	} else {
		f.form.walk, f.form.width = walkFoldColumns, uint8(columnWidth(c.Program))
		if n := int(f.form.width); !c.whole(kept, n) || f.folds%n != 0 {
			f.form.width = 1
		}
		f.form.fold.whole = f.form.width > 1
		n := int(f.form.width)
		f.form.fold.rows = uint8(min(chunkRows, 1<<bits.Len(uint(ceil(f.terms, lanes)-1))))
		f.cut(chunks, 2*foldBusy/ceil(f.folds, 32), 1)
		f.team = 32
		for f.team > 1 && f.team/2*n >= f.folds {
			f.team /= 2
		}
		present := 1 // lanes of a chunk that there are
		for present < lanes && present < f.terms {
			present *= 2
		}
		f.slices = 1
		if present >= 2*sumBatch {
			f.slices = min(present/sumBatch, kernelThreads/f.team)
		}
		f.perSlice = present / f.slices
		f.grid = ceil(f.folds, n*(kernelThreads/f.slices)) * f.groups
	}
	if f.groups > 1 {
		f.partial = accumulated(dt)
		f.lastTeam, f.lastGrid = 1, f.folds
		if f.folds >= 4096 {
			f.lastTeam, f.lastGrid = foldWarps, ceil(f.folds, 32)
		}
	}
}

// columnWidth is how many neighbouring columns a thread adds: 16 bytes of the
// smallest operand that is read all along, and not more than 32 of the largest. More
// than 64 bytes of sums a thread would be more shared memory than a block has.
func columnWidth(p *Program) int {
	least, most := 16, 2
	for _, l := range p.Leaves {
		if l.Class != Single && l.Class != Column {
			least, most = min(least, l.DType.Size()), max(most, l.DType.Size())
		}
	}
	return max(1, min(8, 16/least, 32/most, 64/accumulated(p.Steps[len(p.Steps)-1].DType)))
}

// foldResult is the bytes of what a reduction that is no sum accumulates in.
func foldResult(op expr.Op, dt dtype.DType, means bool) int {
	wide := 8
	if dt.IsComplex() {
		wide = 16
	}
	switch op {
	case expr.Prod:
		return wide
	case expr.Var:
		if means {
			return wide
		}
		return 2*wide + 8
	case expr.ArgMax, expr.ArgMin:
		return 16 // the value, and its place
	case expr.Any, expr.All:
		return 4
	}
	if dt == dtype.Float16 || dt == dtype.BFloat16 {
		return 4
	}
	return dt.Size()
}

// other plans a reduction that is no sum, exactly as fold in ops_rows.cu does for
// the dense elements.
func (f *folding) other(c *Call, kept, folded *foldDims) {
	op, dt := c.Program.Reduction.Op, c.terms()
	v, result := 16/dt.Size(), foldResult(op, dt, f.form.fold.means)
	w := min(v, 8)
	if result > 16 {
		w = min(v, 4)
	}
	keptRun, keptStep, keptStrides := c.dense(kept)
	foldedRun, foldedStep, foldedStrides := c.dense(folded)
	even := func(n int, strides []int) bool {
		for _, s := range strides {
			if s%n != 0 {
				return false
			}
		}
		return true
	}
	columns := f.folds > 1 && (f.terms < 8 || keptStep < foldedStep)
	var vectors bool
	if columns {
		vectors = w > 1 && keptStep == 1 && keptRun%w == 0 && even(w, keptStrides[1:]) && even(w, foldedStrides)
	} else {
		vectors = foldedStep == 1 && (len(foldedStrides) <= 1 || foldedRun%v == 0) && even(v, foldedStrides[min(1, len(foldedStrides)):]) && even(v, keptStrides)
	}
	f.groups = min(1024, max(1, foldBusy/ceil(f.folds, 8)), (f.terms-1)/1024+1)
	if columns && op != expr.Prod && op != expr.Var { // whose order is nothing to them
		f.groups = max(f.groups, min(2*foldBusy/ceil(f.folds, 32), f.terms/256))
	}
	f.perGroup = ((f.terms-1)/f.groups + v) / v * v
	f.groups = ceil(f.terms, f.perGroup)
	if columns {
		each := 1
		if vectors {
			each = w
		}
		f.team = 32
		for f.team > 1 && f.team/2*each >= f.folds {
			f.team /= 2
		}
		for f.team < kernelThreads && f.team*each < f.folds && kernelThreads/f.team*8 > f.perGroup {
			f.team *= 2
		}
		f.grid = ceil(f.folds, f.team*each) * f.groups
		f.form.walk, f.form.width = walkFoldColumns, uint8(each)
		f.form.fold.whole = each > 1 && c.whole(kept, each)
	} else {
		most := 16
		if op == expr.ArgMax || op == expr.ArgMin {
			most = 32
		}
		f.team = 1
		for f.team < kernelThreads && f.team*v < f.perGroup && (f.team < 8 || f.team*most*v < f.perGroup) {
			f.team *= 2
		}
		f.grid = ceil(f.folds*f.groups, kernelThreads/f.team)
		f.form.walk, f.form.width = walkFold, uint8(v)
		f.form.fold.vectors = vectors
		f.form.fold.whole = vectors && c.whole(folded, v)
	}
	if f.groups > 1 {
		f.partial = result
		f.lastTeam = 1
		for f.lastTeam < kernelThreads && f.lastTeam*2 <= f.groups {
			f.lastTeam *= 2
		}
		f.lastGrid = ceil(f.folds, kernelThreads/f.lastTeam)
	}
}

// dense returns the length and the stride of the innermost dimension of a kind,
// and all strides, where elements of the call's shape are dense and neighbours of
// the kind are one.
func (c *Call) dense(dims *foldDims) (run, step int, strides []int) {
	var room [MaxDims]int
	strides = room[:0]
	for i := range dims.n {
		d := dims.at[i]
		if i > 0 && dims.at[i-1] == d+1 {
			if len(strides) == 1 {
				run *= c.Shape[d]
			}
			continue
		}
		stride := 1
		for _, n := range c.Shape[d+1:] {
			stride *= n
		}
		if i == 0 {
			run, step = c.Shape[d], stride
		}
		strides = append(strides, stride)
	}
	return run, step, strides
}

// Choice is the kernel that a GPU has for a call.
type Choice struct {
	form form
	one  bool // steps and reduction are one kernel
}

// Choice returns it. There is one for Var too, but in two passes.
func (c *Call) Choice() Choice {
	if c.Program.Reduction.Op == expr.None {
		return Choice{form: preferred(c.Program), one: true}
	}
	f, ok := c.folding(false)
	return Choice{form: f.form, one: ok}
}

// fold launches the kernel of a reduction, and again where branches are to meet.
func (w *start) fold(stream uint64) error {
	if w.first != nil {
		if err := w.first.fold(stream); err != nil {
			return err
		}
	}
	f := &w.folding
	if err := w.pass(stream, f.team, f.grid, 0); err != nil || f.groups == 1 {
		return err
	}
	return w.pass(stream, f.lastTeam, f.lastGrid, 1)
}

func (w *start) pass(stream uint64, team, grid, last int) error {
	f := &w.folding
	at := w.addresses()
	if f.form.fold.means { // they lie before what else there is in the workspace
		at[0] = w.workspace
	}
	w.begin(&at)
	w.long(int(w.workspace) + w.means)
	w.long(int(w.workspace))
	for _, n := range [...]int{f.folds, f.terms, f.groups, f.perGroup, f.over, team, f.slices, f.perSlice, last} {
		w.long(n)
	}
	if f.form.walk == walkLines {
		w.long(address(&w.call.gamma))
		w.long(address(&w.call.beta))
		w.long(int(math.Float64bits(w.call.eps)))
		w.long(f.terms)
	}
	kept, folded := w.call.split()
	for _, dims := range [...]*foldDims{&kept, &folded} {
		for i := range w.call.Leaves {
			for _, d := range dims.at[:dims.n] {
				w.long(w.call.Leaves[i].Strides[d])
			}
		}
	}
	for _, dims := range [...]*foldDims{&kept, &folded} {
		for _, d := range dims.at[:dims.n] {
			if dims.n > 1 {
				w.divider(w.call.Shape[d])
			}
		}
	}
	block := kernelThreads
	if f.form.walk == walkLines {
		block = lineBlock(f.team)
	}
	return w.grid(stream, [3]int{grid, 1, 1}, [3]int{block, 1, 1})
}

// address is that of an array; 0 where there is none.
func address(v *device.View) int {
	if v.Buffer == nil {
		return 0
	}
	return int(v.Buffer.Addr()) + v.Layout.Offset*v.DType.Size()
}

// workspace is the bytes of what branches leave.
func (f *folding) workspace() int {
	if f.groups == 1 {
		return 0
	}
	return f.groups * f.folds * f.partial
}

// runFold starts the kernel of steps and reduction.
func (k *kernels) runFold(s *device.Stream, c *Call) (bool, error) {
	f, ok := c.folding(false)
	if !ok {
		return false, nil
	}
	d := s.Device()
	w := starts.Get().(*start)
	defer w.done()
	w.p, w.call, w.dst, w.folding = c.Program, c, c.Dst, f
	if !w.prepare(k, s, f.form) {
		return false, nil
	}
	var first *start
	if c.Program.Reduction.Op == expr.Var {
		first = starts.Get().(*start)
		defer first.done()
		first.p, first.call, first.dst = c.Program, c, c.Dst
		if first.folding, ok = c.folding(true); !ok || !first.prepare(k, s, first.folding.form) {
			return false, nil
		}
		w.means = (f.folds*foldResult(expr.Var, c.terms(), true) + 15) / 16 * 16
		first.means = w.means
	}
	writes := w.writes[:1]
	bytes := f.workspace()
	if first != nil {
		bytes = max(bytes, first.folding.workspace()) + w.means
	}
	if bytes > 0 {
		work, err := d.Alloc(int64(bytes), s)
		if err != nil {
			return false, nil // the single operations say what is missing
		}
		defer work.Free()
		w.writes[1], writes = work, w.writes[:2]
		w.workspace = work.Addr()
	}
	observe.KernelFound(d)
	if first == nil {
		return true, d.LaunchWork(s, w.bufs[:len(c.Leaves)+2], writes, w)
	}
	first.workspace = w.workspace
	w.first = first
	return true, d.LaunchWork(s, w.bufs[:len(c.Leaves)+2], writes, w)
}

// foldedType is the type of terms as reductions know it, and the function that
// makes them of what the steps compute: Bool is bytes but for sums and products.
func (s *source) foldedType() (name, of string) {
	dt := s.p.Steps[len(s.p.Steps)-1].DType
	if op := s.p.Reduction.Op; dt == dtype.Bool && op != expr.Sum && op != expr.Prod {
		return "uint8_t", "bytes"
	}
	return s.typeOf(dt), ""
}

var foldNames = map[expr.Op]string{
	expr.Max: "Extreme<%s, true>", expr.Min: "Extreme<%s, false>", expr.ArgMax: "ArgExtreme<%s, true>", expr.ArgMin: "ArgExtreme<%s, false>",
	expr.Any: "Truth<%s, false>", expr.All: "Truth<%s, true>", expr.Prod: "Product<%s>", expr.Var: "Variance<%s>",
}

// fixed reports whether a leaf has one element for all terms of a fold.
func (s *source) fixed(c Class) bool {
	return c == Single || c == Column && s.p.Reduction.Over == OverLast || c == Row && s.p.Reduction.Over == OverFirst
}

// fold writes the kernel of a reduction: the Source that computes its terms.
func (s *source) fold() {
	t, of := s.foldedType()
	f := s.f.fold
	leaves := len(s.p.Leaves)
	columns := s.f.walk == walkFoldColumns
	s.line("struct Source {\n  using T = %s;\n  static constexpr bool heavy = %t;\n  Params const& p;", t, heavy(s.p) > 0)
	s.line("  template <int N>\n  struct Base {\n    int64_t at[%d];", leaves)
	for i, l := range s.p.Leaves {
		if s.fixed(l.Class) {
			s.line("    Some<%s, N> x%d;", s.typeOf(l.DType), i)
		}
	}
	s.line("  };")
	s.offsets("kept", int(f.kept))
	s.offsets("folded", int(f.folded))
	element := func(i int, at string) string {
		return fmt.Sprintf("static_cast<%s const*>(p.leaf[%d])[%s]", s.typeOf(s.p.Leaves[i].DType), i, at)
	}
	s.line("  template <int N>\n  __device__ Base<N> base(int64_t fold) const {\n    Base<N> b = {};\n    kept(fold, b.at);")
	for i, l := range s.p.Leaves {
		lt := s.typeOf(l.DType)
		switch {
		case !s.fixed(l.Class):
		case l.Class != Row:
			s.line("    b.x%d = splat<%s, N>(%s);", i, lt, element(i, fmt.Sprintf("b.at[%d]", i)))
		case f.whole:
			s.line("    b.x%d = load<%s, N>(p.leaf[%d], b.at[%d]);", i, lt, i, i)
		default:
			s.line("#pragma unroll\n    for (int e = 0; e < N; ++e) b.x%d.v[e] = %s;", i, element(i, fmt.Sprintf("b.at[%d] + e", i)))
		}
	}
	s.line("    return b;\n  }")
	if columns {
		s.line("  template <int N>\n  __device__ Some<T, N> across(Base<N> const& b, int64_t fold, int64_t i) const {")
	} else {
		s.line("  template <int N>\n  __device__ Some<T, N> terms(Base<1> const& b, int64_t i, int64_t left) const {")
	}
	s.line("    int64_t at[%d];\n#pragma unroll\n    for (int j = 0; j < %d; ++j) at[j] = b.at[j];\n    folded(i, at);", leaves, leaves)
	for i, l := range s.p.Leaves {
		lt := s.typeOf(l.DType)
		switch {
		case !s.fixed(l.Class):
			s.line("    Some<%s, N> x%d = {};", lt, i)
		case columns:
			s.line("    Some<%s, N> const x%d = b.x%d;", lt, i, i)
		default:
			s.line("    Some<%s, N> const x%d = splat<%s, N>(b.x%d.v[0]);", lt, i, lt, i)
		}
	}
	along := "folded"
	if columns {
		along = "kept"
	}
	if f.whole {
		if columns {
			s.line("    if (true) {")
		} else {
			s.line("    if (N > 1 && left >= N) {")
		}
		for i, l := range s.p.Leaves {
			lt := s.typeOf(l.DType)
			one := fmt.Sprintf("splat<%s, N>(%s)", lt, element(i, fmt.Sprintf("at[%d]", i)))
			many := fmt.Sprintf("load<%s, N>(p.leaf[%d], at[%d])", lt, i, i)
			switch {
			case s.fixed(l.Class):
			case l.Class == Column:
				s.line("      x%d = %s;", i, one)
			case l.Class == Strided:
				s.line("      x%d = p.%s[%d][0] == 0 ? %s : %s;", i, along, i, one, many)
			default:
				s.line("      x%d = %s;", i, many)
			}
		}
		s.line("    } else {")
	} else {
		s.line("    {")
	}
	s.line("#pragma unroll\n      for (int e = 0; e < N; ++e) {\n        int64_t to[%d] = {};", leaves)
	if columns {
		s.line("        kept(fold + e, to);\n        folded(i, to);")
	} else {
		s.line("        if (e >= left) continue;\n#pragma unroll\n        for (int j = 0; j < %d; ++j) to[j] = b.at[j];\n        folded(i + e, to);", leaves)
	}
	for i, l := range s.p.Leaves {
		if !s.fixed(l.Class) {
			s.line("        x%d.v[e] = %s;", i, element(i, fmt.Sprintf("to[%d]", i)))
		}
	}
	s.line("      }\n    }\n    return %s(compute<N>(p%s));\n  }\n};", of, s.arguments("", func(Class) bool { return false }))
	op := s.p.Reduction.Op
	blocks := 0
	if isSum(op) {
		blocks = 2
		if !columns && leaves == 1 {
			blocks = 3
		}
	}
	if isLine(op) {
		block := lineBlock(int(f.team))
		// A second operand needs registers on the way; two blocks are least.
		if blocks = 1024 / block; leaves > 1 {
			blocks = max(2, 768/block)
		}
		s.beginWith(block, blocks)
		s.line("  line_rows<%d, %d, %d>(p.f, p.w, p.dst, Source{p});\n}", op, f.team, f.held)
		return
	}
	s.beginWith(kernelThreads, blocks)
	switch {
	case isSum(op):
		s.line("  if (p.f.last != 0) return last_sums<Source::T>(p.f, p.dst);")
	default:
		s.line("  using P = %s;", s.foldName(t))
		s.line("  if (p.f.last != 0) return last_folds<P>(p.f, p.dst);")
	}
	switch {
	case isSum(op) && columns:
		batch := min(sumBatch, max(1, 2*sumBatch/int(s.f.width))) // more would take more registers than there are
		if heavy(s.p) > 0 {
			batch = 1
		}
		s.line("  sum_columns<%d, %d, %d>(p.f, p.dst, Source{p});", s.f.width, f.rows, batch)
	case isSum(op) && f.rows < chunkRows:
		s.line("  sum_short<%d>(p.f, p.dst, Source{p});", f.rows)
	case isSum(op):
		s.line("  sum_rows(p.f, p.dst, Source{p});")
	case columns:
		s.line("  fold_columns<P, %d>(p.f, p.dst, Source{p});", s.f.width)
	default:
		s.line("  fold_rows<P, %t>(p.f, p.dst, Source{p});", f.vectors)
	}
	s.line("}")
}

// foldName is the reduction as reduce.cuh has it, on terms of type t.
func (s *source) foldName(t string) string {
	if s.f.fold.means {
		return fmt.Sprintf("Average<%s>", t)
	}
	return fmt.Sprintf(foldNames[s.p.Reduction.Op], t)
}

// offsets writes the function that adds the offsets of an index over n dimensions,
// innermost first.
func (s *source) offsets(name string, n int) {
	leaves := len(s.p.Leaves)
	s.line("  __device__ void %s(int64_t i, int64_t (&at)[%d]) const {", name, leaves)
	switch n {
	case 0:
	case 1:
		for j, l := range s.p.Leaves {
			switch {
			case name == "folded" && s.fixed(l.Class):
			case name == "folded" && s.f.walk != walkFoldColumns && s.f.width > 1 && (l.Class == Dense || l.Class == Row):
				s.line("    at[%d] += i;", j)
			default:
				s.line("    at[%d] += i * p.%s[%d][0];", j, name, j)
			}
		}
	default:
		s.line("    uint32_t rest = static_cast<uint32_t>(i), k;\n#pragma unroll\n    for (int d = 0; d < %d; ++d) {", n)
		s.line("      if (d + 1 < %d) {\n        rest = p.%s_n[d].divide(rest, &k);\n      } else {\n        k = rest;\n      }", n, name)
		s.line("#pragma unroll\n      for (int j = 0; j < %d; ++j) at[j] += static_cast<int64_t>(k) * p.%s[j][d];\n    }", leaves, name)
	}
	s.line("  }")
}

// foldParams writes the parameters of fold.
func (s *source) foldParams() {
	var b strings.Builder
	f := s.f.fold
	b.WriteString("  Folding f;\n")
	if s.f.walk == walkLines {
		b.WriteString("  Weights w;\n")
	}
	dims := [...]struct {
		name string
		n    uint8
	}{{"kept", f.kept}, {"folded", f.folded}}
	for _, d := range dims {
		if d.n > 0 {
			fmt.Fprintf(&b, "  int64_t %s[%d][%d];\n", d.name, len(s.p.Leaves), d.n)
		}
	}
	for _, d := range dims {
		if d.n > 1 {
			fmt.Fprintf(&b, "  Divider %s_n[%d];\n", d.name, d.n)
		}
	}
	s.WriteString(b.String())
}
