// Package ops holds the element-wise operations and reductions on
// device.View: the table of their types and results, and their
// dispatch to the CPU kernels (internal/cpu) or the kernel library (cutlass).
//
// Callers pass views that are broadcast to one shape and have types that the table allows.
// Package array checks shapes and types and reports errors to the user. This
// package does not check them: a layout that reaches outside its buffer, or an axis
// or a range outside the shape, crashes the program or accesses other memory.
//
// Matrix products are in package matmul.
package ops
