package cpu

import (
	"math/bits"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sortedKeys2 is an unsigned key type of 4 or 8 bytes and its AVX2 instructions. AVX2 compares signed numbers only.
type sortedKeys2 struct {
	name  string
	size  int
	lanes int // lanes of a vector
	sign  operand.Mem

	broadcast, greater, extend func(...operand.Op)
	signBits                   func(from, to operand.Op) // VMOVMSKPS or VMOVMSKPD
	maskMove                   func(from, mask, to operand.Op)
	infinity, nan, signed      uint64 // for the floating-point type: its infinity, the key of NaN, the sign bit
}

// sortLoopsAVX2 writes the partition, the sorting networks and the conversions of keys with AVX2.
func sortLoopsAVX2(c *build.Context) {
	exist := existingLanes(c)
	for _, k := range []sortedKeys2{
		{
			name: "32", size: 4, lanes: 8, broadcast: c.VPBROADCASTD, greater: c.VPCMPGTD, signBits: c.VMOVMSKPS,
			extend: c.VPMOVSXBD, maskMove: c.VPMASKMOVD, infinity: 0x7f800000, nan: 0xffc00000, signed: 1 << 31,
		},
		{
			name: "64", size: 8, lanes: 4, broadcast: c.VPBROADCASTQ, greater: c.VPCMPGTQ, signBits: c.VMOVMSKPD,
			extend: c.VPMOVSXBQ, maskMove: c.VPMASKMOVQ, infinity: 0x7ff << 52, nan: 0xfff8 << 48, signed: 1 << 63,
		},
	} {
		k.sign = k.repeated(c, "sign", k.signed)
		k.partition(c)
		for _, vectors := range []int{4, 8, 16} {
			k.network(c, vectors, exist)
		}
		k.floatKeys(c)
	}
}

// repeated returns a constant of 32 bytes that has the number v in each lane.
func (k sortedKeys2) repeated(c *build.Context, name string, v uint64) operand.Mem {
	if k.size == 4 {
		return asm.Constant(c, name+k.name, k.lanes, operand.U32(v))
	}
	return asm.Constant(c, name+k.name, k.lanes, operand.U64(v))
}

// partition writes the keys below the pivot from src on and the others up to the end of high. Each time a whole vector,
// with the keys below the pivot first, is stored at both places. Its surplus lanes overwrite keys of src that have
// already been read, and keys of high that are written later. The first vector stays in a register until all others are
// partitioned, so that both places always have room for a vector.
func (k sortedKeys2) partition(c *build.Context) {
	table := k.orders(c)
	asm.Function(c, "partition"+k.name+"AVX2")
	p := asm.Load(c, "src", "high", "n")
	src, high, n := p[0], p[1], p[2]
	pivot, sign, orders := c.YMM(), c.YMM(), c.GP64()
	c.VMOVDQU(k.sign, sign)
	k.broadcast(asm.Parameter(c, "pivot"), pivot)
	c.VPXOR(sign, pivot, pivot)
	c.LEAQ(table, orders)
	low, begin := c.GP64(), c.GP64()
	c.MOVQ(src, low)
	c.MOVQ(src, begin)
	// high is the end of the keys that are not written yet.
	c.LEAQ(asm.At(high, 0).Idx(n, uint8(k.size)), high)
	// below returns a bit mask of the lanes whose keys are less than the pivot.
	below := func(v reg.Register) reg.GPVirtual {
		t, set := c.YMM(), c.GP64()
		c.VPXOR(sign, v, t)
		k.greater(t, pivot, t)
		k.signBits(t, set.As32())
		return set
	}
	// put stores the lanes of a set first and the other lanes after them.
	put := func(v, set reg.Register, to operand.Mem) {
		t := c.YMM()
		c.VPMOVZXBD(asm.At(orders, 0).Idx(set, 8), t)
		c.VPERMD(v, t, t)
		c.VMOVDQU(t, to)
	}
	first := c.YMM()
	c.VMOVDQU(asm.At(src, 0), first)
	k.partitionRest(c, src, high, low, n, below, put)
	every := func(v reg.Register) {
		set, t := below(v), c.YMM()
		c.VPMOVZXBD(asm.At(orders, 0).Idx(set, 8), t)
		c.POPCNTQ(set, set)
		c.VPERMD(v, t, t)
		c.VMOVDQU(t, asm.At(low, 0))
		c.VMOVDQU(t, asm.At(high, -32))
		c.LEAQ(asm.At(low, 0).Idx(set, uint8(k.size)), low)
		c.LEAQ(asm.At(high, -32).Idx(set, uint8(k.size)), high)
	}
	asm.Countdown(c, n, k.lanes, func() {
		v := c.YMM()
		c.VMOVDQU(asm.At(src, 0), v)
		c.ADDQ(asm.Number(32), src)
		every(v)
	})
	every(first)
	c.SUBQ(begin, low)
	c.SHRQ(operand.U8(bits.TrailingZeros(uint(k.size))), low)
	c.MOVQ(low, asm.Result(c))
	asm.Return(c)
}

// partitionRest partitions the keys after the first vector that make the number of the others a multiple of a vector's
// lanes. src and n are then those of the others.
func (k sortedKeys2) partitionRest(c *build.Context, src, high, low, n reg.GPVirtual, below func(reg.Register) reg.GPVirtual, put func(v, set reg.Register, to operand.Mem)) {
	v, rest, exist := c.YMM(), c.GP64(), c.GP64()
	c.MOVQ(n, rest)
	c.ANDQ(asm.Number(k.lanes-1), rest)
	c.SUBQ(rest, n)
	c.SUBQ(asm.Number(k.lanes), n)
	c.VMOVDQU(asm.At(src, 32), v)
	c.LEAQ(asm.At(src, 32).Idx(rest, uint8(k.size)), src)
	// The lanes from rest on do not count: they follow the low keys at low, and precede the high keys at high.
	c.MOVQ(rest, reg.RCX)
	c.MOVQ(operand.I32(-1), exist)
	c.SHLQ(reg.CL, exist)
	set, other := below(v), c.GP64()
	c.MOVQ(set, other)
	c.ORQ(exist, other)
	c.ANDQ(asm.Number(1<<k.lanes-1), other)
	c.NOTQ(exist)
	c.ANDQ(exist, set)
	put(v, set, asm.At(low, 0))
	put(v, other, asm.At(high, -32))
	c.POPCNTQ(set, set)
	c.LEAQ(asm.At(low, 0).Idx(set, uint8(k.size)), low)
	c.SUBQ(rest, set)
	c.LEAQ(asm.At(high, 0).Idx(set, uint8(k.size)), high)
}

// orders returns, for each set of a vector's lanes, the order of its 4-byte parts that moves these lanes to the front, a byte a
// part.
func (k sortedKeys2) orders(c *build.Context) operand.Mem {
	if k.lanes == 8 {
		return partitionOrders(c)
	}
	var orders []operand.Constant
	for set := range 16 {
		var order uint64
		at := 0
		for _, chosen := range []int{1, 0} {
			for lane := range 4 {
				if set>>lane&1 == chosen {
					order |= uint64(2*lane|(2*lane+1)<<8) << (16 * at)
					at++
				}
			}
		}
		orders = append(orders, operand.U64(order))
	}
	return asm.Constant(c, "partitionPairs", 1, orders...)
}

// floatKeys writes the conversions between floating-point numbers and their keys, as floatKeys with AVX-512.
func (k sortedKeys2) floatKeys(c *build.Context) {
	infinities, nans := k.repeated(c, "infinity", k.infinity), k.repeated(c, "nan", k.nan)
	begin := func(name string) (dst, src, n reg.Register, sign reg.VecVirtual) {
		asm.Function(c, name+k.name+"AVX2")
		p := asm.Load(c, "dst", "src", "n")
		sign = c.YMM()
		c.VMOVDQU(k.sign, sign)
		return p[0], p[1], p[2], sign
	}

	dst, src, n, sign := begin("keysOf")
	infinity, nan, zero := c.YMM(), c.YMM(), c.YMM()
	c.VMOVDQU(infinities, infinity)
	c.VMOVDQU(nans, nan)
	c.VPXOR(zero, zero, zero)
	asm.For(c, n, k.lanes, func(i reg.Register) {
		v, flip, isNaN := c.YMM(), c.YMM(), c.YMM()
		c.VMOVDQU(asm.At(src, 0).Idx(i, uint8(k.size)), v)
		k.greater(v, zero, flip)
		c.VPOR(sign, flip, flip)
		c.VPANDN(v, sign, isNaN)
		k.greater(infinity, isNaN, isNaN)
		c.VPXOR(v, flip, flip)
		c.VPBLENDVB(isNaN, nan, flip, flip)
		c.VMOVDQU(flip, asm.At(dst, 0).Idx(i, uint8(k.size)))
	})
	asm.Return(c)

	dst, src, n, sign = begin("elementsOf")
	ones := c.YMM()
	c.VPCMPEQD(ones, ones, ones)
	asm.For(c, n, k.lanes, func(i reg.Register) {
		v, flip := c.YMM(), c.YMM()
		c.VMOVDQU(asm.At(src, 0).Idx(i, uint8(k.size)), v)
		k.greater(ones, v, flip)
		c.VPOR(sign, flip, flip)
		c.VPXOR(v, flip, flip)
		c.VMOVDQU(flip, asm.At(dst, 0).Idx(i, uint8(k.size)))
	})
	asm.Return(c)
}
