package worker

// The lowest priority of each band. A message overtakes all messages of lower bands.
// Within a band messages keep their order.
const (
	Low    = 0
	Normal = 64
	High   = 160
	System = 224
)

const bands = 4

// bandOf returns the band of a priority, from 0 to bands-1. The last band is the highest.
func bandOf(priority uint8) int {
	switch {
	case priority >= System:
		return 3
	case priority >= High:
		return 2
	case priority >= Normal:
		return 1
	}
	return 0
}

// queue has a ring for each band.
type queue[T any] struct {
	rings [bands]ring[T]
	n     int
}

func (q *queue[T]) push(band int, v T) {
	q.rings[band].push(v)
	q.n++
}

// pop removes the oldest element of the highest band. The queue must not be empty.
func (q *queue[T]) pop() T {
	band := bands - 1
	for q.rings[band].n == 0 {
		band--
	}
	q.n--
	return q.rings[band].pop()
}

// lowest returns the lowest band that has an element. The queue must not be empty.
func (q *queue[T]) lowest() int {
	band := 0
	for q.rings[band].n == 0 {
		band++
	}
	return band
}

// popLowest removes the oldest element of the lowest band. The queue must not be empty.
func (q *queue[T]) popLowest() T {
	q.n--
	return q.rings[q.lowest()].pop()
}

// ring is a queue in a slice whose length is a power of two. It grows when it is full.
type ring[T any] struct {
	slots   []T
	head, n int
}

func (r *ring[T]) push(v T) {
	if r.n == len(r.slots) {
		slots := make([]T, max(2*r.n, 8))
		k := copy(slots, r.slots[r.head:])
		copy(slots[k:], r.slots[:r.head])
		r.slots, r.head = slots, 0
	}
	r.slots[(r.head+r.n)&(len(r.slots)-1)] = v
	r.n++
}

func (r *ring[T]) pop() T {
	v := r.slots[r.head]
	var none T
	r.slots[r.head] = none
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.n--
	return v
}
