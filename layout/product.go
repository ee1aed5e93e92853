package layout

import "slices"

// Product holds the shapes of a matrix product, with the rules of NumPy's matmul:
// leading axes are a batch and are broadcast, a 1-D left operand is a row, and a 1-D
// right operand is a column.
type Product struct {
	Batch       []int
	M, N        int
	Row, Column bool // the left operand is 1-D, the right operand is 1-D
}

// ProductOf returns the shapes of the product of operands with shapes a and b.
func ProductOf(a, b []int) (Product, error) {
	var s Product
	if len(a) == 0 || len(b) == 0 {
		return s, Errorf("a product of a 0-d array; use Mul to scale")
	}
	if s.Row = len(a) == 1; s.Row {
		a = []int{1, a[0]}
	}
	if s.Column = len(b) == 1; s.Column {
		b = []int{b[0], 1}
	}
	k, k2 := a[len(a)-1], b[len(b)-2]
	if k != k2 {
		return s, Errorf("a %dx%d matrix times a %dx%d one: the inner lengths %d and %d differ", a[len(a)-2], k, k2, b[len(b)-1], k, k2)
	}
	s.M, s.N = a[len(a)-2], b[len(b)-1]
	if len(a) == 2 && len(b) == 2 {
		if s.M < 1<<29 && s.N < 1<<29 {
			return s, nil // it cannot overflow
		}
		_, err := Size([]int{s.M, s.N})
		return s, err
	}
	var err error
	if s.Batch, err = Broadcast(a[:len(a)-2], b[:len(b)-2]); err != nil {
		return s, err
	}
	_, err = Size(s.Full())
	return s, err
}

// Full returns the shape of the result with both matrix axes.
func (s *Product) Full() []int { return append(slices.Clone(s.Batch), s.M, s.N) }

// Shape appends the result's shape, without the matrix axes of 1-D operands, to room.
func (s *Product) Shape(room []int) []int {
	out := append(room, s.Batch...)
	if !s.Row {
		out = append(out, s.M)
	}
	if !s.Column {
		out = append(out, s.N)
	}
	return out
}

// Left adds the missing axes to the left operand's layout.
func (s *Product) Left(l Layout) Layout {
	if s.Row {
		l = l.inserted(0)
	}
	return s.batched(l)
}

// Right adds the missing axes to the right operand's layout.
func (s *Product) Right(l Layout) Layout {
	if s.Column {
		l = l.inserted(1)
	}
	return s.batched(l)
}

func (s *Product) batched(l Layout) Layout {
	n := len(l.Shape)
	if n == 2 && len(s.Batch) == 0 {
		return l
	}
	l, _ = l.BroadcastTo(append(slices.Clone(s.Batch), l.Shape[n-2:]...)) // cannot fail: ProductOf has checked it
	return l
}

// Result adds the axes of the full result to a destination's layout.
func (s *Product) Result(l Layout) Layout {
	if s.Column {
		l = l.inserted(len(l.Shape))
	}
	if s.Row {
		l = l.inserted(len(l.Shape) - 1)
	}
	return l
}
