package quantum

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/deviceapi"
)

// waitFor waits until the first n tiles are complete, and reports progress.
func (g *cudaGram) waitFor(n int) error {
	for ; g.waited < n; g.waited++ {
		if err := g.started[g.waited].to.Synchronize(g.ctx); err != nil {
			return err
		}
		g.done += g.entries[g.waited]
		g.progress(g.done)
	}
	return nil
}

// finish waits for all work, and reads the notes.
func (g *cudaGram) finish() error {
	if g.out != nil {
		if err := g.out.finish(); err != nil {
			return err
		}
		g.k = g.out.k
	}
	if err := g.waitForTiles(); err != nil {
		return err
	}
	t, err := g.notesTimed()
	if err != nil {
		return err
	}
	notes, err := deviceapi.FetchUntil(g.dev, g.notes, 0, g.noteBytes, g.s, t.to)
	if err != nil {
		return err
	}
	defer notes.Free()
	// This runs while the last tile is computed.
	if g.result != nil {
		g.k = array.FromBuffer(g.result, g.dt, g.x.n, g.y.n)
	}
	g.report.Peak = g.peak()
	g.release()
	if err := g.accountBegin(); err != nil {
		return err
	}
	if err := g.waitFor(g.tiles); err != nil {
		return err
	}
	if err := g.accountTiles(); err != nil { // while the notes are copied
		return err
	}
	b, err := notes.Wait(g.ctx)
	if err != nil {
		return err
	}
	words := wordsOf(b)
	if g.x.n > 0 && g.y.n > 0 {
		if err := g.read(words); err != nil {
			return err
		}
	}
	if err := g.accountNotes(t); err != nil {
		return err
	}
	return g.statistics(words)
}

// waitForTiles waits for all tiles, with a single stream for all but the last, and reports
// progress.
func (g *cudaGram) waitForTiles() error {
	if len(g.streams) > 1 { // with several streams, the notes must be ordered after their tiles
		for _, s := range g.streams {
			if err := s.Synchronize(g.ctx); err != nil {
				return err
			}
		}
	}
	return g.waitFor(g.tiles - 1)
}

// notesTimed returns the events before and after the copy of the notes.
func (g *cudaGram) notesTimed() (t timed, err error) {
	if n := len(g.started); n > 0 && len(g.streams) == 1 && g.out == nil {
		t.from = g.started[n-1].to // nothing follows the last tile
	} else if t.from, err = g.event(g.s); err != nil {
		return t, err
	}
	t.to, err = g.newEvent()
	return t, err
}

// read returns the error that the notes report for the samples.
func (g *cudaGram) read(notes []uint64) error {
	codes := len(g.kernel.blocks) + 1
	for set, x := range []*samples{g.x, g.y} {
		if set == 1 && g.symmetric() {
			break
		}
		for code := range codes {
			angles := []Angle(nil)
			switch {
			case code < len(g.codes):
				angles = g.codes[code].all
			case g.wires != nil:
				angles = g.wires.all
			}
			if err := found(x, notes[noteWords*(set*codes+code):], angles); err != nil {
				return err
			}
		}
	}
	return nil
}

// The computed diagonal, which is then set to 1, may exceed its bound by this factor
// before it counts as a fault, if products are separate kernels: a sum of 2^17 squares in
// float32 comes close to two bounds, and several factors add their errors.
const faultBounds = 4

func (g *cudaGram) statistics(notes []uint64) error {
	r := g.report
	most := g.options.Precision.diagonalBound()
	if g.apart {
		most *= faultBounds
	}
	for t := range min(g.tiles, maxNotes) {
		at := g.tileNotes(t)
		g.off.sum += math.Float64frombits(notes[at])
		g.off.sumSq += math.Float64frombits(notes[at+1])
		off := math.Float64frombits(notes[at+2])
		if !(off <= most) {
			why := "a fault of gpk or of the machine"
			if g.kernel.qubits > 12 && g.options.Precision != Double {
				why = fmt.Sprintf("sums over 2^%d amplitudes are not exact enough in float32; use Double", g.kernel.qubits)
			}
			return fmt.Errorf("%w: an entry of K's diagonal came out %v off 1: %s", gpk.ErrNonFinite, off, why)
		}
		r.MaxDiagonalError = max(r.MaxDiagonalError, off)
	}
	r.OffDiagonalMean, r.OffDiagonalStd = g.off.mean(), g.off.std()
	r.MaxBuilds = g.maxBuilds()
	r.Launches = g.launches
	return nil
}
