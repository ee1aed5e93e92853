// Package matmul plans and runs matrix products.
//
// A Problem describes a product. Choose is a pure function that turns it and a device's
// capabilities into a Plan: the kernel from the manifest, its tile, and the steps before
// and after it (pad, transpose, pack, copy out). Product.Run executes a plan on device
// views and decides nothing.
//
// Shapes, broadcasting and messages to the user belong to package array; kernels belong to
// cutlass and internal/cpu.
package matmul
