package cpu

// Scratch is memory for a short while. What one call gives back another gets, with the
// values that it holds. The zero value has none.
type Scratch[T float32 | float64] struct {
	data []T
	of   *buffer[T]
}

// maxScratch is how many numbers are kept for the next: buffers are powers of two.
const maxScratch = 1 << 20

// NewScratch returns memory for n numbers, which begins a cache line where it is kept.
func NewScratch[T float32 | float64](n int) Scratch[T] {
	if n > maxScratch {
		return Scratch[T]{data: make([]T, n)}
	}
	b := getBuffer[T](n)
	return Scratch[T]{b.data, b}
}

// Data is the memory, until Free.
func (s *Scratch[T]) Data() []T { return s.data }

// Free gives it back. Nothing may use Data then.
func (s *Scratch[T]) Free() {
	if s.of != nil {
		s.of.put()
	}
	*s = Scratch[T]{}
}
