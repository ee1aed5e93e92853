package dist

import (
	"testing"

	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as they go.
func TestNil(t *testing.T) {
	d := cpu(t, 1)[0]
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { g, _ := Local(d); return g },
			func() any {
				g, _ := Local(d)
				return newComm(t.Context(), g.ranks[0], "nil")
			},
			func() any { return &RankError{} },
			func() any { return Sum },
		},
		Functions: map[string]any{
			"Local": Local, "OnDevice": OnDevice, "OnDevices": OnDevices, "Timeout": Timeout, "Silence": Silence, "Engine": Engine, "Environment": Environment,
		},
		Except: map[string]string{"Join": "it reads the environment of the test"},
	})
}
