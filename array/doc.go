// Package array is the Array: its methods, views, sticky errors, the open
// expressions behind them, printing and the way in and out of Go slices.
//
// An operation checks shapes and types on the line that asks for it, and is
// left open: it starts when its result is used, written into another array
// (Into), read, or in the way of a write to what it reads. What an operation
// means stands in ops and matmul; memory, streams and devices in device.
//
// Users import package gpk, which re-exports everything here.
package array
