package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/enum"
)

// The bounds of a program.
const (
	MaxLeaves  = 8
	MaxScalars = 8
	MaxSteps   = 32
	MaxDepth   = 16 // length of the longest chain of dependent steps
	MaxDims    = 8  // axes of the shape
)

// Class is the access pattern of an operand over the shape of a call. The shape is
// collapsed: neighbouring dimensions with one common stride in each operand are merged. Row
// and Column occur only if the collapsed shape is [m, n].
type Class uint8

const (
	// Dense elements are in row-major order without gaps: element i of the shape is element
	// i of the operand.
	Dense Class = iota
	// Single is one element for all indices: every stride is 0.
	Single
	// Row has one element for each column: strides (0, 1), element i is i mod n.
	Row
	// Column has one element for each row: strides (1, 0), element i is i div n.
	Column
	// Strided is any other pattern. Each dimension has a stride, which may be 0 or
	// negative.
	Strided
)

var classNames = [...]string{Dense: "dense", Single: "single", Row: "row", Column: "column", Strided: "strided"}

// String returns the class in a word.
func (c Class) String() string { return enum.Name(c, "Class", classNames[:]...) }

// Leaf is an array that a program reads.
type Leaf struct {
	DType dtype.DType
	Class Class
}

// Ref names an argument of a step.
type Ref struct {
	Kind RefKind
	N    uint8 // index among the steps, leaves or scalars
}

// RefKind says what a Ref names.
type RefKind uint8

const (
	// ToStep is the result of an earlier step.
	ToStep RefKind = iota
	// ToLeaf is the element of a leaf.
	ToLeaf
	// ToScalar is a number. It is an argument of the call, not a part of the program.
	ToScalar
)

// String returns "%3", "leaf 0" or "scalar 1".
func (r Ref) String() string {
	switch r.Kind {
	case ToLeaf:
		return "leaf " + strconv.Itoa(int(r.N))
	case ToScalar:
		return "scalar " + strconv.Itoa(int(r.N))
	}
	return "%" + strconv.Itoa(int(r.N))
}

// Step is one operation on elements. It rounds to its type, as the separate operation does.
// A step of a half type is computed in float32 and rounded to the half type.
//
// Op is an operation of ops.Table, or None. It has kind Unary (one argument), Binary (two,
// of one type) or Ternary (three). Where takes the condition, of type Bool, first, and its
// other arguments have the type of the result. Clamp takes x, lo and hi, all of the type of
// the result. None is a cast of its one argument to DType, or a copy if the types are
// equal.
type Step struct {
	Op    Op
	DType dtype.DType // type of the result
	Args  [3]Ref
	N     int // number of Args
}

// Reduction folds the elements of the last step along some dimensions, as ops.Reduce does.
// The reduction tree is the same, and depends only on the number of terms and the type of
// the elements. On a GPU it may also be an operation along the last axis that keeps the
// shape, softmax or a norm, as in ops.Along and ops.Norm.
type Reduction struct {
	Op    Op          // an operation of kind Reduction, or along an axis; None: no reduction
	DType dtype.DType // type of the result
	Over  Over
}

// Over classifies the set of dimensions that a reduction folds. The call holds the set
// itself.
type Over uint8

const (
	// OverAll folds every dimension into one element.
	OverAll Over = iota
	// OverLast folds the second of two dimensions: the rows of [m, n].
	OverLast
	// OverFirst folds the first of two dimensions: the columns of [m, n].
	OverFirst
	// OverSome is any other set.
	OverSome
)

var overNames = [...]string{OverAll: "all", OverLast: "last", OverFirst: "first", OverSome: "some"}

// Program is a chain of steps in static single assignment: the arguments of a step are
// earlier steps, leaves or scalars. The last step is the result, or the operand of the
// reduction, and the result of every other step is used. A program contains only
// operations, types and classes, so that one compiled kernel computes all shapes, strides
// and numbers.
type Program struct {
	Leaves  []Leaf
	Scalars []dtype.DType
	Steps   []Step
	// Dst is Dense or Strided; with a reduction it is Dense.
	Dst       Class
	Rank      int // number of dimensions of the shape
	Reduction Reduction
}

// TypeOf returns the element type of an argument.
func (p *Program) TypeOf(r Ref) dtype.DType {
	switch r.Kind {
	case ToLeaf:
		return p.Leaves[r.N].DType
	case ToScalar:
		return p.Scalars[r.N]
	}
	return p.Steps[r.N].DType
}

// Result returns the element type of the program's result.
func (p *Program) Result() dtype.DType {
	if p.Reduction.Op != None {
		return p.Reduction.DType
	}
	return p.Steps[len(p.Steps)-1].DType
}

// LastReads returns for each step the last step that reads its result, 0 if none does.
func (p *Program) LastReads() (last [MaxSteps]int) {
	for i := range p.Steps {
		for _, a := range p.Steps[i].Args[:p.Steps[i].N] {
			if a.Kind == ToStep {
				last[a.N] = i
			}
		}
	}
	return last
}

// Key returns the program as text. Two programs have the same key if and only if they
// are equal:
//
//	rank 2; float32 dense, float32 row; scalar float32; %0 = Add leaf 0, leaf 1: float32; %1 = Mul %0, scalar 0: float32; dense
func (p *Program) Key() string {
	var b strings.Builder
	b.Grow(64 + 40*len(p.Steps))
	b.WriteString("rank ")
	b.WriteString(strconv.Itoa(p.Rank))
	for i, l := range p.Leaves {
		b.WriteString(separator(i))
		b.WriteString(l.DType.String())
		b.WriteByte(' ')
		b.WriteString(l.Class.String())
	}
	for i, dt := range p.Scalars {
		b.WriteString(separator(i))
		b.WriteString("scalar ")
		b.WriteString(dt.String())
	}
	for i := range p.Steps {
		b.WriteString("; %")
		b.WriteString(strconv.Itoa(i))
		b.WriteString(" = ")
		p.Steps[i].write(&b)
	}
	if r := p.Reduction; r.Op != None {
		fmt.Fprintf(&b, "; %v over %s: %v", r.Op, overNames[r.Over], r.DType)
	}
	b.WriteString("; ")
	b.WriteString(p.Dst.String())
	return b.String()
}

func separator(i int) string {
	if i == 0 {
		return "; "
	}
	return ", "
}

// write prints "Add leaf 0, %1: float32".
func (s *Step) write(b *strings.Builder) {
	b.WriteString(s.Name())
	for i, a := range s.Args[:s.N] {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte(' ')
		b.WriteString(a.String())
	}
	b.WriteString(": ")
	b.WriteString(s.DType.String())
}

// Name returns the operation's name.
func (s *Step) Name() string {
	if s.Op == None {
		return "Cast"
	}
	return s.Op.String()
}

// StepError is the error of one step of a program.
type StepError struct {
	Step int
	Err  error
}

// Error returns the cause's text.
func (e *StepError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }
