// Package matmul plans and runs matrix products.
//
// A product is described by a Problem. Choose, a pure function, turns it and a
// device's capabilities into a Plan: the kernel from the manifest, its tile,
// and the steps before and after it (pad, transpose, pack, copy out). Product.Run
// executes a plan on device views and makes no choices.
//
// Shapes, broadcasting and messages to the user belong to package array;
// kernels to cutlass and internal/cpu.
package matmul
