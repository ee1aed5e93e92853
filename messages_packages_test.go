package gpk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/interop/gonum"
	"github.com/gpk-go/gpk/interop/safetensors"
	"github.com/gpk-go/gpk/linalg"
	"github.com/gpk-go/gpk/nn"
	"github.com/gpk-go/gpk/serve/batch"
	"github.com/gpk-go/gpk/serve/unified"
	"github.com/gpk-go/gpk/serve/worker"
)

// TestMessagesOfPackages checks what errors of common mistakes with the packages above gpk say: the place, the
// operands as the program has them, and what to do.
func TestMessagesOfPackages(t *testing.T) {
	ones := func(shape ...int) *gpk.Array { return gpk.Ones(gpk.Float32, shape...) }
	parsed := func(text string) error { return json.Unmarshal([]byte(text), new(gpk.Array)) }
	vector := func(n, inc int) error {
		return gonum.FromVector(blas64.Vector{N: n, Inc: inc, Data: []float64{1, 2}}).Err()
	}
	closed, comm := closedGroup(t)
	nothing := func(context.Context, *dist.Comm) error { return nil }
	w := worker.New("w", func(*worker.Context, int) (int, error) { return 0, nil }, worker.Options{})
	for name, c := range map[string]struct {
		err       error
		want, not string
	}{
		"a vector of another length":   {linalg.Solve(ones(3, 3), ones(4)).Err(), "b is [4]: b must have as many elements as a has rows, 3", "[4 1]"},
		"a matrix of another length":   {linalg.Solve(ones(3, 3), ones(4, 2)).Err(), "b is [4 2]: b must have as many rows as a has rows, 3", ""},
		"Inc 0":                        {vector(2, 0), "Inc is 0; it must be at least 1", "stride"},
		"a short vector":               {vector(2, 2), "N is 2 and Inc is 2, but Data has 2 elements", "stride"},
		"nested JSON":                  {parsed(`{"dtype":"float32","shape":[2,2],"data":[[1,2],[3,4]]}`), "one flat list of all elements in row-major order", "strconv"},
		"nested complex JSON":          {parsed(`{"dtype":"complex64","shape":[1,2],"data":[[[1,2],[3,4]]]}`), "one flat list of all elements in row-major order", "strconv"},
		"a list in JSON":               {parsed(`[[1,2],[3,4]]`), `{"dtype":"float32","shape":[2,2],"data":[1,2,3,4]}`, "textual"},
		"JSON with a large number":     {parsed(`{"dtype":"int8","shape":[1],"data":[300]}`), "element 0, 300: the element type cannot hold it", "strconv"},
		"JSON with a fraction":         {parsed(`{"dtype":"int8","shape":[1],"data":[1.5]}`), "element 0, 1.5: it is not a number of the element type", "strconv"},
		"JSON with another shape":      {parsed(`{"dtype":"int8","shape":2,"data":[1,2]}`), "field shape is a number, not []int", "textual"},
		"JSON without a shape":         {parsed(`{"dtype":"int8","data":[1,2]}`), "field shape is missing", ""},
		"Run of a closed group":        {closed.Run(t.Context(), nothing), "dist.Local and dist.Join make one", ""},
		"Run without a function":       {closed.Run(t.Context(), nil), "messages_packages_test.go:", ""},
		"AllReduce of a closed group":  {comm.AllReduce(ones(2), dist.Sum).Err(), "dist.Local and dist.Join make another", ""},
		"Barrier of a closed group":    {comm.Barrier(t.Context()), "dist.Barrier at ", ""},
		"Run after a failure":          {failedTwice(t), "has failed in an earlier Run; close it, and make another with dist.Local or dist.Join", ""},
		"a worker before Launch":       {w.Send(t.Context(), 1, worker.Normal), "it is created; call Launch first, then Activate", ""},
		"Activate before Launch":       {w.Activate(t.Context()), "no transition from created to active; call Launch first, then Activate", ""},
		"Drain before Launch":          {w.Drain(t.Context()), "no transition from created to draining; Terminate ends it", ""},
		"Hold outside of a worker":     {new(worker.Context).Hold(ones(1)).Err(), "worker.Hold at ", "Failed"},
		"a product of a batch":         {batch.MatMuls([]*gpk.Array{ones(2, 3)}, []*gpk.Array{ones(2, 3)})[0].Err(), "batch.MatMuls([2 3] float32, [2 3] float32)", "item 0("},
		"a tensor that is missing":     {missingTensor(t), `it has no tensor "b"; Names lists the 1 that it has`, "file does not exist"},
		"a freed buffer":               {freedBuffer(t).Add(1).Err(), "freed by Free at ", "unified/"},
		"a layer without weights":      {nn.NewLinear(3, 2, false).Forward(ones(1, 3)).Err(), "call Set, or fill the module with nn.Load", "Failed"},
		"attention of a flat sequence": {nn.NewMultiHeadAttention(4, 2, 2, 2, true).Forward(ones(2, 4), gpk.AttentionOptions{}).Err(), "[batch, seq, width]; set opts.Offsets", "Failed"},
	} {
		if text := fmt.Sprint(c.err); !strings.Contains(text, c.want) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: %q does not contain %q, or contains %q", name, text, c.want, c.not)
		}
	}
}

// missingTensor returns the error of a name that a file does not have.
func missingTensor(t *testing.T) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.safetensors")
	if err := safetensors.WriteFile(path, map[string]*gpk.Array{"a": gpk.Ones(gpk.Float32, 1)}, nil); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = f.Load("b")
	return err
}

// freedBuffer returns the array of a unified buffer that is closed.
func freedBuffer(t *testing.T) *gpk.Array {
	t.Helper()
	u, err := unified.New[float32](2, nil, unified.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := u.Device(unified.Read)
	if err = errors.Join(err, u.Close()); err != nil {
		t.Fatal(err)
	}
	return a
}

// closedGroup returns a group that was closed, and the Comm of one of its ranks.
func closedGroup(t *testing.T) (g *dist.Group, kept *dist.Comm) {
	t.Helper()
	g = group(t)
	if err := g.Run(t.Context(), func(_ context.Context, c *dist.Comm) error {
		if c.Rank() == 0 {
			kept = c
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return g, kept
}

// failedTwice returns the error of a Run after one that has failed.
func failedTwice(t *testing.T) error {
	t.Helper()
	g := group(t)
	defer g.Close()
	if g.Run(t.Context(), func(context.Context, *dist.Comm) error { return gpk.ErrShape }) == nil {
		t.Error("no error")
	}
	return g.Run(t.Context(), func(context.Context, *dist.Comm) error { return nil })
}

func group(t *testing.T) *dist.Group {
	t.Helper()
	cpu, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	g, err := dist.Local(cpu, cpu)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
