package quantum

import (
	"errors"
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/enum"
)

// Embedding is the way in which BasicEntangler encodes a sample in the qubits.
type Embedding uint8

// The embeddings: RY(s x_i) on qubit i, and RY(s x_i) followed by RZ(s x_i).
const (
	RY Embedding = iota
	RYRZ
)

// String returns ry or ryrz.
func (e Embedding) String() string { return enum.Name(e, "Embedding", "ry", "ryrz") }

// EntanglerOptions are the options of BasicEntangler.
type EntanglerOptions struct {
	Embedding Embedding
	Reupload  bool    // embed before every layer, not only before the first
	Scale     float64 // factor of the features; 0 means 1
}

// BasicEntangler embeds feature i in qubit i and adds a layer for each row of weights
// [layers][qubits]: RX(w) on every qubit, then a ring of CX(i, i+1) (two qubits: one CX;
// one: none). If there are no layers, rows of different lengths or more than 4,194,304
// gates, the circuit carries an error. Without Reupload every layer is the same for all
// samples and does not change a kernel.
func BasicEntangler(weights [][]float64, o EntanglerOptions) *Circuit {
	s := callsite.Here()
	refuseAs := func(kind error, format string, args ...any) *Circuit {
		return &Circuit{err: fail(s, "BasicEntangler", fmt.Errorf("%w: %w", kind, fmt.Errorf(format, args...)))}
	}
	refuse := func(format string, args ...any) *Circuit { return refuseAs(gpk.ErrShape, format, args...) }
	if err := checkWeights(weights); err != nil {
		return refuse("%w", err)
	}
	q := len(weights[0])
	if q > maxQubits {
		return refuse("%d qubits; a circuit has at most %d", q, maxQubits)
	}
	if o.Embedding > RYRZ {
		return refuse("there is no %v", o.Embedding)
	}
	scale := o.Scale
	if scale == 0 {
		scale = 1
	}
	ring := q
	if q <= 2 {
		ring = q - 1
	}
	embeddings := 1
	if o.Reupload {
		embeddings = len(weights)
	}
	gates := (q+ring)*len(weights) + q*(1+int(o.Embedding))*embeddings
	if gates > maxGates {
		return refuseAs(gpk.ErrUnsupported, "%d layers of %d qubits are more than %d gates", len(weights), q, maxGates)
	}
	c := &Circuit{qubits: q, gates: make([]gate, 0, gates)}
	embed := func() {
		for i := range q {
			x := Feature(i).Scale(scale)
			c.add(s, gate{kind: gateRY, a: i, b: -1, angle: x})
			if o.Embedding == RYRZ {
				c.add(s, gate{kind: gateRZ, a: i, b: -1, angle: x})
			}
		}
	}
	for l, row := range weights {
		if l == 0 || o.Reupload {
			embed()
		}
		for i, w := range row {
			c.add(s, gate{kind: gateRX, a: i, b: -1, angle: Const(w)})
		}
		for i := range ring {
			c.add(s, gate{kind: gateCX, a: i, b: (i + 1) % q})
		}
	}
	return c
}

// checkWeights returns an error unless weights are [layers][qubits] and finite.
func checkWeights(weights [][]float64) error {
	if len(weights) == 0 || len(weights[0]) == 0 {
		return errors.New("weights are [layers][qubits], at least one of each")
	}
	for l, row := range weights {
		if len(row) != len(weights[0]) {
			return fmt.Errorf("weights are ragged: layer %d has %d, layer 0 has %d", l, len(row), len(weights[0]))
		}
		for i, w := range row {
			if math.IsNaN(w) || math.IsInf(w, 0) {
				return fmt.Errorf("weights[%d][%d] is %v", l, i, w)
			}
		}
	}
	return nil
}

// maxGates bounds the circuits made by one call.
const maxGates = 1 << 22

// ZFeatureMap applies H and P(2 x_i) to every qubit, reps times (Havlíček and others,
// arXiv 1804.11326, without its entanglement).
func ZFeatureMap(qubits, reps int) *Circuit {
	return featureMap(callsite.Here(), "ZFeatureMap", qubits, reps, false)
}

// ZZFeatureMap applies, reps times, H and P(2 x_i) to every qubit, and then for all i < j
// CX(i, j), P(2 (pi - x_i)(pi - x_j)) on j, and CX(i, j) (arXiv 1804.11326).
func ZZFeatureMap(qubits, reps int) *Circuit {
	return featureMap(callsite.Here(), "ZZFeatureMap", qubits, reps, true)
}

func featureMap(s callsite.Site, name string, qubits, reps int, pairs bool) *Circuit {
	if qubits < 1 || qubits > maxQubits || reps < 1 {
		return &Circuit{err: fail(s, fmt.Sprintf("%s(%d, %d)", name, qubits, reps), fmt.Errorf("%w: at least one repetition of 1 to %d qubits", gpk.ErrShape, maxQubits))}
	}
	gates := 2 * qubits
	if pairs {
		gates += 3 * qubits * (qubits - 1) / 2
	}
	if gates > maxGates/reps {
		return &Circuit{err: fail(s, fmt.Sprintf("%s(%d, %d)", name, qubits, reps), fmt.Errorf("%w: more than %d gates", gpk.ErrUnsupported, maxGates))}
	}
	c := &Circuit{qubits: qubits}
	for range reps {
		for i := range qubits {
			c.add(s, gate{kind: gateH, a: i, b: -1})
			c.add(s, gate{kind: gateP, a: i, b: -1, angle: Feature(i).Scale(2)})
		}
		for i := range qubits {
			for j := i + 1; j < qubits && pairs; j++ {
				c.add(s, gate{kind: gateCX, a: i, b: j})
				product := Const(math.Pi).Sub(Feature(i)).Mul(Const(math.Pi).Sub(Feature(j)))
				c.add(s, gate{kind: gateP, a: j, b: -1, angle: product.Scale(2)})
				c.add(s, gate{kind: gateCX, a: i, b: j})
			}
		}
	}
	return c
}
