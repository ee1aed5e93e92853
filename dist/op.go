package dist

import "strconv"

// Op is the operation of a reduction over the elements of all ranks.
//
// Sum and Mean of 16-bit floating-point types add in float32 and round once; with NCCL they round after
// every addition, in NCCL's order. Integers wrap in Sum and Prod; Mean of integers is ErrDType, as is
// arithmetic on Bool. Max of Bool is "or", and Min is "and". Max and Min propagate NaN; for complex
// numbers they are ErrDType.
type Op int

// The operations.
const (
	Sum Op = iota
	Mean
	Prod
	Max
	Min
)

var opNames = [...]string{"Sum", "Mean", "Prod", "Max", "Min"}

// String returns the name of the operation.
func (o Op) String() string {
	if !o.valid() {
		return "Op(" + strconv.Itoa(int(o)) + ")"
	}
	return opNames[o]
}

func (o Op) valid() bool { return o >= 0 && int(o) < len(opNames) }
