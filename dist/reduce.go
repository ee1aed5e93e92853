package dist

import (
	"fmt"
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
)

// reducible returns ErrDType if an operation is not defined for a type.
func reducible(op Op, dt dtype.DType) error {
	why := ""
	switch {
	case !op.valid():
		return fmt.Errorf("%w: %v", gpk.ErrUnsupported, op)
	case dt == dtype.Bool && op != Max && op != Min:
		why = "Cast to an integer type first"
	case dt.IsInteger() && op == Mean:
		why = "Cast to a float type first"
	case dt.IsComplex() && (op == Max || op == Min):
		why = "complex numbers have no order"
	default:
		return nil
	}
	return fmt.Errorf("%w: %v of %v; %s", gpk.ErrDType, op, dt, why)
}

// reduceInto reduces the blocks of all ranks, in the order of ranks. Each block is as long as out.
// out may be the first block.
func reduceInto(op Op, dt dtype.DType, out []byte, blocks []byte, ranks int) {
	if h, ok := dt.Half(); ok {
		half(op, elements[uint16](out), elements[uint16](blocks), ranks, h)
		return
	}
	switch dt {
	case dtype.Float32:
		fold(op, elements[float32](out), elements[float32](blocks), ranks, number[float32]())
	case dtype.Float64:
		fold(op, elements[float64](out), elements[float64](blocks), ranks, number[float64]())
	case dtype.Int8:
		fold(op, elements[int8](out), elements[int8](blocks), ranks, number[int8]())
	case dtype.Uint8, dtype.Bool:
		fold(op, elements[uint8](out), elements[uint8](blocks), ranks, number[uint8]())
	case dtype.Int32:
		fold(op, elements[int32](out), elements[int32](blocks), ranks, number[int32]())
	case dtype.Int64:
		fold(op, elements[int64](out), elements[int64](blocks), ranks, number[int64]())
	case dtype.Int16:
		fold(op, elements[int16](out), elements[int16](blocks), ranks, number[int16]())
	case dtype.Uint16:
		fold(op, elements[uint16](out), elements[uint16](blocks), ranks, number[uint16]())
	case dtype.Uint32:
		fold(op, elements[uint32](out), elements[uint32](blocks), ranks, number[uint32]())
	case dtype.Uint64:
		fold(op, elements[uint64](out), elements[uint64](blocks), ranks, number[uint64]())
	case dtype.Complex64:
		fold(op, elements[complex64](out), elements[complex64](blocks), ranks, arithmetic[complex64]())
	case dtype.Complex128:
		fold(op, elements[complex128](out), elements[complex128](blocks), ranks, arithmetic[complex128]())
	}
}

// elements returns b as elements of type T. b must be aligned for T.
func elements[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

type ordered interface {
	~float32 | ~float64 | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// functions holds the reductions of two elements of a type, and the division by the number of ranks.
type functions[T any] struct {
	add, mul, max, min func(a, b T) T
	divide             func(a T, n int) T
}

func arithmetic[T ordered | complex64 | complex128]() functions[T] {
	return functions[T]{
		add:    func(a, b T) T { return a + b },
		mul:    func(a, b T) T { return a * b },
		divide: func(a T, n int) T { return over(a, n) },
	}
}

// over returns a / n.
func over[T ordered | complex64 | complex128](a T, n int) T {
	switch x := any(a).(type) {
	case complex64: // not a complex division: both parts are divided
		return any(complex(real(x)/float32(n), imag(x)/float32(n))).(T)
	case complex128:
		return any(complex(real(x)/float64(n), imag(x)/float64(n))).(T)
	case float32:
		return any(x / float32(n)).(T)
	case float64:
		return any(x / float64(n)).(T)
	}
	return a // integers have no Mean
}

func number[T ordered]() functions[T] {
	f := arithmetic[T]()
	f.max = func(a, b T) T {
		if a != a || a > b {
			return a
		}
		return b
	}
	f.min = func(a, b T) T {
		if a != a || a < b {
			return a
		}
		return b
	}
	return f
}

// reduction returns the function of two elements that op applies. For Mean it is the addition.
func (f functions[T]) reduction(op Op) func(a, b T) T {
	switch op {
	case Prod:
		return f.mul
	case Max:
		return f.max
	case Min:
		return f.min
	}
	return f.add
}

// fold reduces the blocks of all ranks into out, in the order of the ranks.
func fold[T any](op Op, out, blocks []T, ranks int, f functions[T]) {
	apply := f.reduction(op)
	copy(out, blocks[:len(out)])
	for r := 1; r < ranks; r++ {
		for i, v := range blocks[r*len(out):][:len(out)] {
			out[i] = apply(out[i], v)
		}
	}
	if op == Mean {
		for i, v := range out {
			out[i] = f.divide(v, ranks)
		}
	}
}

// half reduces numbers of a 16-bit type in float32, and rounds once.
func half(op Op, out, blocks []uint16, ranks int, h *dtype.Half) {
	f := number[float32]()
	apply := f.reduction(op)
	n := len(out)
	for i := range out {
		sum := h.Float32(blocks[i])
		for r := 1; r < ranks; r++ {
			sum = apply(sum, h.Float32(blocks[r*n+i]))
		}
		if op == Mean {
			sum /= float32(ranks)
		}
		out[i] = h.Round(sum)
	}
}
