package nn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/interop/safetensors"
)

// Weights are arrays with names, such as those of a safetensors file; see FromFile.
type Weights interface {
	Names() []string
	// Load returns the array with a name. The caller frees it.
	Load(name string) (*gpk.Array, error)
}

// SlicedWeights are Weights that can load a part of an array without the rest. Those of FromFile can. Load
// uses them for the parameters of parallel layers.
type SlicedWeights interface {
	Weights
	// Shape returns the shape of the named array.
	Shape(name string) ([]int, error)
	// LoadSlice returns the elements start to stop-1 along an axis. The caller frees them.
	LoadSlice(name string, axis, start, stop int) (*gpk.Array, error)
}

// FromFile returns the arrays of a file as Weights. opts are the options of its Load.
func FromFile(f *safetensors.File, opts ...safetensors.Option) Weights { return fileWeights{f, opts} }

type fileWeights struct {
	*safetensors.File
	opts []safetensors.Option
}

// Load implements Weights.
func (w fileWeights) Load(name string) (*gpk.Array, error) { return w.File.Load(name, w.opts...) }

// Shape implements SlicedWeights.
func (w fileWeights) Shape(name string) ([]int, error) {
	info, err := w.Info(name)
	return info.Shape, err
}

// LoadSlice implements SlicedWeights.
func (w fileWeights) LoadSlice(name string, axis, start, stop int) (*gpk.Array, error) {
	return w.File.LoadSlice(name, axis, start, stop, w.opts...)
}

// LoadOptions are the options of Load. The zero value looks for each parameter under its own name.
type LoadOptions struct {
	Prefix string    // prefix of the names in the weights, such as "encoder."; names without it belong to other parts of the model, and Load skips them
	Ignore []string  // names in the weights, with the prefix, for which the module needs no parameter
	DType  gpk.DType // floating-point type of the parameters; the zero value: that of the weights
}

// LoadError lists all differences between a module and the weights that were to fill it. It is ErrShape.
type LoadError struct {
	Missing    []string // parameters that the weights lack, each with its shape
	Unexpected []string // weights that the module has no parameter for
	Wrong      []string // parameters whose weights have another shape or type, with both
	Prefix     string   // a LoadOptions.Prefix with which no parameter is missing, or ""
}

// named is the number of names that Error lists for each kind.
const named = 8

// Error implements error. For each kind it lists the first names, and the number of the others.
func (e *LoadError) Error() string {
	var parts []string
	for _, p := range []struct {
		what  string
		names []string
	}{{"missing", e.Missing}, {"unexpected", e.Unexpected}, {"wrong shape or type", e.Wrong}} {
		if n := len(p.names); n > 0 {
			text := p.what + ": " + strings.Join(p.names[:min(n, named)], ", ")
			if n > named {
				text += fmt.Sprintf(" and %d more", n-named)
			}
			parts = append(parts, text)
		}
	}
	if e.Prefix != "" {
		parts = append(parts, fmt.Sprintf("with LoadOptions.Prefix %q all names are found", e.Prefix))
	}
	return "the weights do not fit the module: " + strings.Join(parts, "; ")
}

// Unwrap returns ErrShape.
func (e *LoadError) Unwrap() error { return gpk.ErrShape }

// Load fills the parameters of a module from weights, and frees the arrays that they had. If parameters are
// missing, unexpected or of the wrong shape, it changes nothing and returns a *LoadError that lists all of
// them. A DType that is not a floating-point type is ErrDType. A parameter with several names in the module is
// loaded once, by any of these names. For a parallel layer, Load loads the rank's parts of the parameters; from
// SlicedWeights it reads only these.
func Load(m Module, from Weights, o LoadOptions) error {
	return array.NewOperation("nn.Load", nil).Wrap(fill(m, from, o))
}

