package matmul

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// Of kernels that share what whole waves of tiles leave over (stream-K).
const (
	leastSteps     = 8     // of k, of a CTA's part of a tile
	streamKPart    = 6500. // cycles: a part goes through the workspace, each after the one before it
	streamKPartial = 0.5   // of a wave that is left over, from which on whole tiles do as well
)

// streamK says how a kernel of stream-K deals a problem out.
type streamK struct {
	whole  int // tiles that each CTA computes by itself
	shared int // tiles whose k is dealt out; 0: all tiles are whole
	ctas   int // that share them
	tiles  int
}

// dealt is the order of CUTLASS's scheduler: where less than half a wave is left
// over, the CTAs share that and the wave before it.
func dealt(tiles, steps, sms, cluster int) streamK {
	waves, rest := tiles/sms, tiles%sms
	if rest == 0 || float64(rest) >= streamKPartial*float64(sms) || steps <= leastSteps {
		return streamK{whole: ceilDiv(tiles, sms), tiles: tiles}
	}
	d := streamK{whole: max(waves-1, 0), tiles: tiles}
	d.shared = tiles - d.whole*sms
	d.ctas = min(sms, d.shared*steps/leastSteps) / cluster * cluster
	return d
}

// parts is the most that the k of one tile is cut into.
func (d streamK) parts() int {
	switch {
	case d.shared == 0:
		return 1
	case d.ctas%d.shared == 0:
		return d.ctas / d.shared
	}
	return ceilDiv(d.ctas, d.shared) + 1
}

// streamKOf is how k computes p.
func streamKOf(p Problem, k cutlass.Kernel, c device.Capabilities) streamK {
	sms := c.MultiProcessors
	if sms == 0 {
		sms = defaultSMs
	}
	tiles := alignUp(ceilDiv(p.M, k.Tile[0]), k.Cluster[0]) * alignUp(ceilDiv(p.N, k.Tile[1]), k.Cluster[1]) * max(1, p.Batch)
	return dealt(tiles, ceilDiv(p.K, k.Tile[2]), sms, k.Cluster[0]*k.Cluster[1])
}

// cycles is the compute term, of tiles that take work for their products and
// then an epilogue.
func (d streamK) cycles(work, epilogue float64) float64 {
	cycles := float64(d.whole) * (work + epilogue)
	if d.shared > 0 {
		share := float64(d.shared) / float64(d.ctas)
		cycles += share*work + math.Ceil(share)*epilogue + streamKPart*float64(d.parts())
	}
	return cycles
}

// bytes is the workspace: float32 sums of the tiles that are cut, and their locks.
func (d streamK) bytes(k cutlass.Kernel) int64 {
	if d.shared == 0 {
		return 0
	}
	tiles := d.shared
	if d.ctas%d.shared == 0 {
		tiles = d.tiles
	}
	locks := alignUp(8*tiles, 128) // two warpgroups' of each tile
	return int64(tiles)*int64(k.Tile[0]*k.Tile[1]*4) + int64(locks)
}

// shareK adds what the blocks of D share: a step, and workspace for the block that
// needs the most.
func (c *candidate) shareK(p Problem, dev device.Capabilities) {
	var most streamK
	var room, moved int64
	for _, b := range blocks(p.M, c.rows, p.Symmetric) {
		q := p
		q.M, q.N = b.rows, p.N-b.col
		d := streamKOf(q, c.kernel, dev)
		bytes := d.bytes(c.kernel)
		moved += 2 * bytes
		if bytes > room {
			room, most = bytes, d
		}
	}
	if room == 0 {
		return
	}
	detail := fmt.Sprintf("of %d tiles over %d CTAs by stream-K", most.shared, most.ctas)
	if c.rows > 0 {
		detail += ", in the block that shares the most"
	}
	c.workspace += room
	c.steps = append(c.steps, Step{Kind: Split, Operand: "k", Detail: detail, Bytes: moved})
}
