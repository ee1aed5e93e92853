// Package fused computes chains of element-wise operations, with a reduction at
// their end where there is one, as one piece of work.
//
// A Program says what a chain computes: operations, types and how its operands
// lie, but neither addresses nor lengths nor numbers. A Call is a program with
// these. Run executes a call: on the CPU block by block in the cache, on a GPU
// by the kernel that was compiled for the program or, where there is none, by
// the single operations of package ops. All three round every step to its type
// and give the same bits.
//
// What is fused with what is decided above, in package array, which also sees to it
// that a Call has a program, whose views lie in their buffers: that is not checked here.
package fused
