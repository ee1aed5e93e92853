package quantum

import (
	"testing"

	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { return NewCircuit(3).H(0).RX(1, Feature(0)) },
			func() any { return NewCircuit(-1) },
			func() any { return Feature(1).Scale(2).Add(Const(1)) },
			func() any { return RYRZ },
			func() any { return Standard },
			func() any { return General },
			func() any { return Recompute },
			func() any { return Plan{Tile: 3} },
			func() any { return Report{} },
			func() any { return RankPlan{} },
		},
		Functions: map[string]any{
			"Const": Const, "Feature": Feature, "NewCircuit": NewCircuit, "BasicEntangler": BasicEntangler, "ZFeatureMap": ZFeatureMap,
			"ZZFeatureMap": ZZFeatureMap, "Gram": Gram, "Normalize": Normalize, "Center": Center, "CenterCross": CenterCross,
			"PlanGram": PlanGram, "MaxSamples": MaxSamples, "States": States, "MeasureRates": MeasureRates,
		},
	})
}
