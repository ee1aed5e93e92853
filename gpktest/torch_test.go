package gpktest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
)

// torchProblem is a problem as testdata/torch_attention.py reads it.
type torchProblem struct {
	Type          string
	Queries, Keys []int // shapes
	Causal        bool
}

// TestTorchAttention compares the rms errors of Attention and of PyTorch's kernel on the same inputs, on
// the default device, by 64 random rows of each problem in float64. GPK_TORCH_PYTHON is the path of a Python
// interpreter with PyTorch and NumPy. Of float32 in TF32 some products of PyTorch's composition are not in TF32,
// one query's among them; those are logged and not compared.
func TestTorchAttention(t *testing.T) {
	python := os.Getenv("GPK_TORCH_PYTHON")
	if python == "" {
		t.Skip("NOT RUN: GPK_TORCH_PYTHON names no Python with PyTorch, the other side")
	}
	dev := device.Default()
	if err := dev.Err(); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d, %v", seed, dev.Kind())
	s := &suite{dev: dev, rng: rand.New(rand.NewPCG(seed, 0))}
	cases, folder := s.torchCases(), t.TempDir()
	var problems []torchProblem
	for i, c := range cases {
		problems = append(problems, torchProblem{c.name, c.q.shape, c.k.shape, c.causal})
		for name, x := range map[string]tensor{"q": c.q, "k": c.k, "v": c.v} {
			noError(t, os.WriteFile(filepath.Join(folder, fmt.Sprint(i, ".", name)), singles(x), 0o600))
		}
	}
	list, err := json.Marshal(problems)
	noError(t, err)
	noError(t, os.WriteFile(filepath.Join(folder, "problems.json"), list, 0o600))
	command := exec.CommandContext(t.Context(), python, "testdata/torch_attention.py", folder, dev.Kind().String())
	command.Stderr = os.Stderr
	version, err := command.Output()
	noError(t, err)
	t.Log(strings.TrimSpace(string(version)))
	for i, c := range cases {
		data, err := os.ReadFile(filepath.Join(folder, fmt.Sprint(i, ".out")))
		noError(t, err)
		got := c.attend(t, s)
		if len(data) != 4*len(got.values) {
			t.Fatalf("%v: PyTorch's result has %d bytes, want %d", c, len(data), 4*len(got.values))
		}
		theirs := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))) }
		var own2, other2, want2 float64
		for range 64 {
			row := s.rng.IntN(c.batch * c.kvHeads * c.group * c.queries)
			for d, want := range c.rowResult(row) {
				at := row*c.dim + d
				own, other := real(got.values[at])-want, theirs(at)-want
				own2, other2, want2 = own2+own*own, other2+other*other, want2+want*want
			}
		}
		ratio := math.Sqrt(own2 / other2)
		n := float64(64 * c.dim)
		t.Logf("%s, queries %v, keys %v, causal %v: rms error %.3g, PyTorch's %.3g: %.2f", c.name, c.q.shape, c.k.shape, c.causal, math.Sqrt(own2/n), math.Sqrt(other2/n), ratio)
		if relative := math.Sqrt(other2 / want2); c.name == "tf32" && relative < 0x1p-18 {
			t.Logf("not compared: PyTorch's relative error of %.3g is not one of TF32 products", relative)
			continue
		}
		if !(ratio <= 1.5) || other2 == 0 {
			t.Errorf("%v: the rms error is %.3g times PyTorch's", c, ratio)
		}
	}
}

// torchCases returns problems for each kernel: short sequences, long ones with and without causality for each
// head size, grouped heads, and a step of a decoder.
func (s *suite) torchCases() []*attentionCase {
	var cases []*attentionCase
	for _, v := range attentionVarieties {
		if v.name == "fp64" || v.name == "tf32" && s.dev.Kind() == device.CPU {
			continue
		}
		for _, c := range []attentionCase{
			{batch: 3, kvHeads: 12, group: 1, queries: 37, keys: 37, dim: 32},
			{batch: 2, kvHeads: 4, group: 1, queries: 512, keys: 512, dim: 64},
			{batch: 1, kvHeads: 4, group: 1, queries: 1024, keys: 1024, dim: 64, causal: true},
			{batch: 1, kvHeads: 2, group: 2, queries: 300, keys: 300, dim: 96},
			{batch: 1, kvHeads: 2, group: 4, queries: 1024, keys: 1024, dim: 128, causal: true},
			{batch: 2, kvHeads: 2, group: 1, queries: 256, keys: 777, dim: 128},
			{batch: 1, kvHeads: 1, group: 2, queries: 512, keys: 512, dim: 256},
			{batch: 2, kvHeads: 8, group: 4, queries: 1, keys: 1024, dim: 128},
		} {
			c.variety, c.valueDim, c.arrangement = v, c.dim, "dense"
			c.q = s.random(v.in, c.batch, c.kvHeads*c.group, c.queries, c.dim)
			c.k = s.random(v.in, c.batch, c.kvHeads, c.keys, c.dim)
			c.v = s.random(v.in, c.batch, c.kvHeads, c.keys, c.dim)
			cases = append(cases, &c)
		}
	}
	return cases
}

// rowResult returns a row of the result in float64, counted through batch, heads and queries.
func (c *attentionCase) rowResult(row int) []float64 {
	heads := c.kvHeads * c.group
	batch, head := row/(heads*c.queries), row/c.queries%heads
	out := make([]float64, c.valueDim)
	for j, w := range c.row(batch, head, row%c.queries, 0, c.keys, c.queries).weights {
		v := c.v.values[((batch*c.kvHeads+head/c.group)*c.keys+j)*c.valueDim:]
		for d := range out {
			out[d] += w * real(v[d])
		}
	}
	return out
}

// singles returns the values as bytes of float32.
func singles(x tensor) []byte {
	var out []byte
	for _, v := range x.values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(real(v))))
	}
	return out
}
