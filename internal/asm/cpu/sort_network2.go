package cpu

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// mostMissing is the largest number of keys that a network lacks.
const mostMissing = 64

// existingLanes returns mostMissing bytes of ones, then as many zeros: the lanes that exist of the vectors at the end of a network.
func existingLanes(c *build.Context) operand.Mem {
	var values []operand.Constant
	for i := range mostMissing / 4 {
		values = append(values, operand.U64(^uint64(0)*uint64(1-i/(mostMissing/8))))
	}
	return asm.Constant(c, "existing", 1, values...)
}

// network2 builds a sorting network as a list of steps on vectors of keys. If there are more vectors than registers, some
// of them are in memory between two steps.
type network2 struct {
	sortedKeys2
	c     *build.Context
	count int // number of vectors
	steps []networkStep
}

// networkStep is an operation on at most two vectors. write gets their registers first, and after these two free ones. It
// exchanges registers in the slice so that the results are in the vectors' places.
type networkStep struct {
	vectors []int
	write   func(r []reg.VecPhysical)
}

// network writes the sorting network of a number of vectors. It is that of sortedKeys.network, but the lanes of two
// vectors are compared at a time: these are split into the lower and the upper of the lanes to compare, and joined
// again. Calls have more than half of the keys, because a smaller network sorts fewer. The network of 4 vectors takes any number.
func (k sortedKeys2) network(c *build.Context, vectors int, exist operand.Mem) {
	n := network2{sortedKeys2: k, c: c, count: vectors}
	sure := vectors / 2 // vectors whose keys all exist
	if vectors == 4 {
		sure = 0
	}
	asm.FrameFunction(c, fmt.Sprintf("sort%sx%dAVX2", k.name, vectors*k.lanes))
	p := asm.Load(c, "dst", "src", "n")
	dst, src, left, lanes := p[0], p[1], p[2], c.GP64()
	if sure > 0 {
		c.SUBQ(asm.Number(sure*k.lanes), left)
	}
	c.LEAQ(exist.Offset(mostMissing), lanes)
	c.SUBQ(left, lanes)
	for r := range n.count {
		n.load(r, sure, asm.At(src, 32*r), asm.At(lanes, (r-sure)*k.lanes))
	}
	n.sort()
	last := reg.Y0
	var labels []string
	var partial []reg.VecPhysical
	for j, v := range n.transpose() {
		n.one(v, func(r []reg.VecPhysical) {
			if k.size == 8 {
				c.VPXOR(k.sign, r[0], r[0])
			}
			if j >= sure {
				labels, partial = append(labels, fmt.Sprint("partial", j)), append(partial, r[0])
				c.SUBQ(asm.Number(k.lanes), left)
				c.JLT(operand.LabelRef(labels[len(labels)-1]))
			}
			c.VMOVDQU(r[0], asm.At(dst, 32*j))
		})
	}
	n.run()
	asm.Return(c)
	for i, label := range labels {
		c.Label(label)
		c.VMOVDQU(partial[i], last)
		c.ADDQ(asm.Number(32*(sure+i)), dst)
		if i < len(labels)-1 {
			c.JMP(operand.LabelRef("partial"))
		}
	}
	c.Label("partial")
	c.ADDQ(asm.Number(k.lanes), left)
	c.JZ(operand.LabelRef("done"))
	c.LEAQ(exist.Offset(mostMissing), lanes)
	c.SUBQ(left, lanes)
	k.extend(asm.At(lanes, 0), reg.Y1)
	k.maskMove(last, reg.Y1, asm.At(dst, 0))
	c.Label("done")
	asm.Return(c)
}

func (n *network2) one(v int, write func(r []reg.VecPhysical)) {
	n.steps = append(n.steps, networkStep{[]int{v}, write})
}

func (n *network2) two(a, b int, write func(r []reg.VecPhysical)) {
	n.steps = append(n.steps, networkStep{[]int{a, b}, write})
}