// fill is Load without the name and the line in its errors.
func fill(m Module, from Weights, o LoadOptions) error {
	if o.DType.Valid() && !o.DType.IsFloat() {
		return fmt.Errorf("%w: parameters cannot have type %v; choose a floating-point type", gpk.ErrDType, o.DType)
	}
	var wrong LoadError
	left := map[string]bool{}
	for _, name := range from.Names() {
		if strings.HasPrefix(name, o.Prefix) {
			left[name] = true
		}
	}
	for _, name := range o.Ignore {
		delete(left, name)
	}
	loaded, missing := map[*Parameter]*gpk.Array{}, map[*Parameter]string{}
	discard := func() {
		for _, a := range loaded {
			a.Free()
		}
	}
	var order []*Parameter
	for name, p := range Parameters(m) {
		name = o.Prefix + name
		if !left[name] {
			if missing[p] == "" {
				order, missing[p] = append(order, p), name
			}
			continue
		}
		delete(left, name)
		if _, found := loaded[p]; found { // nil if the part was not read
			continue
		}
		a, fault, err := load(from, name, p, o.DType)
		if err != nil {
			discard()
			return err
		}
		if loaded[p] = a; fault != "" {
			wrong.Wrong = append(wrong.Wrong, fault)
		}
	}
	for _, p := range order {
		if _, found := loaded[p]; !found {
			wrong.Missing = append(wrong.Missing, fmt.Sprintf("%s %v", missing[p], p.shape))
		}
	}
	wrong.Unexpected = slices.Sorted(maps.Keys(left))
	if len(wrong.Missing)+len(wrong.Unexpected)+len(wrong.Wrong) > 0 {
		discard()
		if len(wrong.Missing) > 0 {
			wrong.Prefix = prefixOf(m, from.Names())
		}
		return &wrong
	}
	forget(m)
	for p, a := range loaded {
		p.array.Free()
		p.array = a
	}
	return nil
}

// prefixOf returns the first prefix with which names has all parameters of m, or "".
func prefixOf(m Module, names []string) string {
	var wanted []string
	for name := range Parameters(m) {
		wanted = append(wanted, name)
	}
	given := map[string]bool{}
	for _, name := range names {
		given[name] = true
	}
	for _, name := range names {
		prefix, found := strings.CutSuffix(name, wanted[0])
		if found && !slices.ContainsFunc(wanted, func(s string) bool { return !given[prefix+s] }) {
			return prefix
		}
	}
	return ""
}

// load returns the weight of a parameter, converted to dt unless dt is Invalid. If the weight cannot be
// used, it returns the reason.
func load(from Weights, name string, p *Parameter, dt gpk.DType) (a *gpk.Array, fault string, err error) {
	a, shape, err := read(from, name, p)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	switch {
	case !slices.Equal(shape, p.wholeShape()):
		return a, fmt.Sprintf("%s is %v, not %v", name, shape, p.wholeShape()), nil
	case !a.DType().IsFloat():
		return a, fmt.Sprintf("%s is %v, which is not a floating-point type", name, a.DType()), nil
	case !dt.Valid() || a.DType() == dt:
		return a, "", nil
	}
	defer a.Free()
	b := a.Cast(dt)
	if err := gpk.Eval(b); err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	return b, "", nil
}

// read returns the array of a parameter, or the rank's part of it, and the shape of the whole array. If that
// is not the shape of the whole parameter, it reads no part.
func read(from Weights, name string, p *Parameter) (a *gpk.Array, shape []int, err error) {
	if p.slice == nil {
		if a, err = from.Load(name); err == nil {
			shape = a.Shape()
		}
		return a, shape, err
	}
	axis, start, stop := p.slice.axis, p.slice.start, p.slice.start+p.shape[p.slice.axis]
	if sliced, ok := from.(SlicedWeights); ok {
		if shape, err = sliced.Shape(name); err != nil || !slices.Equal(shape, p.wholeShape()) {
			return nil, shape, err
		}
		a, err = sliced.LoadSlice(name, axis, start, stop)
		return a, shape, err
	}
	all, err := from.Load(name)
	if err != nil {
		return nil, nil, err
	}
	if shape = all.Shape(); !slices.Equal(shape, p.wholeShape()) {
		return all, shape, nil
	}
	defer all.Free()
	a = all.Slice(axis, start, stop).Clone()
	if err = gpk.Eval(a); err != nil {
		a.Free()
	}
	return a, shape, err
}
