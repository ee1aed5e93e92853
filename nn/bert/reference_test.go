package bert_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/safetensors"
)

// tiny is a model of BERT's kind with random weights, as a folder and in float64.
type tiny struct {
	dir     string
	hidden  int
	heads   int
	layers  int
	eps     float64
	weights map[string][]float64
}

// The sizes of tiny models.
const (
	tinyWords     = 11
	tinyPositions = 16
	tinyInner     = 20
)

// newTiny writes the folder of a model, whose weights' names begin with prefix.
func newTiny(t testing.TB, rng *rand.Rand, prefix string) *tiny {
	t.Helper()
	m := &tiny{dir: t.TempDir(), hidden: 12, heads: 3, layers: 2, eps: 1e-5, weights: map[string][]float64{}}
	arrays := map[string]*gpk.Array{}
	add := func(name string, mean, std float64, shape ...int) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		single := make([]float32, n)
		m.weights[name] = make([]float64, n)
		for i := range single {
			single[i] = float32(mean + std*rng.NormFloat64())
			m.weights[name][i] = float64(single[i])
		}
		arrays[prefix+name] = gpk.FromSlice(single, shape...)
	}
	norm := func(name string) {
		add(name+".weight", 1, 0.2, m.hidden)
		add(name+".bias", 0, 0.2, m.hidden)
	}
	linear := func(name string, in, out int) {
		add(name+".weight", 0, 1/math.Sqrt(float64(in)), out, in)
		add(name+".bias", 0, 0.2, out)
	}
	add("embeddings.word_embeddings.weight", 0, 1, tinyWords, m.hidden)
	add("embeddings.position_embeddings.weight", 0, 0.5, tinyPositions, m.hidden)
	add("embeddings.token_type_embeddings.weight", 0, 0.5, 2, m.hidden)
	norm("embeddings.LayerNorm")
	for i := range m.layers {
		p := fmt.Sprintf("encoder.layer.%d.", i)
		for _, name := range []string{"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"} {
			linear(p+name, m.hidden, m.hidden)
		}
		norm(p + "attention.output.LayerNorm")
		linear(p+"intermediate.dense", m.hidden, tinyInner)
		linear(p+"output.dense", tinyInner, m.hidden)
		norm(p + "output.LayerNorm")
	}
	linear("pooler.dense", m.hidden, m.hidden)
	if err := safetensors.WriteFile(filepath.Join(m.dir, "model.safetensors"), arrays, nil); err != nil {
		t.Fatal(err)
	}
	m.write(t, "config.json", fmt.Sprintf(`{"model_type": "bert", "hidden_act": "gelu", "hidden_size": %d, "num_hidden_layers": %d, "num_attention_heads": %d,
		"intermediate_size": %d, "vocab_size": %d, "max_position_embeddings": %d, "type_vocab_size": 2, "layer_norm_eps": %g}`,
		m.hidden, m.layers, m.heads, tinyInner, tinyWords, tinyPositions, m.eps))
	m.write(t, "sentence_bert_config.json", `{"max_seq_length": 8, "do_lower_case": false}`)
	m.write(t, "tokenizer.json", tinyTokenizer)
	return m
}

func (m *tiny) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tinyTokenizer knows the words a to g and the pieces ##a and ##b.
const tinyTokenizer = `{
	"version": "1.0", "truncation": null, "padding": null,
	"added_tokens": [
		{"id": 0, "content": "[UNK]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
		{"id": 1, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
		{"id": 2, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
	"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
	"pre_tokenizer": {"type": "BertPreTokenizer"},
	"post_processor": {"type": "TemplateProcessing",
		"single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
		"pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
		"special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}}},
	"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
		"vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4, "c": 5, "d": 6, "e": 7, "##a": 8, "##b": 9, "f": 10}}
}`

// embed returns the embedding of a text in float64, by plain loops.
func (m *tiny) embed(ids []int32, cls, normalize bool) []float64 {
	n, h := len(ids), m.hidden
	x := make([][]float64, n)
	for i, id := range ids {
		x[i] = make([]float64, h)
		for j := range x[i] {
			x[i][j] = m.weights["embeddings.word_embeddings.weight"][int(id)*h+j] + m.weights["embeddings.position_embeddings.weight"][i*h+j] + m.weights["embeddings.token_type_embeddings.weight"][j]
		}
		m.norm("embeddings.LayerNorm", x[i])
	}
	for l := range m.layers {
		p := fmt.Sprintf("encoder.layer.%d.", l)
		attended := m.attend(p, x)
		for i := range x {
			y := m.linear(p+"attention.output.dense", attended[i])
			for j := range y {
				y[j] += x[i][j]
			}
			m.norm(p+"attention.output.LayerNorm", y)
			inner := m.linear(p+"intermediate.dense", y)
			for j, v := range inner {
				inner[j] = v / 2 * (1 + math.Erf(v/math.Sqrt2))
			}
			z := m.linear(p+"output.dense", inner)
			for j := range z {
				z[j] += y[j]
			}
			m.norm(p+"output.LayerNorm", z)
			x[i] = z
		}
	}
	out := make([]float64, h)
	for j := range out {
		for i := range x {
			out[j] += x[i][j] / float64(n)
		}
		if cls {
			out[j] = x[0][j]
		}
	}
	if normalize {
		length := 0.0
		for _, v := range out {
			length += v * v
		}
		for j := range out {
			out[j] /= math.Sqrt(length)
		}
	}
	return out
}

// attend returns the heads of each token side by side.
func (m *tiny) attend(p string, x [][]float64) [][]float64 {
	n, dim := len(x), m.hidden/m.heads
	q, k, v, out := make([][]float64, n), make([][]float64, n), make([][]float64, n), make([][]float64, n)
	for i := range x {
		q[i], k[i], v[i] = m.linear(p+"attention.self.query", x[i]), m.linear(p+"attention.self.key", x[i]), m.linear(p+"attention.self.value", x[i])
		out[i] = make([]float64, m.hidden)
	}
	for head := range m.heads {
		for i := range n {
			scores, total := make([]float64, n), 0.0
			for j := range n {
				for d := head * dim; d < (head+1)*dim; d++ {
					scores[j] += q[i][d] * k[j][d]
				}
				scores[j] = math.Exp(scores[j] / math.Sqrt(float64(dim)))
				total += scores[j]
			}
			for j := range n {
				for d := head * dim; d < (head+1)*dim; d++ {
					out[i][d] += scores[j] / total * v[j][d]
				}
			}
		}
	}
	return out
}

func (m *tiny) linear(name string, x []float64) []float64 {
	w, y := m.weights[name+".weight"], append([]float64(nil), m.weights[name+".bias"]...)
	for i := range y {
		for j, v := range x {
			y[i] += w[i*len(x)+j] * v
		}
	}
	return y
}

func (m *tiny) norm(name string, x []float64) {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	for i, v := range x {
		x[i] = (v-mean)/math.Sqrt(variance+m.eps)*m.weights[name+".weight"][i] + m.weights[name+".bias"][i]
	}
}