// load loads a vector. From the vector sure on, missing keys are replaced by the largest key.
func (n *network2) load(v, sure int, from, exist operand.Mem) {
	n.one(v, func(r []reg.VecPhysical) {
		if v < sure {
			n.c.VMOVDQU(from, r[0])
		} else {
			n.extend(exist, r[1])
			n.maskMove(from, r[1], r[0])
			n.c.VPCMPEQD(r[2], r[2], r[2])
			n.c.VPXOR(r[2], r[1], r[1])
			n.c.VPOR(r[1], r[0], r[0])
		}
		if n.size == 8 {
			n.c.VPXOR(n.sign, r[0], r[0])
		}
	})
}

// sort sorts all vectors: key i is in lane i/count of vector i%count.
func (n *network2) sort() {
	n.sortLanes()
	for width := 2; width <= n.lanes; width *= 2 {
		for v := range n.count / 2 {
			n.two(v, n.count-1-v, func(r []reg.VecPhysical) { n.mirrored(width, r) })
		}
		for apart := width / 4; apart > 0; apart /= 2 {
			for v := 0; v < n.count; v += 2 {
				n.two(v, v+1, func(r []reg.VecPhysical) { n.within(apart, r) })
			}
		}
		for apart := n.count / 2; apart > 0; apart /= 2 {
			for v := range n.count {
				if v&apart == 0 {
					n.two(v, v+apart, n.order)
				}
			}
		}
	}
}

// sortLanes sorts each lane separately, over all vectors, by odd-even merges.
func (n *network2) sortLanes() {
	for width := 1; width < n.count; width *= 2 {
		for apart := width; apart > 0; apart /= 2 {
			for first := apart % width; first+apart < n.count; first += 2 * apart {
				for v := first; v < first+apart && v+apart < n.count; v++ {
					if v/(2*width) == (v+apart)/(2*width) {
						n.two(v, v+apart, n.order)
					}
				}
			}
		}
	}
}

// order moves the smaller keys of two vectors to the first one, and the larger ones to the second.
func (n *network2) order(r []reg.VecPhysical) {
	if n.size == 4 {
		n.c.VPMINUD(r[1], r[0], r[2])
		n.c.VPMAXUD(r[1], r[0], r[1])
	} else {
		n.greater(r[1], r[0], r[3])
		n.c.VPBLENDVB(r[3], r[1], r[0], r[2])
		n.c.VPBLENDVB(r[3], r[0], r[1], r[1])
	}
	r[0], r[2] = r[2], r[0]
}

// mirrored begins the merge of groups of lanes: it compares each key with its mirror image in the group.
func (n *network2) mirrored(width int, r []reg.VecPhysical) {
	upper := map[int]uint8{8: 0xaa, 16: 0xcc, 32: 0xf0}[width*n.size] // mask of the upper half of each group, in parts of 4 bytes
	n.reverse(width, r[1])
	n.order(r)
	n.c.VPBLENDD(operand.U8(upper), r[1], r[0], r[2])
	n.c.VPBLENDD(operand.U8(upper), r[0], r[1], r[1])
	r[0], r[2] = r[2], r[0]
	n.reverse(width, r[1])
}

// reverse reverses the order of lanes in each group.
func (n *network2) reverse(width int, v reg.VecPhysical) {
	if width == n.lanes {
		n.c.VPERM2I128(operand.U8(1), v, v, v)
	}
	order := uint8(0x1b)
	switch {
	case n.size == 8:
		order = 0x4e
	case width == 2:
		order = 0xb1
	}
	n.c.VPSHUFD(operand.U8(order), v, v)
}

