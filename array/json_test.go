package array_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// TestJSON marshals arrays inside of a value, and reads them back.
func TestJSON(t *testing.T) {
	type model struct {
		Name    string
		Weights *gpk.Array
		Bias    gpk.Array
	}
	w := gpk.FromSlice([]float32{1, 2, float32(math.Inf(-1)), 0.1, 5, 6}, 2, 3)
	m := model{Name: "m", Weights: w.Mul(2).T()} // pending, and a view
	if err := json.Unmarshal([]byte(`{"dtype":"int64","shape":[],"data":[7]}`), &m.Bias); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(&m)
	const want = `{"Name":"m","Weights":{"dtype":"float32","shape":[3,2],"data":[2,0.2,4,10,"-Inf",12]},"Bias":{"dtype":"int64","shape":[],"data":[7]}}`
	if err != nil || string(text) != want {
		t.Fatalf("%s (%v)\nwant\n%s", text, err, want)
	}
	var back model
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	same, err := gpk.Item[bool](back.Weights.Eq(w.Mul(2).T()).All())
	if err != nil || !same {
		t.Fatalf("the weights are %v (%v)", back.Weights, err)
	}
	if v, err := gpk.Item[int64](back.Bias.Add(1)); err != nil || v != 8 {
		t.Fatalf("the bias plus 1 is %v (%v)", v, err)
	}
}

// TestJSONErrors marshals arrays without elements, and unmarshals text that is not an
// array.
func TestJSONErrors(t *testing.T) {
	freed := gpk.Ones(gpk.Float32, 2)
	freed.Free()
	for _, c := range []struct {
		a    *gpk.Array
		want error
	}{
		{gpk.Ones(gpk.Float32, 2).Add(gpk.Ones(gpk.Float32, 3)), gpk.ErrShape},
		{freed, gpk.ErrFreed},
		{gpk.Pack(gpk.Ones(gpk.Float32, 2, 2)), gpk.ErrUnsupported},
		{new(gpk.Array), gpk.ErrShape},
	} {
		if text, err := json.Marshal(c.a); !errors.Is(err, c.want) {
			t.Errorf("%s (%v), want %v", text, err, c.want)
		}
	}
	old := gpk.Ones(gpk.Float32, 2)
	var op *gpk.OpError
	if err := json.Unmarshal([]byte(`{"dtype":"float32","shape":[3],"data":[1]}`), old); !errors.Is(err, gpk.ErrShape) || !errors.As(err, &op) || !strings.Contains(op.Site, "json_test.go") {
		t.Errorf("three elements of one: %v", err)
	}
	if v, err := gpk.ToSlice[float32](old); err != nil || v[1] != 1 {
		t.Errorf("what could not be read has changed its target: %v (%v)", v, err)
	}
}
