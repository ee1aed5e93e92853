// Package arrow carries arrays between gpk and Apache Arrow's Go library,
// github.com/apache/arrow-go: tensors of any shape, and primitive arrays of one axis.
//
//	a := arrow.FromTensor(t)       // a copy, on the default device
//	col, err := arrow.ToArray(a)   // waits
//
// Both directions copy. Tensors are read as their strides say. Element types do not change
// on the way: tensors have int8, uint8, int32, int64, float32 and float64, arrays have
// float16 and bool too. Other types are gpk.ErrDType. Elements that are null are
// gpk.ErrUnsupported: gpk has no place for them.
//
// What a function here returns of Arrow's belongs to the caller, who calls Release. What it
// is given stays the caller's.
//
// This package is apart from package gpk so that importing gpk does not bring Arrow in.
package arrow
