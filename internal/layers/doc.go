// Package layers has the layers of neural networks that package fused computes as one
// operation: their operands, their errors, and their results as arrays. Package gpk
// exports them.
//
// What belongs here: a layer that is one operation on arrays. What does not:
// its kernels and plans (package fused), ordinary operations (package
// array), and modules with weights (package nn).
package layers
