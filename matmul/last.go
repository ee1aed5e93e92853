package matmul

import (
	"fmt"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// A few rows behind whole tiles take a row of tiles, and where the whole ones just fill
// the multiprocessors, a round of all of them: 4097 cubed is 34 x 33 tiles of 128 x 128 in
// pairs, nine rounds of 132, and its first 4096 rows are eight. The last rows are
// then a product of their own, by the kernel that is best for so few: it reads what
// was copied for the first, and takes about as long as B takes to read.
const (
	maxLast   = 16   // rows, of the narrowest tile
	leastLast = 6000 // cycles that the other rows have to save
	passLast  = 2500 // cycles that a pass behind the last rows takes beyond its own
)

// withLast behind a kernel's name says that another computes the last rows.
const withLast = "_last"

// cutLast gives the candidate's last rows to another kernel where the model finds that
// shorter. Where the others alone take as long as best, it is not tried.
func (c *candidate) cutLast(p Problem, dev device.Capabilities, kernels []cutlass.Kernel, best float64, ranked lasts) {
	last := p.M % max(1, c.kernel.Tile[0])
	if last == 0 || last > maxLast || last == p.M || p.Batch != 1 || !p.A.IsHalf() || p.AbsSquare || p.Symmetric || c.k != p.K ||
		c.kernel.Schedule == "streamk" || c.form != 0 || c.rows > 0 || c.parts > 0 || c.strip || c.finish {
		return
	}
	first, rest := p, p
	first.M, rest.M = p.M-last, last
	saved := kernelCycles(p, c.kernel, dev) - kernelCycles(first, c.kernel, dev)
	if saved < leastLast || c.cycles-saved >= best {
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
	takes := found.cycles + float64(passLast*(len(found.steps)-1))
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

// lasts has the best kernel for each problem of last rows: candidates share most of them.
type lasts map[Problem]*candidate

// best is nil where no kernel computes the problem.
func (l lasts) best(p Problem, dev device.Capabilities, kernels []cutlass.Kernel) *candidate {
	c, ok := l[p]
	if !ok {
		if found, err := rank(p, dev, "", kernels); err == nil {
			first := found[0] // not with the others, which a plan would keep
			c = &first
		}
		l[p] = c
	}
	return c
}

// copyAlign divides where the lines of a copied operand begin.
const copyAlign = 16

// lastProblem is that of the last rows, as far as their kernel's workspace depends on it.
func (c *candidate) lastProblem(p Problem) Problem {
	p.M = c.lastRows
	return p
}

// executeLast computes the last rows of a stack, from the operands of the first.
func (p *Product) executeLast(s *device.Stream, st stack, q Problem, c *candidate, a, b operand) error {
	rows := block{row: q.M - c.lastRows, rows: c.lastRows}
	rest := *p
	rest.A, rest.B = a.view, b.view
	st.a, st.b, st.d = a.m.block(rows), b.m, st.d.block(rows)
	return rest.execute(s, st, c.lastProblem(q), c.last)
}
