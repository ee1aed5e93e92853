// Package ops holds the element-wise operations and reductions on
// device.View: the table of what each means for which type, and their
// dispatch to the CPU kernels (internal/cpu) or the kernel library (cutlass).
//
// Views arrive broadcast to one shape, with types that the table allows;
// deciding shapes and types, and saying so to the user, is array's work.
// Products live in matmul.
package ops