// within compares the lanes i and i^apart of two vectors.
func (n *network2) within(apart int, r []reg.VecPhysical) {
	if apart*n.size == 8 {
		pairwise(n.c.VPUNPCKLQDQ, n.c.VPUNPCKHQDQ, r)
		n.order(r)
		pairwise(n.c.VPUNPCKLQDQ, n.c.VPUNPCKHQDQ, r)
		return
	}
	shuffle := func(order uint8) func(...operand.Op) {
		return func(of ...operand.Op) { n.c.VSHUFPS(operand.U8(order), of[0], of[1], of[2]) }
	}
	pairwise(shuffle(0x88), shuffle(0xdd), r)
	n.order(r)
	pairwise(n.c.VPUNPCKLDQ, n.c.VPUNPCKHDQ, r)
}

// pairwise replaces two vectors by the results of two instructions on both.
func pairwise(low, high func(...operand.Op), r []reg.VecPhysical) {
	low(r[1], r[0], r[2])
	high(r[1], r[0], r[1])
	r[0], r[2] = r[2], r[0]
}

// transpose puts the sorted keys in ascending order along the vectors. It returns the numbers of the vectors in that order.
func (n *network2) transpose() []int {
	halves := func(which uint8) func(...operand.Op) {
		return func(of ...operand.Op) { n.c.VPERM2I128(operand.U8(which), of[0], of[1], of[2]) }
	}
	interleave := func(distance int, low, high func(...operand.Op)) {
		for v := range n.count {
			if v&distance == 0 {
				n.two(v, v+distance, func(r []reg.VecPhysical) { pairwise(low, high, r) })
			}
		}
	}
	distance := 1
	if n.size == 4 {
		interleave(distance, n.c.VPUNPCKLDQ, n.c.VPUNPCKHDQ)
		distance = 2
	}
	interleave(distance, n.c.VPUNPCKLQDQ, n.c.VPUNPCKHQDQ)
	interleave(min(2*distance, n.count/2), halves(0x20), halves(0x31))
	var order []int
	for lane := range min(n.lanes, n.count) {
		first := lane
		if n.size == 4 && n.count > 4 { // the second interleaving exchanges bits of the number of the lane
			first = lane&4 | lane&1<<1 | lane>>1&1
		}
		for v := first; v < n.count; v += n.lanes {
			order = append(order, v)
		}
	}
	return order
}

// run writes all steps and allocates their registers. A step loads an operand that was spilled to the stack. If no register
// is free, run spills the vector whose next use is the furthest away.
func (n *network2) run() {
	free := asm.Vectors(32, 0, 16)
	where := make(map[int]reg.VecPhysical) // without the vectors in memory
	slots := make(map[int]operand.Mem)
	for i, s := range n.steps {
		missing := 0
		for _, v := range s.vectors {
			if where[v] == nil {
				missing++
			}
		}
		for len(free) < missing+2 {
			v := n.neededLast(i, where)
			if _, ok := slots[v]; !ok {
				slots[v] = n.c.AllocLocal(32)
			}
			n.c.VMOVDQU(where[v], slots[v])
			free = append(free, where[v])
			delete(where, v)
		}
		var r []reg.VecPhysical
		for _, v := range s.vectors {
			if where[v] == nil {
				where[v], free = free[0], free[1:]
				if m, ok := slots[v]; ok {
					n.c.VMOVDQU(m, where[v])
				}
			}
			r = append(r, where[v])
		}
		r = append(r, free...)
		s.write(r)
		for j, v := range s.vectors {
			where[v] = r[j]
		}
		free = r[len(s.vectors):]
	}
}

// neededLast returns the vector in a register whose next step, from number i on, is the last.
func (n *network2) neededLast(i int, where map[int]reg.VecPhysical) int {
	var seen []int
	for _, s := range n.steps[i:] {
		for _, v := range s.vectors {
			if where[v] != nil && !slices.Contains(seen, v) {
				seen = append(seen, v)
			}
		}
	}
	for v := range n.count {
		if where[v] != nil && !slices.Contains(seen, v) {
			return v
		}
	}
	return seen[len(seen)-1]
}
