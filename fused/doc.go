// Package fused computes chains of element-wise operations, which may end with a reduction,
// as one piece of work.
//
<<<<<<< HEAD
// A Program says what a chain computes: its operations, types, and the classes of layouts
// of its operands, but no addresses, lengths or numbers. A Call is a program with these.
// Run executes a call. On the CPU it works block by block in the cache. On a GPU it uses
// the kernel that was compiled for the program or, if there is none, the single operations
// of package ops. All three round every step to its type and give the same bits.
//
// Package array decides which operations are fused. It also guarantees that a Call has a
// program and that the views lie within their buffers: this package does not check that.
=======
// A Program says what a chain computes: its operations, types and operand layouts, but
// no addresses, lengths or numbers. A Call is a program with these. Run executes a call:
// on the CPU block by block in the cache, on a GPU
// by the kernel that was compiled for the program or, if there is none, by
// the single operations of package ops. All three round every step to its type
// and give the same bits.
//
// Package array, above this one, decides which operations fuse. It guarantees that a Call has a
// program and that its views lie inside their buffers; this package does not check that.
>>>>>>> prose3
package fused
