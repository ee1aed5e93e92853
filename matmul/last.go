package matmul

import (
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// If M is a few rows more than a multiple of the tile, these last rows need a whole row of
// tiles, which can cost one more wave. For example, 4097 cubed is 34 x 33 tiles of 128 x
// 128 in pairs, nine waves on 132 multiprocessors, and its first 4096 rows are eight waves.
// The last rows are then computed as a separate product, by the kernel that is fastest for
// so few rows. It reads the same copies of the operands as the other kernel, and takes
// about the time to read B.
const (
	maxLastRows    = 16   // rows of the narrowest tile
	minSavedCycles = 6000 // computing the last rows apart must save at least this many cycles in the other rows
	lastStepCycles = 2500 // cycles that the launch of the last rows adds to a step after it
)

// withLast is the suffix of a kernel's name if another kernel computes the last rows.
const withLast = "_last"

// cutLast gives the candidate's last rows to another kernel if the model predicts that this
// is faster. It does nothing if the first rows alone take `best` cycles or more.
func (c *candidate) cutLast(p Problem, dev device.Capabilities, kernels []cutlass.Kernel, best float64, ranked lastRanks) {
	last := p.M % max(1, c.kernel.Tile[0])
	if last == 0 || last > maxLastRows || last == p.M || !plainHalves(p) || !c.onePass(p) {
		return
	}
	first, rest := p, p
	first.M, rest.M = p.M-last, last
	saved := kernelCycles(p, c.kernel, dev) - kernelCycles(first, c.kernel, dev)
	if saved < minSavedCycles || c.cycles-saved >= best {
		return
	}
	if c.prepA.copy {
		rest.LayoutA, rest.AlignA = Layout(c.prepA.major), copyAlign
	}
	if c.prepB.copy {
		rest.LayoutB, rest.AlignB = Layout(c.prepB.major), copyAlign
	}
	found := ranked.best(rest, dev, kernels)
	if found == nil {
		return
	}
	takes := found.cycles + float64(lastStepCycles*(len(found.steps)-1))
	if takes >= saved {
		return
	}
	c.last, c.lastRows = found, last
	c.cycles += takes - saved
	c.workspace += found.workspace
	for _, s := range found.steps {
		if s.Kind == Launch {
			s.Detail += fmt.Sprintf(", the last %d of %d rows", last, p.M)
		}
		c.steps = append(c.steps, s)
	}
}

// plainHalves reports whether the problem is a single product of half types, without
// AbsSquare and Symmetric.
func plainHalves(p Problem) bool {
	return p.Batch == 1 && p.A.IsHalf() && !p.AbsSquare && !p.Symmetric
}

// onePass reports whether one launch of the kernel writes all of D.
func (c *candidate) onePass(p Problem) bool {
	return c.k == p.K && c.kernel.Schedule != "streamk" && c.form == 0 && c.rows == 0 && c.parts == 0 && !c.copyOut && !c.separateEpilogue
}

// lastRanks caches the best candidate for each problem of last rows, because many
// candidates have the same last rows.
type lastRanks map[Problem]*candidate

// best returns the best candidate for a problem, or nil if no kernel computes it.
func (l lastRanks) best(p Problem, dev device.Capabilities, kernels []cutlass.Kernel) *candidate {
	c, ok := l[p]
	if !ok {
		if found, err := rank(p, dev, "", kernels); err == nil {
			first := found[0] // a copy, so that the plan does not keep the slice alive
			c = &first
		}
		l[p] = c
	}
	return c
}

// copyAlign is the alignment of the lines of a copied operand, in bytes.
const copyAlign = 16

// lastProblem returns the problem of the last rows. It is exact in everything on which the
// workspace of their kernel depends.
func (c *candidate) lastProblem(p Problem) Problem {
	p.M = c.lastRows
	return p
}

// executeLast computes the last rows of a stack. It reads the copies of A and B that
// were made for the first rows.
func (p *Product) executeLast(s *device.Stream, st stack, q Problem, c *candidate, a, b operand) error {
	rows := block{row: q.M - c.lastRows, rows: c.lastRows}
	rest := *p
	rest.A, rest.B = a.view, b.view
	st.a, st.b, st.d = a.m.block(rows), b.m, st.d.block(rows)
	return rest.execute(s, st, c.lastProblem(q), c.last)
}
