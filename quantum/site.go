package quantum

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/callsite"
)

// fail returns an OpError for the exported function op of this package, which the
// user's program called at s.
func fail(s callsite.Site, op string, err error) error {
	return &gpk.OpError{Op: "quantum." + op, Site: s.Outside("github.com/gpk-go/gpk/quantum"), Err: err}
}
