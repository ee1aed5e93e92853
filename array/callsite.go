package array

import "github.com/gpk-go/gpk/internal/callsite"

type site = callsite.Site

// here records the callers of the function that calls it. It is inlined, so it adds no
// frame.
func here() site { return callsite.Here() }
