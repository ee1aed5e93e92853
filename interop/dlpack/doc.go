// Package dlpack shares arrays with other libraries in the same process, without a copy,
// through DLPack's structs, which NumPy, PyTorch, CuPy and JAX read and produce.
//
//	p, err := dlpack.ToManaged(a)   // for torch.utils.dlpack.from_dlpack, in a capsule
//	b := dlpack.FromManaged(p)      // what another library has made
//
// DLPack has two structs: DLManagedTensor, whose capsule is called "dltensor", and
// DLManagedTensorVersioned (since DLPack 1.0), whose capsule is called
// "dltensor_versioned". A pointer to either is an unsafe.Pointer here; a program in C
// converts it to DLManagedTensor*.
//
// Ownership:
//
//   - ToManaged and ToVersioned share an array's memory. The receiver calls the struct's
//     deleter when it is done; DeleteManaged and DeleteVersioned call it from Go. Until then
//     the memory stays allocated at its address, even if the array is freed. It is fixed:
//     gpk writes it in place, and each side sees the other's writes. Call
//     gpk.Eval on pending readers of the array before the receiver writes.
//   - FromManaged and FromVersioned take ownership of the struct, even when they fail. They call its
//     deleter once the array and its views have been freed or dropped and gpk's work on
//     the memory has finished. The caller must rename the capsule, as every consumer of DLPack does.
//
// A deleter may take locks of its library: those of NumPy and PyTorch take Python's, the
// GIL. gpk calls a deleter in Free or Scope.Close after it has released its own locks, in a
// goroutine of its own, or, for dropped arrays, in any call that allocates
// memory. Other calls may wait for that call. So a program must call gpk without the GIL,
// as ctypes.CDLL does (ctypes.PyDLL does not).
//
// On a GPU both directions wait for gpk's work on the array's stream and for all work on
// the device's default stream, which PyTorch and CuPy use unless a program chooses another.
// The program must wait for work on other streams. Both libraries use the
// device's primary context.
//
// The types are all of gpk's. For other types, and for vectors of elements, the result of
// FromManaged and FromVersioned carries ErrDType.
//
// DLPack's deleter is a C function. Without cgo, and on processors other than
// amd64 and arm64, every function here returns ErrUnsupported.
package dlpack
