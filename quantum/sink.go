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
	at     int64 // otherwise the offset of the elements in the file
	mirror []T   // transpose of a tile
	off    moments
	sums   []laneSums // of a tile, per strip
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

// put stores the tile of rows i0 … i0+r-1 and columns j0 … j0+cols-1, which is already in K
// or in a separate buffer, and returns the number of its computed entries. For a symmetric
// K only tiles on and above the diagonal are stored. post is the postprocessing that the
// tile's computation has already done, or nil.
func (s *sink[T]) put(i0, r, j0, cols int, tile []T, ld int, post *postprocessing[T]) (int64, error) {
	onDiagonal := s.symmetric() && i0 == j0
	n, off := int64(r)*int64(cols), int64(r)*int64(cols)
	if onDiagonal {
		n, off = int64(r)*int64(r+1)/2, int64(r)*int64(r-1)/2
	}
	sums := s.sums
	if post != nil {
		sums = post.sums
	} else if off > 0 {
		sums = s.gather(r, cols, tile, ld, onDiagonal)
	}
	s.off.add(sums, off)
	if onDiagonal {
		s.setDiagonal(tile, ld, r)
		if post == nil {
			mirrorUpper(tile, ld, r) // only the upper half is valid
		}
	}
	if !s.whole() {
		if err := s.store(i0, r, j0, cols, tile, ld); err != nil {
			return 0, err
		}
	}
	if kept := s.part != nil && s.options.Output == nil; kept || !s.symmetric() || onDiagonal {
		return n, s.finished(i0, j0)
	}
	mirror, lm := s.reflection(i0, r, j0, cols)
	if post == nil {
		transpose(mirror, lm, tile, ld, r, cols)
	}
	if s.options.Output != nil {
		if err := s.store(j0, cols, i0, r, mirror, lm); err != nil {
			return 0, err
		}
	}
	return n, s.finished(i0, j0)
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

// finished records a tile that a rank has written.
func (s *sink[T]) finished(i0, j0 int) error {
	if s.part == nil || s.part.record == nil {
		return nil
	}
	number, _ := s.part.tile(i0, j0)
	return s.part.record.mark(number)
}

// keep copies a tile into the tiles of a rank that keeps its part in memory.
func (s *sink[T]) keep(i0, r, j0, cols int, tile []T, ld int) error {
	k, data, err := hostArray[T](s.dev, s.options.Precision.dtype(), r, cols)
	if err != nil {
		return err
	}
	for i := range r {
		copy(data[i*cols:][:cols], tile[i*ld:])
	}
	s.tiles = append(s.tiles, Tile{Row: s.part.at(0, i0), Col: s.part.at(s.part.ySet(), j0), K: k})
	return nil
}

// reflection returns the destination of the transpose of a tile above the diagonal, and its
// row pitch.
func (s *sink[T]) reflection(i0, r, j0, cols int) ([]T, int) {
	if mirror, lm := s.place(j0, i0); mirror != nil {
		return mirror, lm
	}
	if len(s.mirror) < r*cols {
		s.mirror = make([]T, r*cols)
	}
	return s.mirror, r
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
func (s *sink[T]) gather(r, cols int, tile []T, ld int, onDiagonal bool) []laneSums {
	if s.off.n == 0 {
		first := 0
		if onDiagonal {
			first = 1
		}
		s.off.shift = float64(tile[first])
	}
	shift := s.off.shift
	const strip = 16
	strips := (r + strip - 1) / strip
	sums := s.strips(strips)
	rows(strips, r*cols, func(lo, hi int) {
		for k := lo; k < hi; k++ {
			i, from := k*strip, 0
			high := min(strip, r-i)
			if onDiagonal {
				from = i
				for y := range high { // an entry equal to shift adds nothing
					for x := range tile[(i+y)*ld+i:][:y+1] {
						tile[(i+y)*ld+i+x] = T(shift)
					}
				}
			}
			addMoments(tile[i*ld+from:], ld, high, cols-from, shift, &sums[k])
		}
	})
	return sums
}

// store writes a block of K to its rows of the file, or keeps it as a tile.
func (s *sink[T]) store(i0, r, j0, cols int, piece []T, ld int) error {
	if s.options.Output == nil {
		return s.keep(i0, r, j0, cols, piece, ld)
	}
	return s.writeBlock(i0, r, j0, cols, npy.Bytes(piece[:(r-1)*ld+cols]), ld)
}

// writeBytes is the number of bytes that are written to a file between checks of the
// context: a disk may be slow.
const writeBytes = 8 << 20

// writeBlock writes a block, with row pitch ld, to its rows of the file.
func (s *sink[T]) writeBlock(i0, r, j0, cols int, b []byte, ld int) error {
	if s.part != nil { // in a mirror, too: a symmetric K has one set
		i0, j0 = s.part.at(0, i0), s.part.at(s.part.ySet(), j0)
	}
	size, m, step := s.options.Precision.dtype().Size(), s.plan.Samples[1], 1
	if cols == m && ld == cols { // whole rows are contiguous
		step = max(writeBytes/(cols*size), 1)
	}
	for y := 0; y < r; y += step {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		n := (min(step, r-y)-1)*ld + cols
		if err := s.write(b[y*ld*size:][:n*size], s.at+(int64(i0+y)*int64(m)+int64(j0))*int64(size)); err != nil {
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
