// Package compose has the operations that are views of arrays or consist of other
// operations: their operands, their errors, and their steps.
//
// The functions are generic in the type of an array, because package array, above this one,
// has a method for each of them. internal/gen writes those methods and the functions of
// package gpk from the declarations here, with their comments; a line that begins with
// //gpk:row gives the section, result, types and meaning in docs/operations.md. A function
// with the line //gpk:step is only for packages of this module. A function whose first
// operand is named a also becomes a method. One whose first operand is a Draws becomes only
// a method of random.RNG. A function may have several results.
//
// What belongs here: operations that consist of those of package ops. What does not: kernels
// (package ops), layouts as values (package layout), layers (package internal/layers).
package compose
