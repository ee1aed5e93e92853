// Package arrow converts arrays between gpk and Apache Arrow's Go library, github.com/apache/arrow-go: tensors of any
// shape, and primitive arrays of one axis.
//
//	a := arrow.FromTensor(t)       // a copy, on the default device
//	col, err := arrow.ToArray(a)   // waits
//
// Both directions copy. Tensors may have any strides. Element types are not converted: tensors have the integers,
// float32 and float64, arrays also float16 and bool. Other types are gpk.ErrDType. Null elements are
// gpk.ErrUnsupported: gpk cannot represent them.
//
// The caller owns the Arrow values that a function here returns, and calls Release. The caller keeps its arguments.
//
// It is a separate package, so that programs that import only gpk do not import Arrow.
package arrow
