// Package operror has the error of an operation on arrays: its name, its operands, and the line of the
// program that called it. Package array makes these errors, and package gpk re-exports the type.
package operror

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/callsite"
)

// OpError says which operation failed, on which operands, and where the program called it.
// It wraps the cause, one of the package's sentinel errors.
type OpError struct {
	Op     string
	Shapes [][]int
	DTypes []dtype.DType
	Site   string // dir/file.go:line of the first frame outside gpk's packages
	Err    error
}

// prefix begins every error. A cause that is an error of another operation is printed without it.
const prefix = "gpk: "

// Error prints "gpk: MatMul([2 3] float32, [4 5] float32) at app/main.go:12: …".
func (e *OpError) Error() string {
	if e == nil {
		return "gpk: a nil OpError"
	}
	var b strings.Builder
	b.WriteString(prefix + e.Op)
	if len(e.Shapes) > 0 {
		b.WriteString("(")
		for i, s := range e.Shapes {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprint(&b, s)
			if i < len(e.DTypes) {
				fmt.Fprintf(&b, " %v", e.DTypes[i])
			}
		}
		b.WriteString(")")
	}
	if e.Site != "" {
		b.WriteString(" at " + e.Site)
	}
	if e.Err != nil {
		b.WriteString(": " + strings.TrimPrefix(e.Err.Error(), prefix))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *OpError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// With adds the shape and type of an operand, or of the intended result, to an error, and
// returns the error.
func With(e *OpError, shape []int, dt dtype.DType) *OpError {
	e.Shapes, e.DTypes = append(e.Shapes, slices.Clone(shape)), append(e.DTypes, dt)
	return e
}

// Outside returns err as an error of a function of the package with the given import path, at the line outside that
// package that called it. nil stays nil.
func Outside(path, function string, err error) error {
	if err == nil {
		return nil
	}
	own := []string{path, "github.com/gpk-go/gpk/internal/operror"}
	name := path[strings.LastIndex(path, "/")+1:] + "." + function
	return &OpError{Op: name, Site: callsite.Search(own...).Outside(own...), Err: err}
}

// Named reports whether an error already names its operation.
func Named(err error) bool {
	var oe *OpError
	return errors.As(err, &oe)
}
