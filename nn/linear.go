package nn

import (
	"fmt"
	"sync"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/matmul"
)

// Activation is a function that is applied to the result of a product.
type Activation uint8

// The activations.
const (
	Identity Activation = iota
	GELU                // the erf form
	GELUTanh            // the tanh form
	ReLU
	SiLU
)

var activationNames = map[string]Activation{
	"linear": Identity, "gelu": GELU, "gelu_new": GELUTanh, "gelu_pytorch_tanh": GELUTanh,
	"relu": ReLU, "silu": SiLU, "swish": SiLU,
}

// ParseActivation returns the activation with the name that model configurations use. Other
// names are ErrUnsupported.
func ParseActivation(name string) (Activation, error) {
	a, ok := activationNames[name]
	if !ok {
		return a, fmt.Errorf("%w: the activation %q is not one of linear, gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish", gpk.ErrUnsupported, name)
	}
	return a, nil
}

// Linear is act(x w^T + b), with w as [out, in] and b as [out]; see gpk.Linear. The first
// Forward packs the weight, and so does the first Forward after the weight has changed. The
// packed form takes as much additional memory as the weight. On the CPU it takes twice as
// much if the weight is Float32 or Float64 and a Forward has had more than four rows.
type Linear struct {
	Weight, Bias *Parameter // Bias may be nil
	Activation   Activation
	Precision    matmul.Precision
	weight       derived
}

// NewLinear returns a layer from in to out features. Its parameters are not set.
func NewLinear(in, out int, bias bool) *Linear {
	l := &Linear{Weight: NewParameter(out, in)}
	if bias {
		l.Bias = NewParameter(out)
	}
	return l
}

// Parts implements Module.
func (l *Linear) Parts() []Part {
	parts := []Part{{Name: "weight", Parameter: l.Weight}}
	if l.Bias != nil {
		parts = append(parts, Part{Name: "bias", Parameter: l.Bias})
	}
	return parts
}

// Forward returns [..., out] for x of [..., in].
func (l *Linear) Forward(x *gpk.Array) *gpk.Array {
	w := l.weight.packed(l.Precision, l.Weight)
	var bias *gpk.Array
	if l.Bias != nil {
		bias = l.Bias.Array()
	}
	return linear(x, w, bias, l.Activation, l.Precision)
}

func linear(x, w, bias *gpk.Array, act Activation, p matmul.Precision) *gpk.Array {
	switch act {
	case GELU:
		return gpk.LinearBiasGELU(x, w, bias, p)
	case GELUTanh:
		return gpk.LinearBiasGELUTanh(x, w, bias, p)
	case ReLU:
		return gpk.LinearBiasReLU(x, w, bias, p)
	case SiLU:
		return gpk.LinearBiasSiLU(x, w, bias, p)
	}
	return gpk.Linear(x, w, bias, p)
}

func (l *Linear) setPrecision(p matmul.Precision) { l.Precision = p }

func (l *Linear) free() { l.weight.free() }

// derived is an array that was computed from parameters. It is kept until a parameter or
// the precision changes.
type derived struct {
	mu        sync.Mutex
	precision matmul.Precision
	from      []array.Version
	array     *gpk.Array
}

// packed returns the packed form of weights, concatenated along the first axis.
func (k *derived) packed(p matmul.Precision, weights ...*Parameter) *gpk.Array {
	return k.keep(p, weights, func(w []*gpk.Array) *gpk.Array {
		if len(w) == 1 {
			return gpk.Pack(w[0], p)
		}
		whole := gpk.Concat(0, w...)
		defer whole.Free()
		return gpk.Pack(whole, p)
	})
}

// joined returns parameters, concatenated along the first axis.
func (k *derived) joined(list ...*Parameter) *gpk.Array {
	return k.keep(matmul.Default, list, func(a []*gpk.Array) *gpk.Array { return gpk.Concat(0, a...) })
}

func (k *derived) keep(p matmul.Precision, list []*Parameter, f func([]*gpk.Array) *gpk.Array) *gpk.Array {
	k.mu.Lock()
	defer k.mu.Unlock()
	same := k.array != nil && k.precision == p && len(k.from) == len(list)
	for i := 0; same && i < len(list); i++ {
		same = k.from[i] == list[i].Array().Version()
	}
	if same {
		return k.array
	}
	arrays, versions := make([]*gpk.Array, len(list)), make([]array.Version, len(list))
	for i, w := range list {
		arrays[i] = w.Array()
		versions[i] = arrays[i].Version()
	}
	a := f(arrays)
	if a.Err() != nil {
		return a
	}
	k.array.Free()
	k.precision, k.from, k.array = p, versions, a
	return a
}

func (k *derived) free() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.array.Free()
	k.array, k.from = nil, nil
}
