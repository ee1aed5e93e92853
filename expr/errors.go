package expr

import "errors"

// ErrUnsupported is the error of a combination of operation, type and option that is
// meaningful but not implemented, such as a forced kernel that does not compute the type.
var ErrUnsupported = errors.New("unsupported")
