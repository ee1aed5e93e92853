// Package matmul plans and runs matrix products.
//
// A product is described by a Problem. Choose, a pure function, turns it and a
// device's capabilities into a Plan: the kernel out of the manifest, its tile,
// and the steps around it (pad, transpose, pack, strip). Product.Run carries a
// plan out on device views, and is dull.
//
// Shapes, broadcasting and messages to the user belong to package array;
// kernels to cutlass and internal/cpu.
package matmul
