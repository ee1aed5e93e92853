package quantum

import (
	"fmt"
	"io"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/npy"
)

// sink takes the tiles of K, mirrors them, and keeps the statistics.
type sink[T number] struct {
	*job
	k      []T   // K in memory, or
	at     int64 // where the elements begin in the file
	mirror []T   // a tile transposed
	off    moments
}

// header begins the file.
func (s *sink[T]) header(dt gpk.DType) error {
	h, err := npy.Header(dt, s.x.n, s.y.n)
	if err != nil {
		return err
	}
	s.at = int64(len(h))
	return s.write(h, 0)
}

// place returns the memory of K from (i, j) on and its row pitch, or nil.
func (s *sink[T]) place(i, j int) ([]T, int) {
	if s.options.Output != nil {
		return nil, 0
	}
	return s.k[i*s.y.n+j:], s.y.n
}

// put takes the tile of rows i0 … i0+r-1 and columns j0 … j0+cols-1, which lies
// in place already or in memory of its own, and returns how many entries it
// is. Of a symmetric K come the tiles above the diagonal and those on it.
func (s *sink[T]) put(i0, r, j0, cols int, tile []T, ld int) (int64, error) {
	onDiagonal := s.symmetric() && i0 == j0
	n := int64(r) * int64(cols)
	if onDiagonal {
		n = int64(r) * int64(r+1) / 2
		one := T(1)
		if !s.options.Normalize {
			one += T(s.options.Jitter)
		}
		for i := range r {
			tile[i*ld+i] = one
			for k := range i { // the upper half is what counts
				tile[i*ld+k] = tile[k*ld+i]
			}
		}
	}
	s.gather(r, cols, tile, ld, onDiagonal)
	if s.options.Output != nil {
		if err := s.store(i0, r, j0, cols, tile, ld); err != nil {
			return 0, err
		}
	}
	if !s.symmetric() || onDiagonal {
		return n, nil
	}
	mirror, lm := s.place(j0, i0)
	if mirror == nil {
		if len(s.mirror) < r*cols {
			s.mirror = make([]T, r*cols)
		}
		mirror, lm = s.mirror, r
	}
	const strip = 64
	rows((cols+strip-1)/strip, r*cols, func(lo, hi int) {
		lo, hi = lo*strip, min(hi*strip, cols)
		transpose(mirror[lo*lm:], lm, tile[lo:], ld, r, hi-lo)
	})
	if s.options.Output != nil {
		return n, s.store(j0, cols, i0, r, mirror, lm)
	}
	return n, nil
}

// gather adds a tile to the statistics; of one on the diagonal the part above
// it. Rows are added up by themselves and then in order, so that the sums do
// not depend on how many goroutines there are.
func (s *sink[T]) gather(r, cols int, tile []T, ld int, onDiagonal bool) {
	from := func(i int) int {
		if onDiagonal {
			return i + 1
		}
		return 0
	}
	if s.off.n == 0 {
		if from(0) >= cols {
			return
		}
		s.off.shift = float64(tile[from(0)])
	}
	shift := s.off.shift
	sums := make([][2]float64, r)
	rows(r, r*cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := tile[i*ld:][:cols]
			addMoments(row[min(from(i), cols):], shift, &sums[i])
		}
	})
	for i, v := range sums {
		s.off.sum += v[0]
		s.off.sumSq += v[1]
		s.off.n += int64(max(cols-from(i), 0))
	}
}

// store writes a piece of K into its rows of the file.
func (s *sink[T]) store(i0, r, j0, cols int, piece []T, ld int) error {
	m, size := int64(s.y.n), int64(unsafe.Sizeof(piece[0]))
	if int64(cols) == m && ld == cols { // whole rows lie together
		return s.write(npy.Bytes(piece[:r*cols]), s.at+int64(i0)*m*size)
	}
	for i := range r {
		if err := s.write(npy.Bytes(piece[i*ld:][:cols]), s.at+(int64(i0+i)*m+int64(j0))*size); err != nil {
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
