package cpu

// Scratch is pooled memory for temporary use. Its contents are undefined: it may hold the
// values of its last user. The zero value is empty.
type Scratch[T float32 | float64] struct {
	data []T
	of   *buffer[T]
}

// maxScratch is the largest buffer, in numbers, that the pool keeps. Lengths are powers of two.
const maxScratch = 1 << 20

// NewScratch returns memory for n numbers. Pooled memory is aligned to a cache line.
func NewScratch[T float32 | float64](n int) Scratch[T] {
	if n > maxScratch {
		return Scratch[T]{data: make([]T, n)}
	}
	b := getBuffer[T](n)
	return Scratch[T]{b.data, b}
}

// Data returns the memory. It is valid until Free.
func (s *Scratch[T]) Data() []T { return s.data }

// Free returns the memory to the pool. Nothing may use Data afterwards.
func (s *Scratch[T]) Free() {
	if s.of != nil {
		s.of.put()
	}
	*s = Scratch[T]{}
}
