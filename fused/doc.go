// Package fused computes a chain of element-wise operations, optionally with a reduction at its
// end, as one piece of work.
//
// A Program says what a chain computes: its operations, types and operand layouts, but no
// addresses, lengths or numbers. A Call is a program with these. Run executes a call: on the
// CPU block by block in the cache, on a GPU by the kernel that was compiled for the program or,
// if there is none, by the single operations of package ops. All three round every step to its
// type and give the same bits.
//
// Package array, above this one, decides which operations fuse. It guarantees that a Call has a
// program and that its views lie inside their buffers; this package does not check that.
package fused
