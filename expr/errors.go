package expr

import "errors"

// ErrUnsupported is the error of a combination of operation, type and option
// that has a meaning but no implementation: of a kernel asked for a type that
// it does not compute, say.
var ErrUnsupported = errors.New("unsupported")
