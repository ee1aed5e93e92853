package quantum

import (
	"math"

	"github.com/gpk-go/gpk/internal/deviceapi"
)

// Sizes of the products on a GPU.
const (
	tileUnit      = 256
	maxTile       = 1 << 15
	maxOutTile    = 4096 // maximum side of tiles that are copied to the host, two of which are in progress, with their mirrors
	asideBytes    = 512 << 20
	tileTime      = 0.06 // maximum seconds of a tile: started work cannot be cancelled, and two tiles are in progress
	standardFlops = 450e12
	fastFlops     = 600e12
	doubleFlops   = 50e12
	leastPlane    = 64       // minimum number of amplitudes per line of a float16 plane
	foldedBytes   = 17 << 20 // partial sums of long states
	leastWork     = 64 << 10 // workspace of kernels that does not depend on the size
)

// planTiles chooses the size of products and plans the memory besides states and K. The size is the largest that
// fits into the rest of the budget and is short enough for cancellation between products. If nothing fits,
// planTiles returns the least memory that would.
func (k *kernel) planTiles(p *Plan, n, m int, o Options) (least int64, ok bool) {
	u := k.use(p, n, m, o)
	rest := p.Budget - p.States - p.Result
	slots := max(min(prepareBytes, rest/4, u.building), u.sample)
	building := slots + roundingWaste(slots, 2)
	least = math.MaxInt64
	fits := func(s int) bool {
		need := u.fixed(s) + building + u.product(s)
		least = min(least, need)
		return need <= rest
	}
	quick := func(s int) bool { return k.tileSeconds(o.Precision, min(s, n), min(s, m)) <= tileTime }
	side := p.Tile / 2
	switch {
	case o.Tile == 0 && p.Keep == KeepAll:
		side = u.largestSide(func(s int) bool { return fits(s) && quick(s) })
		p.Tile = 2 * side
	case p.Keep == Recompute: // blocks use all memory, and products are parts of them
		for side > 1 && !(fits(side) && quick(side)) {
			side = (side + 1) / 2
		}
	default: // as requested, if there is memory
		for side > 1 && !fits(side) {
			side = (side + 1) / 2
		}
	}
	if !fits(side) {
		return least, false
	}
	p.side, p.slots = side, slots
	// The number of streams is the requested one, or the number with which small tiles keep the device busy. It is
	// bounded by the number of tiles, and by the memory for workspaces.
	if p.streams = 1; !u.outside {
		wanted := o.Streams
		if wanted == 0 {
			wanted = k.usefulStreams(o, min(side, n), min(side, m))
		}
		one := max(u.product(side), 1)
		p.streams = int(max(min(int64(min(wanted, maxStreams)), (rest-u.fixed(side)-building)/one, u.tiles(side)), 1))
	}
	p.Workspace = u.fixed(side) - u.points + building + int64(p.streams)*u.product(side)
	p.States += u.points
	return least, true
}

// largestGPUSide returns the largest side of the tiles that ranks on GPUs compute. It depends only on the
// arguments of Gram, so it is the same on all ranks.
func (k *kernel) largestGPUSide(o Options) int {
	most := maxTile
	if o.File != "" {
		most = maxOutTile
	}
	for most > tileUnit && k.tileSeconds(o.Precision, most, most) > tileTime {
		most /= 2
	}
	return most
}

// overlap lets a rank compute two tiles at the same time, if there is memory: otherwise the last blocks of a tile
// leave the GPU partly idle.
func (k *kernel) overlap(p *Plan, n, m int, o Options) {
	u := k.use(p, n, m, o)
	if one := u.product(p.side); p.PeakBytes+one <= p.Budget {
		p.streams = 2
		p.Workspace, p.PeakBytes = p.Workspace+one, p.PeakBytes+one
	}
}

// usefulStreams returns the number of streams with which tiles of r by c fill a GPU, if one kernel computes a
// whole tile: its blocks have 128 x 128 entries each.
func (k *kernel) usefulStreams(o Options, r, c int) int {
	const blockSide, busy, most = 128, 128, 8
	if o.Precision == Double || len(k.blocks) > 1 || len(k.wires) > 0 && (o.Normalize || len(k.blocks) == 1) {
		return 1
	}
	blocks := ((r + blockSide - 1) / blockSide) * ((c + blockSide - 1) / blockSide)
	return min((busy+blocks-1)/max(blocks, 1), most)
}

