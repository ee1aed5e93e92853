//go:build !noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Element-wise operations with AVX2 on integers, for any n. In the functions with VS, y is one number, and in
// those with SV, x is. dst may be x or y if elements and results have one size. Comparisons write bytes of 0 and 1.

//go:noescape
func addVV8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func addVS8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVV8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVS8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subSV8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVV8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVS8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func equalVV8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func equalVS8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func unequalVV8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func unequalVS8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVVInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVSInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVVInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVSInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessVVInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessVSInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessSVInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualVVInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualVSInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualSVInt8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVVUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVSUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVVUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVSUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessVVUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessVSUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessSVUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualVVUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualVSUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualSVUint8(dst, x, y unsafe.Pointer, n int)

//go:noescape
func clampInt8(dst, x, y, z unsafe.Pointer, n int)

//go:noescape
func clampUint8(dst, x, y, z unsafe.Pointer, n int)

//go:noescape
func absInt8(dst, x unsafe.Pointer, n int)

//go:noescape
func addVV16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func addVS16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVV16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVS16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subSV16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVV16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVS16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func equalVV16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func equalVS16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func unequalVV16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func unequalVS16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVVInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVSInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVVInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVSInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessVVInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessVSInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessSVInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualVVInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualVSInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualSVInt16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVVUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maximumVSUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVVUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minimumVSUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessVVUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessVSUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessSVUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualVVUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualVSUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func lessEqualSVUint16(dst, x, y unsafe.Pointer, n int)

//go:noescape
func clampInt16(dst, x, y, z unsafe.Pointer, n int)

//go:noescape
func clampUint16(dst, x, y, z unsafe.Pointer, n int)

//go:noescape
func absInt16(dst, x unsafe.Pointer, n int)

// integerKernels are the binary kernels of one type of integers of 1 or 2 bytes.
type integerKernels struct{ add, sub, mul, maximum, minimum, equal, unequal, less, lessEqual binary }

func (k *integerKernels) of(op expr.Op) binary {
	switch op {
	case expr.Add:
		return k.add
	case expr.Sub:
		return k.sub
	case expr.Mul:
		return k.mul
	case expr.Maximum:
		return k.maximum
	case expr.Minimum:
		return k.minimum
	case expr.Eq:
		return k.equal
	case expr.Ne:
		return k.unequal
	case expr.Lt:
		return k.less
	case expr.Le:
		return k.lessEqual
	case expr.Gt:
		return k.less.reversed()
	case expr.Ge:
		return k.lessEqual.reversed()
	}
	return binary{}
}

// reversed returns the kernels with the operands exchanged.
func (k binary) reversed() binary {
	return binary{vv: swapped(k.vv), vs: swapped(k.sv), sv: swapped(k.vs)}
}

// commuting returns the kernels of an operation that does not depend on the order of its operands.
func commuting(vv, vs func(dst, x, y unsafe.Pointer, n int)) binary {
	return binary{vv: vv, vs: vs, sv: swapped(vs)}
}

