package matmul

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// Constants of stream-K kernels, whose CTAs share the tiles beyond the last full wave.
const (
	minPartSteps   = 8     // the smallest number of steps of k in a CTA's part of a tile
	streamKPart    = 6500. // cycles of a part; its sum goes through the workspace, and the parts of a tile run one after the other
	streamKPartial = 0.5   // in waves: if more tiles than this remain after the last full wave, stream-K saves nothing
)

// streamK is a stream-K kernel's distribution of a problem's tiles over CTAs.
type streamK struct {
	wholeTiles  int // tiles that each CTA computes alone
	sharedTiles int // tiles whose k is shared between CTAs; 0: none
	ctas        int // CTAs that share these tiles
	tiles       int
}

// distribute returns the distribution that CUTLASS's scheduler makes. If less than half a
// wave remains beyond the full ones, the CTAs share it and the last full wave.
func distribute(tiles, steps, sms, cluster int) streamK {
	waves, rest := tiles/sms, tiles%sms
	if rest == 0 || float64(rest) >= streamKPartial*float64(sms) || steps <= minPartSteps {
		return streamK{wholeTiles: ceilDiv(tiles, sms), tiles: tiles}
	}
	d := streamK{wholeTiles: max(waves-1, 0), tiles: tiles}
	d.sharedTiles = tiles - d.wholeTiles*sms
	d.ctas = min(sms, d.sharedTiles*steps/minPartSteps) / cluster * cluster
	return d
}

// parts returns the largest number of parts into which a tile's k is divided.
func (d streamK) parts() int {
	switch {
	case d.sharedTiles == 0:
		return 1
	case d.ctas%d.sharedTiles == 0:
		return d.ctas / d.sharedTiles
	}
	return ceilDiv(d.ctas, d.sharedTiles) + 1
}

// streamKOf returns the distribution of p's tiles by kernel k.
func streamKOf(p Problem, k cutlass.Kernel, c device.Capabilities) streamK {
	sms := c.MultiProcessors
	if sms == 0 {
		sms = defaultSMs
	}
	tiles := alignUp(ceilDiv(p.M, k.Tile[0]), k.Cluster[0]) * alignUp(ceilDiv(p.N, k.Tile[1]), k.Cluster[1]) * max(1, p.Batch)
	return distribute(tiles, ceilDiv(p.K, k.Tile[2]), sms, k.Cluster[0]*k.Cluster[1])
}

// cycles returns the compute term for tiles with work cycles of products and epilogue
// cycles behind them.
func (d streamK) cycles(work, epilogue float64) float64 {
	cycles := float64(d.wholeTiles) * (work + epilogue)
	if d.sharedTiles > 0 {
		share := float64(d.sharedTiles) / float64(d.ctas)
		cycles += share*work + math.Ceil(share)*epilogue + streamKPart*float64(d.parts())
	}
	return cycles
}

// bytes returns the size of the workspace: the float32 sums of the shared tiles, and their
// locks.
func (d streamK) bytes(k cutlass.Kernel) int64 {
	if d.sharedTiles == 0 {
		return 0
	}
	tiles := d.sharedTiles
	if d.ctas%d.sharedTiles == 0 {
		tiles = d.tiles
	}
	locks := alignUp(8*tiles, 128) // a lock for each of two warpgroups of a tile
	return int64(tiles)*int64(k.Tile[0]*k.Tile[1]*4) + int64(locks)
}

// shareK adds the stream-K step of the blocks of D, and the workspace of the block that
// needs the most.
func (c *candidate) shareK(p Problem, dev device.Capabilities) {
	var largest streamK
	var workspace, moved int64
	for _, b := range blocks(p.M, c.rows, p.Symmetric) {
		q := p
		q.M, q.N = b.rows, p.N-b.col
		d := streamKOf(q, c.kernel, dev)
		bytes := d.bytes(c.kernel)
		moved += 2 * bytes
		if bytes > workspace {
			workspace, largest = bytes, d
		}
	}
	if workspace == 0 {
		return
	}
	detail := fmt.Sprintf("of %d tiles over %d CTAs by stream-K", largest.sharedTiles, largest.ctas)
	if c.rows > 0 {
		detail += ", in the block that shares the most"
	}
	c.workspace += workspace
	c.steps = append(c.steps, Step{Kind: Split, Operand: "k", Detail: detail, Bytes: moved})
}
