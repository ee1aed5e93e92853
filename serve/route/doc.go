// Package route decides where an operation runs: on the CPU or on a GPU.
//
// Calibrate measures both devices once and keeps the result in gpk's cache folder: the cost of an
// operation by class, element type and size, and the cost of a copy between host and device.
// From these Model.Decide predicts an operation's time on both, in about a hundred nanoseconds and
// without an allocation, and returns the device to compute on.
//
//   - Data on the host go to the GPU if that is faster, the copies included.
//   - Data on the GPU stay there unless the CPU is more than 2 times as fast, the copy
//     included.
//   - An operation that needs more than 0.8 of the GPU's free memory runs on the CPU, or on the
//     GPU in tiles: the Reason says which.
//   - Without a GPU everything runs on the CPU.
//
// A Decision is advice: the program moves the arrays with To, and computes. The element
// type of a result never depends on the device. The precision of a float32 product does,
// unless the call names it: TF32 by default on a GPU, and the
// CPU is always as exact as FullPrecision.
//
// What belongs here: the cost of operations, and the choice. What does not: moving data
// (package unified, or To) and watching memory over time (package monitor).
package route
