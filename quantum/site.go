package quantum

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/observe"
)

// site is the line of the user's program that called an exported function of this package.
type site struct{ callsite.Site }

// String returns the line as dir/file.go:line.
func (s site) String() string { return s.Outside("github.com/gpk-go/gpk/quantum") }

// beginOperation reports to the devices' observer that an exported function begins to
// compute on the CPU. On a GPU the launches are observed one by one.
func beginOperation(dev *device.Device, name string, s callsite.Site) *observe.Operation {
	if dev.Kind() != device.CPU {
		return nil
	}
	op := observe.Begin(dev.DefaultStream(), "quantum."+name, site{s})
	if op != nil {
		op.Whole = true
	}
	return op
}

// failed makes *err an OpError for the exported function op, which was called at s. op defers it.
func failed(err *error, s callsite.Site, op string) {
	if *err != nil {
		*err = fail(s, op, *err)
	}
}

// fail returns an OpError for the exported function op of this package, which the
// user's program called at s.
func fail(s callsite.Site, op string, err error) error {
	return &gpk.OpError{Op: "quantum." + op, Site: s.Outside("github.com/gpk-go/gpk/quantum"), Err: err}
}
