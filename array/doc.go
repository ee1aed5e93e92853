// Package array is the Array: its methods, views, sticky errors, the graph of pending
// operations behind them, printing, and copies from and to Go slices.
//
// A node is an operation, and refers to the contents of its operands. Contents are the
// elements that an array has between two writes: a node that has not run, or one version of
// a memory. An array and its views share a storage, which has the current contents and the
// scope and knows whether the memory is fixed. A scheduler guards the arrays of a device.
// docs/values.md explains what this means for a program.
//
// An operation checks shapes and types on its line, and runs when its result is needed.
// Packages ops, matmul and fused compute it; memory, streams and devices are in package
// device.
//
// Users import package gpk, which re-exports everything here.
package array
