package nn

import (
	"fmt"
	"iter"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// Module is a layer, or consists of several layers.
type Module interface {
	// Parts lists the parameters and modules that the module consists of, in a fixed
	// order.
	Parts() []Part
}

// Part is a parameter or a module that belongs to another module. The names of the
// parameters in it begin with its name and a dot. A module without a name adds no prefix.
type Part struct {
	Name      string
	Parameter *Parameter // either this or Module
	Module    Module
}

// Modules returns a module and all modules in it, each with its name; the first has none.
func Modules(m Module) iter.Seq2[string, Module] {
	return func(yield func(string, Module) bool) { modules("", m, yield) }
}

func modules(name string, m Module, yield func(string, Module) bool) bool {
	if !yield(name, m) {
		return false
	}
	for _, p := range m.Parts() {
		if p.Module != nil && !modules(join(name, p.Name), p.Module, yield) {
			return false
		}
	}
	return true
}

// Parameters returns all parameters of a module, each with its name.
func Parameters(m Module) iter.Seq2[string, *Parameter] {
	return func(yield func(string, *Parameter) bool) {
		for name, m := range Modules(m) {
			for _, p := range m.Parts() {
				if p.Parameter != nil && !yield(join(name, p.Name), p.Parameter) {
					return
				}
			}
		}
	}
}

func join(outer, name string) string {
	if outer == "" || name == "" {
		return outer + name
	}
	return outer + "." + name
}

// To moves the parameters of a module to a device, and frees the arrays that they had. If
// one cannot be moved, none is.
func To(m Module, d *device.Device) error {
	return array.NewOperation("nn.To", nil).Wrap(replace(m, func(a *gpk.Array) *gpk.Array { return a.To(d) }))
}

// Cast converts the floating-point parameters of a module to dt, and frees the arrays that
// they had. If one cannot be converted, none is. A dt that is not a floating-point type is
// ErrDType.
func Cast(m Module, dt gpk.DType) error {
	op := array.NewOperation("nn.Cast", nil)
	if !dt.IsFloat() {
		return op.Wrap(fmt.Errorf("%w: parameters cannot have type %v; choose a floating-point type", gpk.ErrDType, dt))
	}
	return op.Wrap(replace(m, func(a *gpk.Array) *gpk.Array {
		if a.DType() == dt || !a.DType().IsFloat() {
			return a
		}
		return a.Cast(dt)
	}))
}

// replace sets every parameter to the array that f makes from its array, and frees the
// previous array. Layers that share a parameter share the new array too.
func replace(m Module, f func(*gpk.Array) *gpk.Array) error {
	type change struct {
		p        *Parameter
		old, now *gpk.Array
	}
	var changes []change
	made := map[*gpk.Array]*gpk.Array{}
	undo := func() {
		for old, now := range made {
			if now != old {
				now.Free()
			}
		}
	}
	for name, p := range Parameters(m) {
		old := p.Array()
		now := made[old]
		if now == nil {
			now = f(old)
			if err := gpk.Eval(now); err != nil {
				undo()
				return fmt.Errorf("parameter %s: %w", name, err)
			}
			made[old] = now
		}
		changes = append(changes, change{p, old, now})
	}
	for _, c := range changes {
		c.p.array = c.now
	}
	forget(m)
	for old, now := range made {
		if now != old {
			old.Free()
		}
	}
	return nil
}

// forget frees the arrays that layers have derived from their parameters.
func forget(m Module) {
	for _, m := range Modules(m) {
		if m, ok := m.(interface{ free() }); ok {
			m.free()
		}
	}
}

// Free frees the arrays of all parameters, and those derived from them. The module must
// not be used afterwards.
func Free(m Module) {
	forget(m)
	for _, p := range Parameters(m) {
		p.array.Free()
	}
}

// SetPrecision sets the precision of all products in a module; see matmul.Precision.
func SetPrecision(m Module, p matmul.Precision) {
	for _, m := range Modules(m) {
		if m, ok := m.(interface{ setPrecision(matmul.Precision) }); ok {
			m.setPrecision(p)
		}
	}
}
