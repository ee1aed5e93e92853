// Package layers holds the layers of neural networks that package fused computes as one
// operation: what they take, what they refuse, and their results as arrays. Package gpk
// exports them.
//
// What belongs here: a layer that is one operation of its own on arrays. What does not:
// its kernels and plans (package fused), what ordinary operations make of it (package
// array), and modules with weights (package nn).
package layers
