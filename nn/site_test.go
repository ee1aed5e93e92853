package nn_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/nn"
)

// TestSite checks that an error inside a layer names the line that called the layer, if it is
// found in the call and if it is found when the work runs.
func TestSite(t *testing.T) {
	ones := func(m nn.Module) nn.Module {
		for _, p := range nn.Parameters(m) {
			if err := p.Set(gpk.Ones(gpk.Float32, p.Shape()...)); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	bad, good := gpk.Ones(gpk.Float32, 1, 2, 3), gpk.Ones(gpk.Float32, 1, 2, 4)
	var opts gpk.AttentionOptions
	ragged := gpk.AttentionOptions{Offsets: gpk.FromSlice([]int32{0, 7})}
	table, linear := ones(nn.NewEmbedding(4, 3)).(*nn.Embedding), ones(nn.NewLinear(4, 5, true)).(*nn.Linear)
	norm, rms := ones(nn.NewLayerNorm(4, 1e-5)).(*nn.LayerNorm), ones(nn.NewRMSNorm(4, 1e-5)).(*nn.RMSNorm)
	mlp, gated := ones(nn.NewMLP(4, 8, nn.GELU, true)).(*nn.MLP), ones(nn.NewGatedMLP(4, 8, nn.ReLU, true)).(*nn.GatedMLP)
	attention := ones(nn.NewMultiHeadAttention(4, 2, 2, 2, true)).(*nn.MultiHeadAttention)
	var up *gpk.Array
	for name, f := range map[string]func() (want string, y *gpk.Array){
		"linear, not set":          func() (string, *gpk.Array) { return line(), nn.NewLinear(4, 5, true).Forward(good) },
		"linear":                   func() (string, *gpk.Array) { return line(), linear.Forward(bad) },
		"layer norm":               func() (string, *gpk.Array) { return line(), norm.Forward(bad) },
		"RMS norm":                 func() (string, *gpk.Array) { return line(), rms.Forward(bad) },
		"embedding, float ids":     func() (string, *gpk.Array) { return line(), table.Forward(bad) },
		"embedding, id outside":    func() (string, *gpk.Array) { return line(), table.Forward(gpk.FromSlice([]int32{4})) },
		"MLP":                      func() (string, *gpk.Array) { return line(), mlp.Forward(bad) },
		"gated MLP":                func() (string, *gpk.Array) { return line(), gated.Forward(bad) },
		"attention, rank":          func() (string, *gpk.Array) { return line(), attention.Forward(good.Squeeze(0), opts) },
		"attention, width":         func() (string, *gpk.Array) { return line(), attention.Forward(bad, opts) },
		"attention, wrong offsets": func() (string, *gpk.Array) { return line(), attention.Forward(good.Squeeze(0), ragged) },
		"positions":                func() (string, *gpk.Array) { return line(), nn.Positions(bad, 3) },
		"method value": func() (string, *gpk.Array) {
			forward := mlp.Forward
			runtime.KeepAlive(&forward)
			return line(), forward(bad)
		},
		"goroutine": func() (want string, y *gpk.Array) {
			done := make(chan struct{})
			go func() { defer close(done); want, y = line(), mlp.Forward(bad) }()
			<-done
			return want, y
		},
		"scope": func() (want string, y *gpk.Array) {
			_ = gpk.Scoped(func(s *gpk.Scope) error {
				want, y = line(), s.Keep(mlp.Forward(s.In(bad)))
				return nil
			})
			return want, y
		},
		"an operand with an error": func() (string, *gpk.Array) {
			want := line()
			up = linear.Forward(bad)
			return next(want), mlp.Forward(up)
		},
	} {
		want, y := f()
		var oe *gpk.OpError
		if err := gpk.Eval(y); !errors.As(err, &oe) {
			t.Errorf("%s: %v is no OpError", name, err)
		} else if oe.Site != want || oe.Op == "Failed" {
			t.Errorf("%s: the caller is at %s: %v", name, want, err)
		}
	}
}

// line returns the file and line of its caller.
func line() string {
	_, file, n, _ := runtime.Caller(1)
	return fmt.Sprintf("%s/%s:%d", filepath.Base(filepath.Dir(file)), filepath.Base(file), n)
}

// next returns the line after at.
func next(at string) string {
	var n int
	file := at[:strings.LastIndex(at, ":")+1]
	if _, err := fmt.Sscan(at[len(file):], &n); err != nil {
		panic(err)
	}
	return fmt.Sprint(file, n+1)
}
