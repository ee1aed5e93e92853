package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpk-go/gpk"
)

// Weights are named arrays, as those of a safetensors file.
type Weights interface {
	Names() []string
	// Load returns the array of a name. The caller frees it.
	Load(name string) (*gpk.Array, error)
}

// LoadOptions says how Load finds the parameters. The zero value looks for each under its
// own name.
type LoadOptions struct {
	Prefix string    // of the names in the weights
	Ignore []string  // names in the weights that the module has no parameter for, with their prefix
	DType  gpk.DType // of the parameters; Invalid is what the weights have
}

// LoadError lists everything that is wrong between a module and the weights it was to be
// filled from. It is ErrShape.
type LoadError struct {
	Missing    []string // parameters that the weights lack
	Unexpected []string // weights that the module has no parameter for
	Wrong      []string // parameters whose weights have another shape or type, and which
}

// Error implements error.
func (e *LoadError) Error() string {
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"missing", e.Missing}, {"unexpected", e.Unexpected}, {"wrong", e.Wrong}} {
		if len(p.names) > 0 {
			parts = append(parts, p.what+": "+strings.Join(p.names, ", "))
		}
	}
	return "the weights do not fit the module: " + strings.Join(parts, "; ")
}

// Unwrap returns ErrShape.
func (e *LoadError) Unwrap() error { return gpk.ErrShape }

// Load fills the parameters of a module from weights. It returns a *LoadError with all
// that is missing, unexpected or of the wrong shape, and then sets nothing.
func Load(m Module, from Weights, o LoadOptions) error {
	var wrong LoadError
	left := map[string]bool{}
	for _, name := range from.Names() {
		left[name] = true
	}
	for _, name := range o.Ignore {
		delete(left, name)
	}
	type loaded struct {
		p *Parameter
		a *gpk.Array
	}
	var list []loaded
	discard := func() {
		for _, l := range list {
			l.a.Free()
		}
	}
	for name, p := range Parameters(m) {
		name = o.Prefix + name
		if !left[name] {
			wrong.Missing = append(wrong.Missing, fmt.Sprintf("%s %v", name, p.shape))
			continue
		}
		delete(left, name)
		a, err := load(from, name, o.DType)
		if err != nil {
			discard()
			return err
		}
		list = append(list, loaded{p, a})
		if !slices.Equal(a.Shape(), p.shape) || !a.DType().IsFloat() {
			wrong.Wrong = append(wrong.Wrong, fmt.Sprintf("%s is %v %v, not %v of a floating-point type", name, a.Shape(), a.DType(), p.shape))
		}
	}
	for name := range left {
		wrong.Unexpected = append(wrong.Unexpected, name)
	}
	slices.Sort(wrong.Unexpected)
	if len(wrong.Missing)+len(wrong.Unexpected)+len(wrong.Wrong) > 0 {
		discard()
		return &wrong
	}
	for _, l := range list {
		l.p.array = l.a
	}
	return nil
}

// load returns the weight of a parameter, in type dt where that is one.
func load(from Weights, name string, dt gpk.DType) (*gpk.Array, error) {
	a, err := from.Load(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !dt.Valid() || a.DType() == dt || !a.DType().IsFloat() {
		return a, nil
	}
	defer a.Free()
	b := a.Cast(dt)
	if err := gpk.Eval(b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}