// largestSide returns the largest allowed side of a product that is a power of two or three quarters of one.
func (u *gpuUse) largestSide(allowed func(side int) bool) int {
	most := maxTile
	if u.outside {
		most = maxOutTile
	}
	side := 1
	for side < most && side < max(u.n, u.m) {
		side *= 2
	}
	for side > 1 && !allowed(side) {
		if t := side / 4 * 3; side%(2*tileUnit) == 0 && t >= tileUnit && allowed(t) {
			return t
		}
		side /= 2
	}
	return side
}

// gpuUse is the memory of a GPU in use besides states and K.
type gpuUse struct {
	k         *kernel
	p         *Plan
	o         Options
	n, m      int
	symmetric bool
	outside   bool  // K is copied from the device tile by tile
	code      int64 // code and notes, in one block
	constant  int64 // tables, memory for single wires and norms, and the rounding of the pool's blocks
	points    int64 // part of constant: points of single wires that Plan.States does not count yet
	sample    int64 // angles and slots of one sample
	building  int64 // angles and slots of all samples of a set
}

// use collects the memory that does not depend on the size of products.
func (k *kernel) use(p *Plan, n, m int, o Options) *gpuUse {
	size := int64(o.Precision.dtype().Size())
	u := &gpuUse{k: k, p: p, o: o, n: n, m: m, symmetric: p.symmetric, outside: p.OnHost || o.Output != nil}
	rows := int64(max(n, m)) // rows of one set of samples
	all := int64(n)
	if !u.symmetric {
		all += int64(m)
	}
	codes := k.encoded()
	for _, c := range codes.blocks {
		u.code += c.codeBytes() + 8
		u.constant += deviceapi.BlockSize(saturated(int64(c.width), size))
		one := int64(c.nAngles)*8 + int64(c.stride)*size
		u.sample = max(u.sample, deviceapi.BlockSize(int64(c.nAngles)*8+8)+deviceapi.BlockSize(int64(c.stride)*size))
		u.building = max(u.building, 2*deviceapi.BlockSize(saturated(rows, one)))
	}
	if c := codes.wires; c != nil {
		u.code += c.codeBytes() + 8
		u.constant += deviceapi.BlockSize(saturated(rows, int64(c.nAngles)*8) + 8)
		points := saturated(all, int64(c.stride)*size)
		padding := 2 * saturated(3*size, int64(c.stride)) // pointPitch adds up to 3 samples to a set
		u.points = padding
		if p.Keep == Recompute { // the points of all samples stay in memory
			u.points += points
		}
		u.constant += roundingWaste(points+padding, 2) + u.points
	}
	if o.Normalize {
		u.constant += 2 * deviceapi.BlockSize(8*rows)
	}
	u.constant += p.roundingWaste
	return u
}

// roundingWaste returns an upper bound of the bytes that the pool's block sizes add to n bytes in at most `blocks`
// blocks: an eighth of each block, but up to largeBlock for a larger one.
func roundingWaste(n, blocks int64) int64 {
	const largeBlock = 2 << 20
	large := min(n/largeBlock, blocks)
	return large*largeBlock + (blocks-large)*(min(n, largeBlock)/8+512)
}

// leastUse returns the least memory that a GPU needs besides states and K.
func (k *kernel) leastUse(p Plan, n, m int, o Options) int64 {
	p.Keep = KeepAll
	u := k.use(&p, n, m, o)
	u.outside = true
	least := int64(math.MaxInt64)
	for s := 1; ; s *= 2 {
		least = min(least, u.fixed(s)+u.sample+roundingWaste(u.sample, 2)+u.product(s))
		if s >= max(n, m) {
			return least
		}
	}
}

// tiles returns the number of products of s by s.
func (u *gpuUse) tiles(s int) int64 {
	block := max(u.n, u.m, 1)
	if u.p.Keep == Recompute {
		block = u.p.Tile / 2
	}
	return tilesOf(u.n, u.m, block, max(min(s, block), 1), u.symmetric)
}

// fixed returns the memory in use from beginning to end, for products of s by s.
func (u *gpuUse) fixed(s int) int64 {
	tiles := min(u.tiles(s), maxNotes)
	n := u.constant + deviceapi.BlockSize(u.code+8*tileWords*tiles+8*noteWords*2*int64(len(u.k.blocks)+1))
	if u.outside {
		n += 2 * ahead * deviceapi.BlockSize(u.tile(s))
	}
	return n
}

// tile returns the size of a tile of K in bytes.
func (u *gpuUse) tile(s int) int64 {
	return saturated(saturated(int64(min(s, u.n)), int64(min(s, u.m))), int64(u.o.Precision.dtype().Size()))
}

