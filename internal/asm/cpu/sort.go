package cpu

import (
	"fmt"
	"math/bits"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sortedKeys is an unsigned key type of 4 or 8 bytes and its AVX-512 instructions.
type sortedKeys struct {
	name  string
	size  int
	lanes int // lanes of a vector

	move, min, max, subtract func(...operand.Op)
	compare, compareSigned   func(...operand.Op)
	permute, permuteTwo      func(...operand.Op)
	broadcast                func(...operand.Op)
	compress                 func(from, lanes, to operand.Op) // it also clears the other lanes
}

// sortLoops writes the partition, the sorting networks and the conversions of keys.
func sortLoops(c *build.Context) {
	for _, k := range []sortedKeys{
		{
			name: "32", size: 4, lanes: 16,
			move: c.VMOVDQU32, min: c.VPMINUD, max: c.VPMAXUD, subtract: c.VPSUBD,
			compare: c.VPCMPUD, compareSigned: c.VPCMPD, compress: c.VPCOMPRESSD_Z, permute: c.VPERMD, permuteTwo: c.VPERMT2D, broadcast: c.VPBROADCASTD,
		},
		{
			name: "64", size: 8, lanes: 8,
			move: c.VMOVDQU64, min: c.VPMINUQ, max: c.VPMAXUQ, subtract: c.VPSUBQ,
			compare: c.VPCMPUQ, compareSigned: c.VPCMPQ, compress: c.VPCOMPRESSQ_Z, permute: c.VPERMQ, permuteTwo: c.VPERMT2Q, broadcast: c.VPBROADCASTQ,
		},
	} {
		k.partition(c)
		for _, keys := range []int{32, 64, 128} {
			k.network(c, keys)
		}
	}
	floatKeys(c)
}

// Predicates of VPCMPUD and the like.
const (
	lessInteger    = 1
	greaterInteger = 6
)

// numbers returns the constant 0, 1, … of a vector's lanes. With xor it returns each of these numbers xor that.
func (k sortedKeys) numbers(c *build.Context, name string, xor int) operand.Mem {
	var values []operand.Constant
	for i := range k.lanes {
		if k.size == 4 {
			values = append(values, operand.U32(i^xor))
		} else {
			values = append(values, operand.U64(i^xor))
		}
	}
	return asm.Constant(c, name+k.name, 1, values...)
}

// partition writes the keys below the pivot from src on, in order, and the others up to the end of high. Each time a
// whole vector is stored at both places: its surplus lanes overwrite keys of src that have already been read, and keys
// of high that are written later.
func (k sortedKeys) partition(c *build.Context) {
	var table operand.Mem
	if k.lanes == 8 {
		table = partitionOrders(c)
	} else {
		table = k.numbers(c, "partitionLanes", 0)
	}
	asm.Function(c, "partition"+k.name+"AVX512")
	p := asm.Load(c, "src", "high", "n")
	src, high, n := p[0], p[1], p[2]
	pivot, lanes, orders := c.ZMM(), c.ZMM(), c.GP64()
	k.broadcast(asm.Parameter(c, "pivot"), pivot)
	if k.lanes == 8 {
		c.LEAQ(table, orders)
	} else {
		k.move(table, lanes)
	}
	low, begin := c.GP64(), c.GP64()
	c.MOVQ(src, low)
	c.MOVQ(src, begin)
	// high is the end of the keys that are not written yet.
	c.LEAQ(asm.At(high, 0).Idx(n, uint8(k.size)), high)
	isLow, isHigh := c.K(), c.K()
	count := c.GP64()
	asm.Countdown(c, n, k.lanes, func() {
		v, below, above := c.ZMM(), c.ZMM(), c.ZMM()
		k.move(asm.At(src, 0), v)
		c.ADDQ(asm.Number(64), src)
		k.compare(operand.Imm(lessInteger), pivot, v, isLow)
		c.KMOVW(isLow, count.As32())
		if k.lanes == 8 {
			c.VPMOVZXBQ(asm.At(orders, 0).Idx(count, 8), below)
			c.POPCNTQ(count, count)
			k.permute(v, below, below)
			above = below
		} else {
			c.KNOTW(isLow, isHigh)
			c.POPCNTQ(count, count)
			k.compress(v, isLow, below)
			k.compress(v, isHigh, above)
			turn := c.ZMM() // the lanes so that the last key is in the last one
			k.broadcast(count.As32(), turn)
			k.subtract(turn, lanes, turn)
			k.permute(above, turn, above)
		}
		k.move(below, asm.At(low, 0))
		k.move(above, asm.At(high, -64))
		c.LEAQ(asm.At(low, 0).Idx(count, uint8(k.size)), low)
		c.LEAQ(asm.At(high, -64).Idx(count, uint8(k.size)), high)
	})
	// The last keys, fewer than a vector.
	c.ADDQ(asm.Number(k.lanes), n)
	c.JZ(operand.LabelRef("done"))
	v, rest := c.ZMM(), c.K()
	c.MOVQ(n, reg.RCX)
	asm.FirstBits(c, reg.RCX, rest)
	if k.size == 4 {
		c.VMOVDQU32_Z(asm.At(src, 0), rest, v)
	} else {
		c.VMOVDQU64_Z(asm.At(src, 0), rest, v)
	}
	k.compare(operand.Imm(lessInteger), pivot, v, isLow)
	c.KANDNW(rest, isLow, isHigh)
	c.KANDW(rest, isLow, isLow)
	c.KMOVW(isLow, count.As32())
	c.POPCNTQ(count, count)
	c.SUBQ(count, n) // the number of high keys
	c.NEGQ(n)
	c.LEAQ(asm.At(high, 0).Idx(n, uint8(k.size)), high)
	if k.size == 4 {
		c.VPCOMPRESSD(v, isLow, asm.At(low, 0))
		c.VPCOMPRESSD(v, isHigh, asm.At(high, 0))
	} else {
		c.VPCOMPRESSQ(v, isLow, asm.At(low, 0))
		c.VPCOMPRESSQ(v, isHigh, asm.At(high, 0))
	}
	c.LEAQ(asm.At(low, 0).Idx(count, uint8(k.size)), low)
	c.Label("done")
	c.SUBQ(begin, low)
	c.SHRQ(operand.U8(bits.TrailingZeros(uint(k.size))), low)
	c.MOVQ(low, asm.Result(c))
	asm.Return(c)
}

// partitionOrders returns a table for vectors of eight lanes: for each set of lanes, these lanes and then the others, a
// byte each.
func partitionOrders(c *build.Context) operand.Mem {
	var orders []operand.Constant
	for set := range 256 {
		var order uint64
		at := 0
		for _, chosen := range []int{1, 0} {
			for lane := range 8 {
				if set>>lane&1 == chosen {
					order |= uint64(lane) << (8 * at)
					at++
				}
			}
		}
		orders = append(orders, operand.U64(order))
	}
	return asm.Constant(c, "partitionOrders", 1, orders...)
}

// network writes a sorting network of a number of keys, a power of two and at least two vectors. Key i lies in lane i/R
// of vector i%R, where R is the number of vectors, so that most comparisons are of whole vectors. Lanes are sorted
// first, by odd-even merges, and then merged bitonically (Batcher, 1968). Each bitonic merge begins with a comparison
// of every key with its mirror image, so that all comparisons are in the same direction. Missing keys are replaced by
// the largest key.
func (k sortedKeys) network(c *build.Context, keys int) {
	name := fmt.Sprintf("%sx%d", k.name, keys)
	numbers, mirror := k.numbers(c, "numbers"+name, 0), k.numbers(c, "mirror"+name, k.lanes-1)
	half, low, high := k.numbers(c, "half"+name, 7), k.interleaved(c, "low"+name, 0), k.interleaved(c, "high"+name, k.lanes/2)
	asm.Function(c, "sort"+name+"AVX512")
	p := asm.Load(c, "dst", "src", "n")
	all := asm.Vectors(64, 0, 32)
	n := network{sortedKeys: k, c: c, vectors: all[:keys/k.lanes], free: all[16:20], mirror: all[20], half: all[21]}
	lows, highs, lanes, size, step := all[22], all[23], all[24], all[25], all[26]
	k.move(mirror, n.mirror)
	k.move(half, n.half)
	k.move(low, lows)
	k.move(high, highs)
	stepped := c.GP64()
	c.MOVQ(operand.I32(-k.lanes), stepped)
	if k.size == 4 {
		k.broadcast(stepped.As32(), step)
		k.broadcast(p[2].As32(), size)
	} else {
		k.broadcast(stepped, step)
		k.broadcast(p[2], size)
	}
	// eachVector calls body with an opmask of the lanes of vector r whose keys exist.
	eachVector := func(body func(r int, exists reg.Register)) {
		k.move(numbers, lanes)
		for r := range n.vectors {
			if r > 0 {
				k.subtract(step, lanes, lanes)
			}
			k.compareSigned(operand.Imm(lessInteger), size, lanes, reg.K1)
			body(r, reg.K1)
		}
	}
	eachVector(func(r int, exists reg.Register) {
		v := n.vectors[r]
		c.VPTERNLOGD(operand.U8(0xff), v, v, v)
		k.move(asm.At(p[1], 64*r), exists, v)
	})
	for i, lanes := range []int{0xaaaa, 0xcccc, 0xf0f0, 0xff00} {
		set := c.GP32()
		c.MOVL(operand.U32(lanes), set)
		c.KMOVW(set, upperLanes[1<<i])
	}
	n.sortLanes()
	for width := 2; width <= k.lanes; width *= 2 {
		n.mirrored(width)
		for apart := width / 4; apart > 0; apart /= 2 {
			n.within(apart)
		}
		for apart := len(n.vectors) / 2; apart > 0; apart /= 2 {
			for r := range n.vectors {
				if r&apart == 0 {
					n.order(r, r+apart)
				}
			}
		}
	}
	n.transpose(lows, highs)
	eachVector(func(r int, exists reg.Register) { k.move(n.vectors[r], exists, asm.At(p[0], 64*r)) })
	asm.Return(c)
}

// interleaved returns the constant from, lanes + from, from + 1, lanes + from + 1, …, which interleaves lanes of two
// vectors.
func (k sortedKeys) interleaved(c *build.Context, name string, from int) operand.Mem {
	var values []operand.Constant
	for i := range k.lanes {
		v := from + i/2 + i%2*k.lanes
		if k.size == 4 {
			values = append(values, operand.U32(v))
		} else {
			values = append(values, operand.U64(v))
		}
	}
	return asm.Constant(c, name, 1, values...)
}

// upperLanes are opmasks of the lanes i with a bit of i set.
var upperLanes = map[int]reg.Register{1: reg.K2, 2: reg.K3, 4: reg.K4, 8: reg.K5}

// network is the state of a sorting network while it is written. A result is written to a free register, which then
// replaces the register of an operand.
type network struct {
	sortedKeys
	c             *build.Context
	vectors, free []reg.VecPhysical
	mirror, half  reg.VecPhysical // indices that reverse all lanes, and eight of them
}

// order moves the smaller keys of two vectors to the first one, and the larger ones to the second.
func (n *network) order(a, b int) {
	x, y := n.vectors[a], n.vectors[b]
	n.max(x, y, n.free[0])
	n.min(x, y, x)
	n.vectors[b], n.free[0] = n.free[0], y
}

// sortLanes sorts each lane separately, over all vectors.
func (n *network) sortLanes() {
	count := len(n.vectors)
	for width := 1; width < count; width *= 2 {
		for apart := width; apart > 0; apart /= 2 {
			for first := apart % width; first+apart < count; first += 2 * apart {
				for r := first; r < first+apart && r+apart < count; r++ {
					if r/(2*width) == (r+apart)/(2*width) {
						n.order(r, r+apart)
					}
				}
			}
		}
	}
}

// swapped sets lane i of the vector `to` to lane i^xor of the vector from, for all i.
func (n *network) swapped(xor int, from, to reg.VecPhysical) {
	switch bytes := xor * n.size; {
	case bytes == 4:
		n.c.VPSHUFD(operand.U8(0xb1), from, to)
	case bytes == 8:
		n.c.VPSHUFD(operand.U8(0x4e), from, to)
	case bytes == 12:
		n.c.VPSHUFD(operand.U8(0x1b), from, to)
	case bytes == 16:
		n.c.VSHUFI64X2(operand.U8(0xb1), from, from, to)
	case bytes == 24:
		n.c.VPERMQ(operand.U8(0x1b), from, to)
	case bytes == 32:
		n.c.VSHUFI64X2(operand.U8(0x4e), from, from, to)
	case xor == n.lanes-1:
		n.permute(from, n.mirror, to)
	case xor == 7:
		n.permute(from, n.half, to)
	default:
		panic("no such exchange of lanes")
	}
}

// mirrored begins the merge of groups of lanes: it compares each key with its mirror image in the group.
func (n *network) mirrored(width int) {
	upper := upperLanes[width/2]
	for r := range len(n.vectors) / 2 {
		last := len(n.vectors) - 1 - r
		a, b := n.vectors[r], n.vectors[last]
		n.swapped(width-1, a, n.free[0])
		n.swapped(width-1, b, n.free[1])
		n.min(n.free[1], a, n.free[2])
		n.max(n.free[1], a, upper, n.free[2])
		n.min(n.free[0], b, n.free[3])
		n.max(n.free[0], b, upper, n.free[3])
		n.vectors[r], n.vectors[last], n.free[2], n.free[3] = n.free[2], n.free[3], a, b
	}
}

// within compares the lanes i and i^apart of every vector.
func (n *network) within(apart int) {
	for r, v := range n.vectors {
		n.swapped(apart, v, n.free[0])
		n.min(n.free[0], v, n.free[1])
		n.max(n.free[0], v, upperLanes[apart], n.free[1])
		n.vectors[r], n.free[1] = n.free[1], v
	}
}

// transpose arranges the keys in the order of memory: each round interleaves the first half of the vectors with the
// second one.
func (n *network) transpose(lows, highs reg.Register) {
	count := len(n.vectors)
	for range bits.TrailingZeros(uint(count)) {
		next := make([]reg.VecPhysical, count)
		for r := range count / 2 {
			a, b := n.vectors[r], n.vectors[r+count/2]
			n.c.VMOVDQA64(a, n.free[0])
			n.permuteTwo(b, lows, a)
			n.permuteTwo(b, highs, n.free[0])
			next[2*r], next[2*r+1] = a, n.free[0]
			n.free[0] = b
		}
		copy(n.vectors, next)
	}
}
