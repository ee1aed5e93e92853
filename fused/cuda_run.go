package fused

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/observe"
	"github.com/gpk-go/gpk/layout"
)

// compiled runs calls with kernels that are compiled at run time. It implements Runner.
type compiled struct {
	mu      sync.RWMutex
	devices map[*device.Device]*kernels
}

// kernels are the compiled kernels of one device.
type kernels struct {
	refused error // the reason why no kernels can be compiled for the device

	mu   sync.RWMutex
	made map[string]deviceapi.Compilation // by program and variant; see appendKey
}

// kernelsOf returns the kernels of a device. It makes an empty list at the first call.
func (g *compiled) kernelsOf(d *device.Device) *kernels {
	g.mu.RLock()
	k := g.devices[d]
	g.mu.RUnlock()
	if k != nil {
		return k
	}
	refused := compilerFits(d)
	g.mu.Lock()
	defer g.mu.Unlock()
	if k := g.devices[d]; k != nil {
		return k
	}
	if g.devices == nil {
		g.devices = map[*device.Device]*kernels{}
	}
	k = &kernels{refused: refused, made: map[string]deviceapi.Compilation{}}
	g.devices[d] = k
	return k
}

// compilerFits returns the reason why kernels of chains cannot be compiled for a device, or
// nil. The compiler must be of the CUDA version with which the library of single operations
// was built: functions such as exp are part of the compiler, and their bits may change.
func compilerFits(d *device.Device) error {
	version, err := deviceapi.CompilerVersion(d)
	if err != nil {
		return err
	}
	if lib := d.Library(); lib != nil && lib.CUDAVersion()/10 != version/10 {
		return fmt.Errorf("%w: NVRTC %d.%d is not of CUDA %d.%d, which the kernel library was built with: results could differ in their last bits; GPK_NVRTC names another",
			expr.ErrUnsupported, version/1000, version%1000/10, lib.CUDAVersion()/1000, lib.CUDAVersion()%1000/10)
	}
	return nil
}

// appendKey appends the key of a program and a kernel variant.
func appendKey(b []byte, p *Program, f kernelVariant) []byte {
	b = append(b, byte(f.traversal), f.width, byte(p.Reduction.Op), byte(p.Rank), byte(p.Dst), byte(len(p.Leaves)), byte(len(p.Scalars)))
	if r := f.fold; f.folds() {
		b = append(b, byte(p.Reduction.Over), r.kept, r.folded, r.rows, byte(r.team/32), r.held, flags(r.whole, r.vectors, r.means))
	}
	for _, l := range p.Leaves {
		b = append(b, byte(l.DType), byte(l.Class))
	}
	for _, dt := range p.Scalars {
		b = append(b, byte(dt))
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		b = append(b, byte(s.Op), byte(s.DType), byte(s.N))
		for _, a := range s.Args[:s.N] {
			b = append(b, byte(a.Kind), a.N)
		}
	}
	return b
}

// flags packs booleans into bits.
func flags(list ...bool) (b byte) {
	for i, on := range list {
		if on {
			b |= 1 << i
		}
	}
	return b
}

