package quantum

// Sizes of the products that a GPU computes at once.
const (
	tileUnit      = 256
	mostTile      = 1 << 15
	mostOutTile   = 4096 // of tiles that go to the host: two with their mirrors are under way
	asideBytes    = 512 << 20
	tileTime      = 0.06 // seconds: what was started cannot be cancelled, and two are under way
	standardFlops = 450e12
	fastFlops     = 600e12
	doubleFlops   = 50e12
	leastPlane    = 64       // amplitudes of a line of float16
	foldedBytes   = 17 << 20 // sums of long states that a kernel puts aside
)

// planTiles chooses the products of a GPU and what they need beside states and K:
// as large as fits into the rest of the budget and can still be cancelled in time.
func (k *kernel) planTiles(p *Plan, n, m int, o Options, reserve int64) {
	outside := p.OnHost || o.Output != nil
	rest := max(p.Budget-p.States-p.Result, reserve)
	slots := min(prepareBytes, rest/4)
	workspace := func(s int) int64 {
		need := k.tileWorkspace(o.Precision, min(s, n), min(s, m), m, outside)
		if o.Autotune { // what is timed is written aside
			need += saturated(saturated(int64(min(s, n)), int64(min(s, m))), int64(o.Precision.dtype().Size()))
		}
		return need
	}
	fits := func(s int) bool { return workspace(s) <= rest-slots }
	quick := func(s int) bool { return k.tileSeconds(o.Precision, min(s, n), min(s, m)) <= tileTime }
	side := p.Tile / 2
	switch {
	case o.Tile == 0 && p.Keep == KeepAll:
		most := mostTile
		if outside {
			most = mostOutTile
		}
		side = 1
		for side < most && side < max(n, m) {
			side *= 2
		}
		for side > 1 && !(fits(side) && quick(side)) {
			if t := side / 4 * 3; side%(2*tileUnit) == 0 && t >= tileUnit && fits(t) && quick(t) {
				side = t
				break
			}
			side /= 2
		}
		p.Tile = 2 * side
	case p.Keep == Recompute: // blocks as large as memory, products in parts of them
		for side > 1 && !(fits(side) && quick(side)) {
			side = (side + 1) / 2
		}
	default: // as asked for, if there is memory
		for side > 1 && !fits(side) {
			side = (side + 1) / 2
		}
	}
	p.side = side
	p.Workspace = min(rest, slots+workspace(side))
}

// tileSeconds is about what a product of r by c takes.
func (k *kernel) tileSeconds(p Precision, r, c int) float64 {
	t := 0.0
	for _, b := range k.blocks {
		flops := 2 * float64(r) * float64(c) * float64(uint64(1)<<b.qubits)
		if !b.real {
			flops *= 4
		}
		switch p {
		case Standard:
			t += 3 * flops / standardFlops
		case Fast:
			t += flops / fastFlops
		default:
			t += flops / doubleFlops
		}
	}
	return t
}

// tileWorkspace is the memory beside states and K for a product of r by c, of
// which K has m columns: the planes of float16 in which the operands of complex64
// and float32 products are, or complex128 products before they are squared; a
// second product where K has several factors; what goes to the host.
func (k *kernel) tileWorkspace(p Precision, r, c, m int, outside bool) int64 {
	size := int64(p.dtype().Size())
	tile := saturated(saturated(int64(r), int64(c)), size)
	var most, tables int64
	for _, b := range k.blocks {
		d := max(int64(1)<<b.qubits, leastPlane)
		var need int64
		switch {
		case p == Double && b.real:
		case p == Double: // the conjugate of the columns, beside
			need = min(2*tile, asideBytes) + saturated(16*d, int64(c))
		case b.real:
			need = saturated(4*d, int64(r+c))
		default: // of the columns real and imaginary parts each have both
			need = saturated(8*d, int64(r)+2*int64(c))
		}
		if p == Fast {
			need /= 2
		}
		most = max(most, need)
		tables += 2 * d * size
	}
	n := most + tables + 3*tile/(64*64)
	if p != Double && k.width() > 1<<12 {
		n += foldedBytes
	}
	if len(k.blocks) > 1 {
		n += tile
	}
	if int64(m)*size%16 != 0 && len(k.blocks) > 0 {
		n += tile
	}
	if outside {
		n += 2 * ahead * tile
	}
	return n
}
