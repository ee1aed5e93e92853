// Package site makes the errors of the interop packages, which name the line of the
// user's program.
//
// What belongs here: the errors that all interop packages share. What does not: how the
// line is found, which is in package callsite.
package site

import (
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/callsite"
)

const (
	parent = "github.com/gpk-go/gpk/interop/"
	self   = parent + "internal/site"
	file   = "github.com/gpk-go/gpk/internal/atomicfile" // its functions call back into their callers
	tensor = "gorgonia.org/tensor"                       // it calls the engine of package gorgonia
)

// Fail returns an OpError for the exported function name of package interop/pkg. If err
// is an OpError whose site is a line of that package, Fail keeps its shapes and types and
// drops its site. If its site is a line of the user's program, the text keeps it.
func Fail(pkg, name string, err error) error {
	if err == nil {
		return nil
	}
	at := callsite.Search(self, file, tensor, parent+pkg)
	e := &gpk.OpError{Op: pkg + "." + name, Site: at.Outside(self, file, tensor, parent+pkg), Err: err}
	if inner, ok := err.(*gpk.OpError); ok && within(pkg, inner.Site) { //nolint:errorlint // only the outermost error
		e.Shapes, e.DTypes, e.Err = inner.Shapes, inner.DTypes, inner.Err
	}
	return e
}

// within reports whether a site is a line of package interop/pkg outside its tests.
func within(pkg, site string) bool {
	return strings.HasPrefix(site, pkg+"/") && !strings.Contains(site, "_test.go:")
}
