package quantum

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
)

// received holds the states of all samples, which the two ranks have exchanged.
type received struct {
	states  []*gpk.Array // by block of the kernel
	release []func()
}

// computePaired computes the tiles of a rank that exchanges states with another one. While the states move, it computes
// the tiles that need only its own states, on separate streams.
func (g *cudaGram) computePaired() error {
	p := g.part.paired
	lo, hi := p.own(g.part.rank)
	own, all := stateBlock{of: g.x, lo: lo, hi: hi}, stateBlock{of: g.x, hi: g.x.n, slot: 1}
	if err := g.reserveOwn(p); err != nil {
		return err
	}
	if err := g.buildStates(own); err != nil {
		return err
	}
	g.builds[0] = []int{1}
	if err := g.checkOthers(lo, hi); err != nil {
		return err
	}
	if err := g.multiply(g, own, own); err != nil {
		return err
	}
	exchange, err := g.agreed()
	switch {
	case err != nil:
		return err
	case exchange:
		err = g.exchangeStates()
	default: // the other rank has no memory for the exchange
		g.builds[0][0]++
		err = g.buildStates(all)
	}
	if err != nil {
		return err
	}
	for t := range g.wanted(g, [2]int{0, p.mid}, [2]int{p.mid, p.n}) {
		if err := g.computeTile(all, all, t); err != nil {
			return err
		}
	}
	return nil
}

// reserveOwn allocates memory for the rank's own states. Both ranks pass the same number of states to AllGather.
func (g *cudaGram) reserveOwn(p *pairing) error {
	g.blocks[0] = make([]*device.Buffer, len(g.codes))
	for i, d := range g.codes {
		var err error
		if g.blocks[0][i], err = g.dev.Alloc(int64(p.mid)*(int64(d.states().Size())<<d.qubits), g.s); err != nil {
			return err
		}
	}
	return nil
}

// checkOthers checks the angles of the samples whose states the other rank builds for NaN and Inf, so that both ranks
// return the same error.
func (g *cudaGram) checkOthers(lo, hi int) error {
	for i, d := range g.codes {
		for _, r := range [][2]int{{0, lo}, {hi, g.x.n}} {
			if err := d.build(g.ctx, g.s, g.sources[0], r[0], r[1], g.notes, g.noteAt(0, i), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// exchangeStates receives the states of the other rank, and returns those of all samples.
func (g *cudaGram) exchangeStates() error {
	g.blocks[1] = make([]*device.Buffer, len(g.codes))
	return g.timed(&g.building, g.s, func() error {
		for i, d := range g.codes {
			own := array.FromBuffer(g.blocks[0][i], d.states(), g.part.paired.mid, 1<<d.qubits).On(g.s)
			all := g.options.Group.AllGather(own, 0)
			buf, release, err := all.Lend()
			if err != nil {
				return err
			}
			g.received.states, g.received.release = append(g.received.states, all), append(g.received.release, release)
			g.blocks[1][i] = buf
		}
		return nil
	})
}

// free frees the memory after the work that reads it.
func (r *received) free() {
	for i, a := range r.states {
		r.release[i]()
		a.Free()
	}
	*r = received{}
}