// product returns the workspace of a product of s by s on its stream.
func (u *gpuUse) product(s int) int64 {
	need := u.k.tileWorkspace(u.o.Precision, min(s, u.n), min(s, u.m), u.m)
	if u.o.Autotune { // timed products are written to a separate buffer
		need += u.tile(s)
	}
	return need + roundingWaste(need, 4)
}

// codeBytes returns the size of the code itself.
func (c *circuitCode) codeBytes() int64 {
	words := len(c.angles) + len(c.slots)
	for _, p := range c.passes {
		words += len(p.words)
	}
	for _, t := range c.tables {
		for _, p := range t.passes {
			words += len(p.words)
		}
	}
	return 8*int64(len(c.coefs)+len(c.fixed)) + 4*int64(words)
}

// tilesOf returns the number of tiles of a matrix, or of a triangle with its diagonal. The matrix is divided into
// blocks, and these into tiles.
func tilesOf(rows, cols, block, side int, symmetric bool) int64 {
	along := func(n int) int64 {
		up := func(n int) int64 { return int64((n + side - 1) / side) }
		return int64(n/block)*up(block) + up(n%block)
	}
	r := along(rows)
	if symmetric {
		return saturated(r, r+1) / 2
	}
	return saturated(r, along(cols))
}

// tileSeconds estimates the time of a product of r by c.
func (k *kernel) tileSeconds(p Precision, r, c int) float64 {
	t := 0.0
	for _, b := range k.blocks {
		flops := 2 * float64(r) * float64(c) * float64(uint64(1)<<b.qubits)
		if !b.real {
			flops *= 4
		}
		switch {
		case p == Double:
			t += flops / doubleFlops
		case k.split(p):
			t += 3 * flops / standardFlops
		default:
			t += flops / fastFlops
		}
	}
	return t
}

// factors returns the number of factors of K: one for each block, and one for all single wires.
func (k *kernel) factors() int { return len(k.blocks) + min(len(k.wires), 1) }

// split reports whether products use two float16 planes per number. Fast uses one, but the
// errors of several factors add up to more than its bound.
func (k *kernel) split(p Precision) bool { return p == Standard || p == Fast && len(k.blocks) > 1 }

// tileWorkspace returns the memory, besides states and K, for a product of r by c of a K with m columns: the
// float16 planes of complex64 and float32 operands, or complex128 products before they are squared; a second
// product if K has several factors; the sums of every patch.
func (k *kernel) tileWorkspace(p Precision, r, c, m int) int64 {
	size := int64(p.dtype().Size())
	tile := saturated(saturated(int64(r), int64(c)), size)
	aside := saturated(saturated(int64(r), (int64(c)+31)/32*32), size) // a separate tile, with its own pitch
	var most int64
	for _, b := range k.blocks {
		most = max(most, k.operandsWorkspace(b, p, r, c, aside))
	}
	const patch = 64
	n := most + saturated(8*tileWords, saturated(int64(r+patch-1)/patch, int64(c+patch-1)/patch))
	n += leastWork + 16*(int64(r)+2*int64(c)) // a few words per line of the planes
	if p != Double && (k.width() > 1<<12 || k.factors() > 1 && k.width() > 1<<11) {
		n += foldedBytes
	}
	if len(k.blocks) == 0 && len(k.wires) > 0 {
		n += k.closedWorkspace(r, c)
	}
	if len(k.blocks) > 1 {
		n += tile
	}
	if int64(m)*size%16 != 0 && len(k.blocks) > 0 {
		n += aside
	}
	if len(k.blocks) == 0 && p != Double {
		n += k.closedWorkspace(r, c)
	}
	return n
}

// operandsWorkspace returns the part of tileWorkspace that holds the operands of one block's
// product. aside is the number of bytes of a tile with its own pitch.
func (k *kernel) operandsWorkspace(b *program, p Precision, r, c int, aside int64) int64 {
	d := max(int64(1)<<b.qubits, leastPlane)
	var need int64
	switch {
	case inPieces(p.dtype(), 1<<b.qubits):
		need = piecesWorkspace(r, c, b.real)
	case p == Double && b.real:
	case p == Double: // plus the conjugate of the columns
		need = min(2*aside, asideBytes) + saturated(16*d, int64(c))
	case b.real:
		need = saturated(4*d, int64(r+c))
	default: // for the columns, whose real and imaginary parts each have two planes
		need = saturated(8*d, int64(r)+2*int64(c))
	}
	if p != Double && !k.split(p) {
		need = need/2 + min(2*aside, asideBytes) // some kernels leave the squaring to another kernel
	}
	return need
}
