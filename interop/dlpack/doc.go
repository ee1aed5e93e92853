// Package dlpack exchanges arrays with other libraries of the process without a copy,
// by DLPack's structs: NumPy, PyTorch, CuPy and JAX read and make them.
//
//	p, err := dlpack.ToManaged(a)   // for torch.utils.dlpack.from_dlpack, in a capsule
//	b := dlpack.FromManaged(p)      // what another library has made
//
// DLPack has two structs: DLManagedTensor, whose capsule is called "dltensor", and
// DLManagedTensorVersioned (since DLPack 1.0), whose capsule is called
// "dltensor_versioned". A pointer to either is an unsafe.Pointer here; a program in C
// converts it to DLManagedTensor*.
//
// Who owns what:
//
//   - ToManaged and ToVersioned lend an array's memory. The receiver calls the struct's
//     deleter when it is done; DeleteManaged and DeleteVersioned do so from Go. Until then
//     the memory stays where it is, also where the array is freed. It is fixed: gpk writes
//     it in place, and a write on either side is seen by the other. gpk.Eval what reads the
//     array before the receiver writes.
//   - FromManaged and FromVersioned take the struct over, also when they fail. Its deleter
//     is called when the array and its views have been freed or dropped and gpk's work on
//     the memory is done. The capsule must be renamed, as for any consumer of DLPack.
//
// A deleter may take locks of its library: those of NumPy and PyTorch take Python's, the
// GIL. gpk calls a deleter in Free or Scope.Close after its own locks are released, in a
// goroutine of its own, or, for arrays that were dropped, in any call that allocates
// memory. Other calls may wait for that one. So a program must call gpk without the GIL,
// as ctypes.CDLL does (ctypes.PyDLL does not).
//
// On a GPU both directions wait for the work of gpk on the array's stream and for that on
// the device's default stream, the one on which PyTorch and CuPy work unless they are told
// otherwise. Work on other streams is the program's to wait for. Both libraries use the
// device's primary context.
//
// The types are gpk's eleven. Of others, and of vectors of elements, From is ErrDType.
//
// DLPack's deleter is a function of C. Without cgo, and on processors other than
// amd64 and arm64, everything here is ErrUnsupported.
package dlpack
