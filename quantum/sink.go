package quantum

import (
	"context"
	"fmt"
	"io"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/npy"
)

// sink stores the tiles of K, mirrors them, and accumulates the statistics.
type sink[T number] struct {
	*job
	ctx    context.Context
	k      []T   // K, if all of it is in memory
	at     int64 // otherwise the offset of K's elements in the file
	mirror []T   // transpose of a tile
	off    moments
	sums   []laneSums // sums of the strips of a tile
}

// header writes the header of the file.
func (s *sink[T]) header(dt gpk.DType) error {
	h, err := npy.Header(dt, s.plan.Samples[0], s.plan.Samples[1])
	if err != nil {
		return err
	}
	s.at = int64(len(h))
	if s.part != nil { // the file exists already
		return nil
	}
	return s.write(h, 0)
}

// place returns the memory of K from (i, j) on and its row pitch, or nil if K is not in
// memory.
func (s *sink[T]) place(i, j int) ([]T, int) {
	if !s.whole() {
		return nil, 0
	}
	return s.k[i*s.y.n+j:], s.y.n
}

// put stores a tile, which is already in K or in a separate buffer, and returns the number of its computed entries. For
// a symmetric K only tiles on and above the diagonal are stored. post holds the results if the tile's computation has
// already done the postprocessing, otherwise it is nil.
func (s *sink[T]) put(t bounds, tile []T, ld int, post *postprocessing[T]) (int64, error) {
	n, off := t.pairs()
	sums := s.sums
	if post != nil {
		sums = post.sums
	} else if off > 0 {
		sums = s.gather(t, tile, ld)
	}
	s.off.add(sums, off)
	if t.triangle {
		s.setDiagonal(tile, ld, t.r)
		if post == nil {
			mirrorUpper(tile, ld, t.r) // only the upper half is set
		}
	}
	if !s.whole() {
		if err := s.store(t, tile, ld); err != nil {
			return 0, err
		}
	}
	if kept := s.part != nil && s.options.Output == nil; kept || !s.symmetric() || t.triangle {
		return n, s.finished(t)
	}
	mirror, lm := s.reflection(t)
	if post == nil {
		transpose(mirror, lm, tile, ld, t.r, t.c)
	}
	if s.options.Output != nil {
		if err := s.store(t.mirrored(), mirror, lm); err != nil {
			return 0, err
		}
	}
	return n, s.finished(t)
}

// setDiagonal writes the exact diagonal of a tile of r rows.
func (s *sink[T]) setDiagonal(tile []T, ld, r int) {
	one := T(1)
	if !s.options.Normalize {
		one += T(s.options.Jitter)
	}
	for i := range r {
		tile[i*ld+i] = one
	}
}

// finished records that a rank has written a tile.
func (s *sink[T]) finished(t bounds) error {
	if s.part == nil || s.part.record == nil {
		return nil
	}
	number, _ := s.part.tile(t.i, t.j)
	return s.part.record.mark(number)
}

// keep copies a tile into the tiles of a rank that keeps its part in memory.
func (s *sink[T]) keep(t bounds, tile []T, ld int) error {
	k, data, err := hostArray[T](s.dev, s.options.Precision.dtype(), t.r, t.c)
	if err != nil {
		return err
	}
	for i := range t.r {
		copy(data[i*t.c:][:t.c], tile[i*ld:])
	}
	s.tiles = append(s.tiles, Tile{Row: s.part.at(0, t.i), Col: s.part.at(s.part.ySet(), t.j), K: k})
	return nil
}

// reflection returns the destination of the transpose of a tile above the diagonal, and its
// row pitch.
func (s *sink[T]) reflection(t bounds) ([]T, int) {
	if mirror, lm := s.place(t.j, t.i); mirror != nil {
		return mirror, lm
	}
	if len(s.mirror) < t.r*t.c {
		s.mirror = make([]T, t.r*t.c)
	}
	return s.mirror, t.r
}

// strips returns n zero sums.
func (s *sink[T]) strips(n int) []laneSums {
	if len(s.sums) < n {
		s.sums = make([]laneSums, n)
	}
	clear(s.sums[:n])
	return s.sums[:n]
}

// gather computes the statistics of a tile. For a tile on the diagonal only the part above
// it counts, and the part below may be overwritten. Strips of rows are summed separately
// and then added in order, so that the sums do not depend on the number of goroutines.
func (s *sink[T]) gather(t bounds, tile []T, ld int) []laneSums {
	if s.off.n == 0 {
		first := 0
		if t.triangle {
			first = 1
		}
		s.off.shift = float64(tile[first])
	}
	shift := s.off.shift
	const strip = 16
	strips := (t.r + strip - 1) / strip
	sums := s.strips(strips)
	rows(strips, t.r*t.c, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			i, from := k*strip, 0
			high := min(strip, t.r-i)
			if t.triangle {
				from = i
				for y := range high { // on and below the diagonal, set entries to shift, which adds nothing to the moments
					for x := range tile[(i+y)*ld+i:][:y+1] {
						tile[(i+y)*ld+i+x] = T(shift)
					}
				}
			}
			addMoments(tile[i*ld+from:], ld, high, t.c-from, shift, &sums[k])
		}
	})
	return sums
}

// store writes a block of K to its rows of the file, or keeps it as a tile.
func (s *sink[T]) store(t bounds, piece []T, ld int) error {
	if s.options.Output == nil {
		return s.keep(t, piece, ld)
	}
	return s.writeBlock(t, npy.Bytes(piece[:(t.r-1)*ld+t.c]), ld)
}

// writeBytes is the number of bytes that are written to a file between checks of the context. It is small because a
// disk may be slow.
const writeBytes = 8 << 20

// writeBlock writes a block, with row pitch ld, to its rows of the file.
func (s *sink[T]) writeBlock(t bounds, b []byte, ld int) error {
	if s.part != nil { // also for a mirror, because a symmetric K has one set
		t.i, t.j = s.part.at(0, t.i), s.part.at(s.part.ySet(), t.j)
	}
	size, m, step := s.options.Precision.dtype().Size(), s.plan.Samples[1], 1
	if t.c == m && ld == t.c { // whole rows are contiguous
		step = max(writeBytes/(t.c*size), 1)
	}
	for y := 0; y < t.r; y += step {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		n := (min(step, t.r-y)-1)*ld + t.c
		if err := s.write(b[y*ld*size:][:n*size], s.at+(int64(t.i+y)*int64(m)+int64(t.j))*int64(size)); err != nil {
			return err
		}
	}
	return nil
}

func (s *sink[T]) write(b []byte, at int64) error {
	n, err := s.options.Output.WriteAt(b, at)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("writing K: %w", err)
	}
	return nil
}
