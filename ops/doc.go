// Package ops holds the element-wise operations and reductions on
// device.View: the table of what each means for which type, and their
// dispatch to the CPU kernels (internal/cpu) or the kernel library (cutlass).
//
// Views arrive broadcast to one shape, with types that the table allows;
// deciding shapes and types, and saying so to the user, is array's work. They
// are not checked here: a layout that reaches outside its buffer, an axis that
// is not there or more elements than an axis has end the program, or read and
// write memory of others.
// Products live in matmul.
package ops