// kernel returns the compilation of a program's kernel. It starts the compilation if there
// is none.
func (k *kernels) kernel(d *device.Device, p *Program, f kernelVariant) deviceapi.Compilation {
	var room [512]byte
	key := appendKey(room[:0], p, f)
	k.mu.RLock()
	c := k.made[string(key)]
	k.mu.RUnlock()
	if c != nil && !c.Again() {
		return c
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.made[string(key)]; now != nil && now != c {
		return now
	}
	if len(k.made) >= maxMade { // CompileLater has a cache of its own
		clear(k.made)
	}
	c = deviceapi.CompileLater(d, code(p, f))
	k.made[string(key)] = c
	return c
}

// maxMade is the maximum length of kernels.made, which includes programs that do not compile.
const maxMade = 4096

// function returns the kernel of a program if it is compiled, else nil. In a capture it
// waits for the compiler, because the recorded work runs many times.
func (k *kernels) function(s *device.Stream, p *Program, f kernelVariant) *device.Function {
	c := k.kernel(s.Device(), p, f)
	fn, ready, err := c.Function()
	if !ready && err == nil && s.Capturing() {
		fn, err = c.Now(context.Background())
	}
	if err != nil {
		return nil
	}
	return fn
}

// stepsOf returns the program without its reduction, for a call that stores the elements
// before they are reduced.
func stepsOf(p *Program) *Program {
	if p.Reduction.Op == expr.None {
		return p
	}
	q := *p
	q.Reduction, q.Dst = Reduction{}, Dense
	return &q
}

// Run implements Runner. A reduction that cannot share a kernel with the steps runs as a
// second kernel, that of the single operation, with the same tree.
func (g *compiled) Run(s *device.Stream, c *Call) (bool, error) {
	d := s.Device()
	k := g.kernelsOf(d)
	if k.refused != nil || len(c.Shape) > MaxDims {
		return false, nil
	}
	p := stepsOf(c.Program)
	if p == c.Program {
		return k.run(s, p, c, c.Dst)
	}
	choice := c.Choice()
	if choice.one {
		return k.runFold(s, c)
	}
	// The first call only starts the compilation. Allocate memory once the kernel exists.
	if k.function(s, p, choice.variant) == nil {
		return false, nil
	}
	dense := layout.Dense(c.shape)
	dt := p.Result()
	buf, err := d.Alloc(int64(dense.Size())*int64(dt.Size()), s)
	if err != nil {
		return false, nil // the single operations report the error
	}
	defer buf.Free()
	done, err := k.run(s, p, c, Operand{Buffer: buf})
	if !done || err != nil {
		return done, err
	}
	return true, c.finish(s, device.View{Buffer: buf, DType: dt, Layout: dense})
}

// Explain implements Runner.
func (g *compiled) Explain(d *device.Device, program *Program, choice Choice) (int, string) {
	k := g.kernelsOf(d)
	if k.refused != nil {
		return 0, k.refused.Error()
	}
	p := program
	if !choice.one {
		p = stepsOf(program)
	}
	_, ready, err := k.kernel(d, p, choice.variant).Function()
	var source *device.CompileError
	switch {
	case errors.As(err, &source):
		return 0, "its generated kernel does not compile: " + source.Error()
	case err != nil:
		return 0, err.Error()
	case !ready:
		return 0, "its kernel is being compiled"
	case p != program:
		return 2, fmt.Sprintf("the steps are one, and %v is another behind it", program.Reduction.Op)
	case program.Reduction.Op == expr.Var:
		return 2, "Var computes the steps for its mean first, and again"
	}
	return 1, ""
}

// preferred returns the variant of a program for aligned arrays whose rows are whole
// vectors.
func preferred(p *Program) kernelVariant {
	f := kernelVariant{traversal: traverseFlat, width: uint8(width(p))}
	for _, l := range p.Leaves {
		switch l.Class {
		case Row, Column:
			f.traversal = max(f.traversal, traverseRows)
		case Strided:
			f.traversal = traverseStrided
		}
	}
	if p.Dst == Strided {
		f.traversal = traverseStrided
	}
	return f
}

// maxGridY is the largest number of blocks of a grid in its second dimension.
const maxGridY = 1<<16 - 1

// maxPiece is the maximum number of elements of a launch with 32-bit indices.
const maxPiece = 1 << 30

// start is one launch, as device.Work for LaunchWork. It is pooled.
type start struct {
	f      *device.Function
	launch device.Launch
	params []byte

	p       *Program
	variant kernelVariant
	call    *Call
	dst     Operand
	shape   []int   // dimensions of a strided traversal, innermost first
	strides [][]int // of the destination and of the leaves, in the order of shape
	bufs    [MaxLeaves + 2]*device.Buffer
	writes  [2]*device.Buffer
	queued  bool // the launch queue starts it

	// for a reduction
	folding   folding
	first     *start // the pass that computes the means of Var
	workspace uint64 // address of the means of Var, which take `means` bytes, and of the partial results behind them
	means     int
}

var starts = sync.Pool{New: func() any { return new(start) }}

// Enqueue implements device.Queued.
func (w *start) Enqueue(ordinal int, stream uint64) (bool, error) {
	w.queued = true
	if w.first != nil {
		w.first.queued = true
	}
	return true, w.Start(ordinal, stream)
}

// Start implements device.Work.
func (w *start) Start(_ int, stream uint64) error {
	switch w.variant.traversal {
	case traverseFlat:
		return w.flat(stream)
	case traverseRows:
		return w.rows(stream)
	case traverseMixed:
		return w.mixed(stream)
	case traverseFold, traverseLines, traverseFoldColumns:
		return w.fold(stream)
	}
	return w.pieces(stream, w.shape, w.addresses())
}

// done returns the launch to the pool.
func (w *start) done() {
	params := w.params[:0]
	*w = start{params: params}
	starts.Put(w)
}

// prepare finds the kernel of variant f for w.p, and lists the buffers of w.call and w.dst.
// It reports false if the kernel does not exist.
func (w *start) prepare(k *kernels, s *device.Stream, f kernelVariant) bool {
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
	w := starts.Get().(*start)
	defer w.done()
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

// choose sets the variant for the call.
func (w *start) choose() {
	f := preferred(w.p)
	v := int(f.width)
	aligned := func(o *Operand, size, elements int) bool {
		return aligned(o.Buffer, o.Offset*size, min(16, elements*size))
	}
	if f.traversal == traverseStrided {
		w.order()
		f.traversal, f.width = w.strided(v, aligned)
		w.variant = f
		return
	}
	n := w.call.Shape[len(w.call.Shape)-1]
	whole := n%v == 0
	for i := range w.call.Leaves {
		o, leaf := &w.call.Leaves[i], w.p.Leaves[i]
		ok := aligned(o, leaf.DType.Size(), v)
		switch leaf.Class {
		case Dense:
			if !ok {
				f.width = 1
			}
		case Row:
			whole = whole && ok
		}
	}
	if !aligned(&w.dst, w.p.Result().Size(), v) {
		f.width = 1
	}
	if f.traversal == traverseRows && (!whole || f.width == 1 || n/v > maxPiece && rowsTogether(w.p, f)) {
		f = w.unalignedRows(f, n)
	}
	w.variant = f
}

// unalignedRows returns the variant for rows of n elements that are not whole vectors. It is
// a mixed traversal if one launch can index at least as many rows as a vector has elements.
func (w *start) unalignedRows(f kernelVariant, n int) kernelVariant {
	switch {
	case n*int(f.width) <= maxPiece:
		return kernelVariant{traversal: traverseMixed, width: f.width}
	case n <= maxPiece:
		return kernelVariant{traversal: traverseMixed, width: 1}
	}
	w.order()
	return kernelVariant{traversal: traverseStrided, width: 1}
}

// order sorts the dimensions of a strided traversal by the destination's strides,
// innermost first.
func (w *start) order() {
	c := w.call
	rank := len(c.Shape)
	by := make([]int, rank)
	for i := range by {
		by[i] = rank - 1 - i
	}
	dst := w.dst.Strides
	if dst == nil { // dense
		dst = make([]int, rank)
		for i, n := rank-1, 1; i >= 0; i-- {
			dst[i] = n
			n *= c.Shape[i]
		}
	} else {
		slices.SortStableFunc(by, func(i, j int) int { return abs(dst[i]) - abs(dst[j]) })
	}
	pick := func(list []int) []int {
		out := make([]int, rank)
		for i, d := range by {
			out[i] = list[d]
		}
		return out
	}
	w.shape = pick(c.Shape)
	w.strides = [][]int{pick(dst)}
	for i := range c.Leaves {
		w.strides = append(w.strides, pick(c.Leaves[i].Strides))
	}
}

// strided returns the traversal over the sorted dimensions, and the elements of a vector.
// If an operand is contiguous along another dimension than the innermost, strided moves
// that dimension next to the innermost, and the kernel transposes tiles.
func (w *start) strided(v int, aligned func(o *Operand, size, elements int) bool) (traversal, uint8) {
	vectors := w.shape[0]%v == 0
	across := 0
	for j, strides := range w.strides {
		o, size, class := &w.dst, w.p.Result().Size(), Dense
		if j > 0 {
			o, size, class = &w.call.Leaves[j-1], w.p.Leaves[j-1].DType.Size(), w.p.Leaves[j-1].Class
		}
		inner := strides[0]
		switch {
		case class == Single, j > 0 && inner == 0:
		case inner != 1:
			vectors = false
			if across == 0 {
				across = w.contiguous(strides)
			}
		default:
			vectors = vectors && aligned(o, size, v) && allMultiples(v, strides[1:])
		}
	}
	switch {
	case vectors:
		return traverseStrided, uint8(v)
	case across == 0:
		return traverseStrided, 1
	}
	w.shape[1], w.shape[across] = w.shape[across], w.shape[1]
	for _, s := range w.strides {
		s[1], s[across] = s[across], s[1]
	}
	return traverseTiles, 1
}

// contiguous returns the first dimension, other than the innermost, along which an operand is
// contiguous and that is long enough for tiles. It returns 0 if there is none.
func (w *start) contiguous(strides []int) int {
	for i := 1; i < len(strides); i++ {
		if strides[i] == 1 && w.shape[i] >= 4 && w.shape[i]*w.shape[0] >= 512 {
			return i
		}
	}
	return 0
}

// addresses returns the addresses of the destination and the leaves.
func (w *start) addresses() (at [1 + MaxLeaves]uint64) {
	at[0] = w.dst.Buffer.Addr() + uint64(w.dst.Offset*w.p.Result().Size())
	for i := range w.call.Leaves {
		o := &w.call.Leaves[i]
		at[1+i] = o.Buffer.Addr() + uint64(o.Offset*w.p.Leaves[i].DType.Size())
	}
	return at
}

// begin packs the parameters that all kernels begin with.
func (w *start) begin(at *[1 + MaxLeaves]uint64) {
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

func (w *start) long(n int) { w.params = binary.LittleEndian.AppendUint64(w.params, uint64(n)) }

func (w *start) word(n uint32) { w.params = binary.LittleEndian.AppendUint32(w.params, n) }

// divider packs a divisor, at most 2^31, as a Divider of chain.cuh.
func (w *start) divider(d int) {
	s := uint32(0)
	for s < 32 && 1<<s < d {
		s++
	}
	w.word(uint32(d))
	w.word(uint32(((1<<s-uint64(d))<<32)/uint64(d) + 1))
	w.word(s)
}

// blocks launches blocks of 256 threads with `each` items per thread. Blocks are smaller if
// full ones would leave multiprocessors idle.
func (w *start) blocks(stream uint64, items, each int) error {
	block := kernelThreads
	for block > 64 && items < block*each*256 {
		block /= 2
	}
	return w.grid(stream, [3]int{max(1, ceil(items, block*each)), 1, 1}, [3]int{block, 1, 1})
}

func ceil(n, d int) int { return (n + d - 1) / d }

func (w *start) grid(stream uint64, grid, block [3]int) error {
	for len(w.params)%8 != 0 {
		w.params = append(w.params, 0)
	}
	w.launch.Grid, w.launch.Block = grid, block
	if w.queued {
		return w.f.Enqueue(stream, w.launch, w.params)
	}
	return w.f.Start(stream, w.launch, w.params)
}

func (w *start) flat(stream uint64) error {
	at := w.addresses()
	w.begin(&at)
	n, v := w.call.Size(), int(w.variant.width)
	w.long(n / v)
	w.long(n % v)
	return w.blocks(stream, max(n/v, n%v), unroll(w.p, w.variant))
}

func (w *start) rows(stream uint64) error {
	at := w.addresses()
	m, columns := w.call.Shape[0], w.call.Shape[1]/int(w.variant.width)
	// The widest block that wastes few threads at the end of a row.
	threads, _ := rowThreads(w.p, w.variant)
	bx := threads
	for bx > 32 && (bx/2 >= columns || ceil(columns, bx)*bx*8 > columns*9 && ceil(columns, bx/2)*(bx/2) < ceil(columns, bx)*bx) {
		bx /= 2
	}
	for bx > 1 && bx/2 >= columns {
		bx /= 2
	}
	by := threads / bx
	each := by * unroll(w.p, w.variant)
	if rowsTogether(w.p, w.variant) {
		return w.together(stream, &at, bx, by, each*maxGridY)
	}
	groups := ceil(m, each)
	w.begin(&at)
	w.long(m)
	w.long(groups)
	w.long(columns)
	return w.grid(stream, [3]int{ceil(columns, bx), min(groups, maxGridY), 1}, [3]int{bx, by, 1})
}

// together launches the kernel in which a block computes one group of rows. A launch computes
// at most `most` rows.
func (w *start) together(stream uint64, at *[1 + MaxLeaves]uint64, bx, by, most int) error {
	m, n := w.call.Shape[0], w.call.Shape[1]
	columns := n / int(w.variant.width)
	for r := 0; r < m; r += most {
		rows := min(most, m-r)
		w.begin(at)
		w.word(uint32(rows))
		w.word(uint32(columns))
		groups := ceil(rows, by*unroll(w.p, w.variant))
		if err := w.grid(stream, [3]int{ceil(columns, bx), groups, 1}, [3]int{bx, by, 1}); err != nil {
			return err
		}
		w.skipRows(at, rows, n)
	}
	return nil
}

// skipRows advances the addresses by a number of rows of n elements.
func (w *start) skipRows(at *[1 + MaxLeaves]uint64, rows, n int) {
	at[0] += uint64(rows * n * w.p.Result().Size())
	for i, l := range w.p.Leaves {
		switch l.Class {
		case Dense:
			at[1+i] += uint64(rows * n * l.DType.Size())
		case Column:
			at[1+i] += uint64(rows * l.DType.Size())
		}
	}
}

func (w *start) mixed(stream uint64) error {
	m, n, v := w.call.Shape[0], w.call.Shape[1], int(w.variant.width)
	// A launch must begin at a multiple of v rows, so that it begins at a vector.
	step := max(1, maxPiece/n/v) * v
	at := w.addresses()
	for r := 0; r < m; r += step {
		size := min(step, m-r) * n
		w.begin(&at)
		w.word(uint32(size / v))
		w.word(uint32(size % v))
		w.divider(n)
		if err := w.blocks(stream, max(size/v, size%v), unroll(w.p, w.variant)); err != nil {
			return err
		}
		w.skipRows(&at, step, n)
	}
	return nil
}

// pieces launches a strided traversal in parts of at most maxPiece elements each.
func (w *start) pieces(stream uint64, shape []int, at [1 + MaxLeaves]uint64) error {
	size, longest := 1, len(shape)-1
	for i, n := range shape {
		size *= n
		if n > shape[longest] {
			longest = i
		}
	}
	if size <= maxPiece {
		return w.piece(stream, shape, &at)
	}
	// Half of the longest dimension.
	v := int(w.variant.width)
	if longest == 0 && len(shape) > 1 && shape[0] < 2*v { // a vector cannot be split
		longest = 1
		for i, n := range shape[1:] {
			if n > shape[longest] {
				longest = 1 + i
			}
		}
	}
	half := shape[longest] / 2
	if longest == 0 { // only the dimension of the vectors is left
		half = half / v * v
	}
	for _, part := range [][2]int{{0, half}, {half, shape[longest] - half}} {
		inner := slices.Clone(shape)
		inner[longest] = part[1]
		from := at
		for j, s := range w.strides {
			size := w.p.Result().Size()
			if j > 0 {
				size = w.p.Leaves[j-1].DType.Size()
			}
			from[j] += uint64(part[0] * s[longest] * size)
		}
		if err := w.pieces(stream, inner, from); err != nil {
			return err
		}
	}
	return nil
}

func (w *start) piece(stream uint64, shape []int, at *[1 + MaxLeaves]uint64) error {
	w.begin(at)
	for _, s := range w.strides {
		for _, n := range s {
			w.long(n)
		}
	}
	v := int(w.variant.width)
	if w.variant.traversal == traverseTiles {
		across, down := ceil(shape[0], 32), ceil(shape[1], 32)
		w.word(uint32(shape[0]))
		w.word(uint32(shape[1]))
		w.divider(across)
		w.divider(down)
		tiles := across * down
		for i, n := range shape {
			w.divider(n)
			if i >= 2 {
				tiles *= n
			}
		}
		return w.grid(stream, [3]int{tiles, 1, 1}, [3]int{kernelThreads, 1, 1})
	}
	items := 1
	for i, n := range shape {
		if i == 0 {
			n /= v
		}
		items *= n
	}
	w.word(uint32(items))
	for i, n := range shape {
		if i == 0 {
			n /= v
		}
		w.divider(n)
	}
	return w.blocks(stream, items, unroll(w.p, w.variant))
}
