// Package safetensors reads and writes arrays in the safetensors format: named tensors behind a header in
// JSON, one file or several with an index, as models are published.
//
//	f, err := safetensors.Open("bert")            // a folder, a file, or an index
//	defer f.Close()
//	w, err := f.Load("encoder.layer.0.output.dense.weight")
//	all, err := f.LoadAll(safetensors.On(gpu))
//	err = safetensors.WriteFile("tuned.safetensors", all, nil)
//
// LoadSlice loads a part of a tensor along an axis, such as one rank's part of a weight. It reads no other
// bytes.
//
// Loading copies: an array does not depend on its File, which may be closed, nor on the file, which may
// change. Elements are read into the array's memory on the CPU, and into pinned memory on their way to a
// GPU, in pieces: while one piece is copied to the GPU, others are read. Files are read, not mapped: a
// mapping is not faster if everything is copied once, and a mapped file that is truncated, or a failing
// disk, terminates the program.
//
// Element types are those of gpk except complex128, which the format does not have: writing it is
// ErrDType. The format has types that gpk does not have, such as F8_E4M3 and F4: Info reports them, and
// Load returns ErrDType. A nonzero byte of BOOL is true, and is 1 in the array.
//
// A header is not trusted. It is checked as in the reference implementation, and additionally names and
// fields must occur only once, numbers must be plain digits, and the tensors must cover the file without
// gaps or overlaps. Allocations are bounded by a small multiple of the file's length. An index may name
// only files in its own folder. Fields that neither describe nor locate a tensor, such as an index's
// total_size, are ignored; only their JSON syntax is checked.
//
// What belongs here: the format, and moving elements between files and devices. What does not: the
// assignment of tensors to the weights of a model.
//
// Every file format has its own package.
package safetensors