// vectorIntegers returns the vector kernels of a binary operation. They are nil where the processor has no AVX2, and for types and
// operations without vector code.
func vectorIntegers(op expr.Op, t dtype.DType) binary {
	if !vectorAVX {
		return binary{}
	}
	var k integerKernels
	switch t.Size() {
	case 1:
		k = integerKernels{
			add: commuting(addVV8, addVS8), sub: binary{vv: subVV8, vs: subVS8, sv: subSV8}, mul: commuting(mulVV8, mulVS8),
			equal: commuting(equalVV8, equalVS8), unequal: commuting(unequalVV8, unequalVS8),
		}
	case 2:
		k = integerKernels{
			add: commuting(addVV16, addVS16), sub: binary{vv: subVV16, vs: subVS16, sv: subSV16}, mul: commuting(mulVV16, mulVS16),
			equal: commuting(equalVV16, equalVS16), unequal: commuting(unequalVV16, unequalVS16),
		}
	case 4:
		k = integerKernels{add: commuting(addVVInt32, addVSInt32), sub: binary{vv: subVVInt32, vs: subVSInt32, sv: subSVInt32}, mul: commuting(mulVVInt32, mulVSInt32)}
	case 8:
		k = integerKernels{add: commuting(addVVInt64, addVSInt64), sub: binary{vv: subVVInt64, vs: subVSInt64, sv: subSVInt64}, mul: commuting(mulVVInt64, mulVSInt64)}
	}
	switch t {
	case dtype.Int8:
		k.maximum, k.minimum = commuting(maximumVVInt8, maximumVSInt8), commuting(minimumVVInt8, minimumVSInt8)
		k.less = binary{vv: lessVVInt8, vs: lessVSInt8, sv: lessSVInt8}
		k.lessEqual = binary{vv: lessEqualVVInt8, vs: lessEqualVSInt8, sv: lessEqualSVInt8}
	case dtype.Uint8, dtype.Bool:
		k.maximum, k.minimum = commuting(maximumVVUint8, maximumVSUint8), commuting(minimumVVUint8, minimumVSUint8)
		k.less = binary{vv: lessVVUint8, vs: lessVSUint8, sv: lessSVUint8}
		k.lessEqual = binary{vv: lessEqualVVUint8, vs: lessEqualVSUint8, sv: lessEqualSVUint8}
	case dtype.Int16:
		k.maximum, k.minimum = commuting(maximumVVInt16, maximumVSInt16), commuting(minimumVVInt16, minimumVSInt16)
		k.less = binary{vv: lessVVInt16, vs: lessVSInt16, sv: lessSVInt16}
		k.lessEqual = binary{vv: lessEqualVVInt16, vs: lessEqualVSInt16, sv: lessEqualSVInt16}
	case dtype.Uint16:
		k.maximum, k.minimum = commuting(maximumVVUint16, maximumVSUint16), commuting(minimumVVUint16, minimumVSUint16)
		k.less = binary{vv: lessVVUint16, vs: lessVSUint16, sv: lessSVUint16}
		k.lessEqual = binary{vv: lessEqualVVUint16, vs: lessEqualVSUint16, sv: lessEqualSVUint16}
	case dtype.Int32:
		k.maximum, k.minimum = commuting(maximumVVInt32, maximumVSInt32), commuting(minimumVVInt32, minimumVSInt32)
	case dtype.Uint32:
		k.maximum, k.minimum = commuting(maximumVVUint32, maximumVSUint32), commuting(minimumVVUint32, minimumVSUint32)
	case dtype.Int64:
		k.maximum, k.minimum = commuting(maximumVVInt64, maximumVSInt64), commuting(minimumVVInt64, minimumVSInt64)
	case dtype.Uint64:
		k.maximum, k.minimum = commuting(maximumVVUint64, maximumVSUint64), commuting(minimumVVUint64, minimumVSUint64)
	default:
		return binary{}
	}
	return k.of(op)
}

// vectorClamp returns the vector kernel of Clamp, or nil as vectorIntegers does.
func vectorClamp(t dtype.DType) func(dst, x, y, z unsafe.Pointer, n int) {
	switch {
	case !vectorAVX:
	case t == dtype.Int8:
		return clampInt8
	case t == dtype.Uint8:
		return clampUint8
	case t == dtype.Int16:
		return clampInt16
	case t == dtype.Uint16:
		return clampUint16
	case t == dtype.Int32:
		return clampInt32
	case t == dtype.Uint32:
		return clampUint32
	case t == dtype.Int64:
		return clampInt64
	case t == dtype.Uint64:
		return clampUint64
	}
	return nil
}

// vectorAbs returns the vector kernel of Abs, or nil as vectorIntegers does.
func vectorAbs(t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	switch {
	case !vectorAVX:
	case t == dtype.Int8:
		return absInt8
	case t == dtype.Int16:
		return absInt16
	case t == dtype.Int32:
		return absInt32
	case t == dtype.Int64:
		return absInt64
	}
	return nil
}
