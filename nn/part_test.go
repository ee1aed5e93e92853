package nn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/nn"
)

// TestLoadPart fills a module from the weights of a larger model. Names without the prefix
// are skipped. A name with the prefix that the module lacks is unexpected.
func TestLoadPart(t *testing.T) {
	b, w := newBlock(), random(newBlock(), "model.layers.1.")
	w["model.layers.0.norm.weight"], w["lm_head.weight"] = gpk.Ones(gpk.Float32, 8), gpk.Ones(gpk.Int64, 1)
	o := nn.LoadOptions{Prefix: "model.layers.1."}
	if err := nn.Load(b, w, o); err != nil {
		t.Fatal(err)
	}
	w["model.layers.1.extra"] = gpk.Ones(gpk.Float32, 8)
	err := nn.Load(b, w, o)
	var wrong *nn.LoadError
	if !errors.As(err, &wrong) || strings.Join(wrong.Unexpected, " ") != "model.layers.1.extra" {
		t.Errorf("%v, want the one unexpected name", err)
	}
	if err := nn.Load(b, w, nn.LoadOptions{}); !errors.As(err, &wrong) || len(wrong.Unexpected) != len(w) {
		t.Errorf("without a prefix: %v, want %d unexpected names", err, len(w))
	}
	if wrong.Prefix != o.Prefix || !strings.Contains(wrong.Error(), `Prefix "model.layers.1."`) {
		t.Errorf("the prefix is %q: %v", wrong.Prefix, wrong)
	}
	delete(w, "model.layers.1.norm.weight")
	if err := nn.Load(b, w, nn.LoadOptions{}); !errors.As(err, &wrong) || wrong.Prefix != "" {
		t.Errorf("no prefix has all names: %v", err)
	}
}

// TestEmbeddingIDs checks ids at both ends of a table of three rows: they count as NumPy's do.
func TestEmbeddingIDs(t *testing.T) {
	e := nn.NewEmbedding(3, 1)
	if err := e.Weight.Set(gpk.FromSlice([]float32{10, 11, 12}, 3, 1)); err != nil {
		t.Fatal(err)
	}
	want(t, e.Forward(gpk.FromSlice([]int32{-3, -1, 0, 2})), 10, 12, 10, 12)
	for _, id := range []int64{-4, 3, 1 << 40} {
		if err := gpk.Eval(e.Forward(gpk.FromSlice([]int64{id}))); !errors.Is(err, gpk.ErrShape) {
			t.Errorf("id %d: %v, want ErrShape", id, err)
		}
	}
}
