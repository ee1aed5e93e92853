package quantum

import "math/bits"

// forest is a union-find structure over connected wires.
type forest []int

func newForest(n int) forest {
	f := make(forest, n)
	for i := range f {
		f[i] = i
	}
	return f
}

func (f forest) root(i int) int {
	for f[i] != i {
		f[i] = f[f[i]]
		i = f[i]
	}
	return i
}

func (f forest) join(i, j int) { f[f.root(max(f.root(i), f.root(j)))] = min(f.root(i), f.root(j)) }

// groups lists the wires of each tree, in ascending order.
func (f forest) groups() (groups [][]int) {
	at := map[int]int{}
	for i := range f {
		r := f.root(i)
		g, ok := at[r]
		if !ok {
			g = len(groups)
			at[r] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	return groups
}

// gateGroups returns the groups of wires that two-qubit gates connect, and the gates of
// each group. A circuit whose gates never join two groups is U tensor V on them, and starts
// in |0> tensor |0>. So its state is a product, its inner products are products of those of
// the groups, and K is the element-wise product of the groups' kernels.
func gateGroups(gates []gate, qubits int) (groups [][]int, of [][]gate) {
	f := newForest(qubits)
	for _, g := range gates {
		if g.b >= 0 {
			f.join(g.a, g.b)
		}
	}
	groups = f.groups()
	at := make([]int, qubits)
	for i, g := range groups {
		for _, w := range g {
			at[w] = i
		}
	}
	of = make([][]gate, len(groups))
	for _, g := range gates {
		of[at[g.a]] = append(of[at[g.a]], g)
	}
	return groups, of
}

// split divides a block into parts that its steps do not connect; see gateGroups.
func (b *block) split() []*block {
	groups := b.connected()
	if len(groups) == 1 {
		return []*block{b}
	}
	at, within := make([]int, len(b.wires)), make([]int, len(b.wires))
	parts := make([]*block, len(groups))
	for i, g := range groups {
		parts[i] = &block{}
		for j, w := range g {
			at[w], within[w] = i, j
			parts[i].wires = append(parts[i].wires, b.wires[w])
		}
	}
	parts[0].phase = b.phase
	move := func(mask uint64) (m uint64) {
		for ; mask != 0; mask &= mask - 1 {
			m |= 1 << within[bits.TrailingZeros64(mask)]
		}
		return m
	}
	for _, s := range b.steps {
		switch s.kind {
		case stepLocal, stepControlled:
			c := s.clone()
			c.wire, c.control = within[s.wire], within[s.control]
			p := parts[at[s.wire]]
			p.steps = append(p.steps, c)
		case stepDiagonal:
			for _, t := range s.terms {
				p := parts[at[bits.TrailingZeros64(t.m1)]]
				p.addPhase(term{move(t.m1), move(t.m2), t.angle})
			}
		case stepLinear:
			for _, g := range s.cx {
				p := parts[at[g[0]]]
				p.addCX(within[g[0]], within[g[1]])
			}
		}
	}
	return parts
}

// connected returns the groups of wires that the block's steps connect.
func (b *block) connected() [][]int {
	f := newForest(len(b.wires))
	join := func(mask uint64) {
		for m := mask & (mask - 1); m != 0; m &= m - 1 {
			f.join(bits.TrailingZeros64(mask), bits.TrailingZeros64(m))
		}
	}
	for _, s := range b.steps {
		switch s.kind {
		case stepControlled:
			join(s.wires())
		case stepDiagonal:
			for _, t := range s.terms {
				join(t.wires())
			}
		case stepLinear:
			for _, g := range s.cx {
				join(1<<g[0] | 1<<g[1])
			}
		}
	}
	return f.groups()
}
