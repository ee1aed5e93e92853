// Package expr holds the vocabulary of element-wise operations and reductions:
// their numbers, which the kernel library shares, and their names.
//
// It is a leaf. What an operation means for a type stands in package ops,
// how it is computed in internal/cpu and cutlass.
package expr

import "fmt"

// Op is an operation on elements. The numbers are part of the kernel
// library's ABI: new operations are appended.
type Op int

// The operations. Unary ones start at Neg, binary ones at Add, reductions
// at Sum.
const (
	None Op = 0

	Neg      Op = 1
	Conj     Op = 2
	ReLU     Op = 3
	GELU     Op = 4
	GELUTanh Op = 5
	SiLU     Op = 6

	Add Op = 100
	Sub Op = 101
	Mul Op = 102
	Div Op = 103

	Sum Op = 200
)

var names = [...]string{
	Neg: "Neg", Conj: "Conj", ReLU: "ReLU", GELU: "GELU", GELUTanh: "GELUTanh", SiLU: "SiLU",
	Add: "Add", Sub: "Sub", Mul: "Mul", Div: "Div",
	Sum: "Sum",
}

// String returns the operation's name as the method of Array has it.
func (o Op) String() string {
	if o > 0 && int(o) < len(names) && names[o] != "" {
		return names[o]
	}
	return fmt.Sprintf("Op(%d)", int(o))
}
