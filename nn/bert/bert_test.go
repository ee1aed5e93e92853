package bert_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/nn/bert"
)

func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 3))
}

// TestForward compares models with random weights with plain loops in float64.
func TestForward(t *testing.T) {
	rng := seeded(t)
	for _, c := range []struct {
		name, prefix, pooling, modules string
		cls, normalize                 bool
	}{
		{"mean", "", `{"pooling_mode_mean_tokens": true, "word_embedding_dimension": 12}`, "", false, true},
		{"cls", "bert.", `{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}`, "", true, true},
		{"raw", "", "", `[{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Pooling"}]`, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newTiny(t, rng, c.prefix)
			if c.pooling != "" {
				m.write(t, "1_Pooling/config.json", c.pooling)
			}
			if c.modules != "" {
				m.write(t, "modules.json", c.modules)
			}
			e, err := bert.Load(m.dir, bert.WithPrecision(gpk.FullPrecision))
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			e.SetLimits(20+rng.IntN(100), 5)
			var texts [][]int32
			for range 40 {
				text := make([]int32, 1+rng.IntN(tinyPositions))
				for i := range text {
					text[i] = int32(rng.IntN(tinyWords))
				}
				texts = append(texts, text)
			}
			a, err := e.EmbedTokens(context.Background(), texts)
			if err != nil {
				t.Fatal(err)
			}
			got, err := gpk.ToSlice[float32](a)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				for j, want := range m.embed(text, c.cls, c.normalize) {
					if v := float64(got[i*m.hidden+j]); !(math.Abs(v-want) <= 2e-5*max(1, math.Abs(want))) {
						t.Fatalf("text %d %v, feature %d: %v, want %v", i, text, j, v, want)
					}
				}
			}
		})
	}
}

// TestEmbed tokenizes and cuts texts.
func TestEmbed(t *testing.T) {
	m := newTiny(t, seeded(t), "")
	e, err := bert.Load(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ids, err := e.Tokenize("Ab c x " + strings.Repeat("d ", 100))
	if err != nil {
		t.Fatal(err)
	}
	if want := []int32{1, 3, 9, 5, 0, 6, 6, 2}; len(ids) != 8 || [8]int32(ids) != [8]int32(want) {
		t.Errorf("the tokens are %v, want %v", ids, want)
	}
	rows, err := e.Embed(context.Background(), []string{"", "a b", "c"})
	if err != nil || len(rows) != 3 || len(rows[0]) != m.hidden {
		t.Fatalf("%v (%v)", rows, err)
	}
	for i, v := range m.embed([]int32{1, 3, 4, 2}, false, true) {
		if math.Abs(float64(rows[1][i])-v) > 1e-3 {
			t.Errorf("feature %d of the second text is %v, want %v", i, rows[1][i], v)
		}
	}
	if rows, err := e.Embed(context.Background(), nil); err != nil || len(rows) != 0 {
		t.Errorf("no texts: %v (%v)", rows, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if _, err := e.Embed(context.Background(), []string{"a", "\xff"}); err == nil || !strings.Contains(err.Error(), "text 1") {
		t.Errorf("a text that is not UTF-8: %v", err)
	}
	for _, bad := range [][]int32{{}, {-1}, {tinyWords}, make([]int32, tinyPositions+1)} {
		if _, err := e.EmbedTokens(context.Background(), [][]int32{{1, 2}, bad}); !errors.Is(err, gpk.ErrShape) || !strings.Contains(err.Error(), "text 1") {
			t.Errorf("tokens %v: %v", bad, err)
		}
	}
}

// TestWindows embeds texts from several goroutines, in several windows and batches.
func TestWindows(t *testing.T) {
	rng := seeded(t)
	m := newTiny(t, rng, "")
	e, err := bert.Load(m.dir, bert.WithPrecision(gpk.FullPrecision))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.SetLimits(20, 3)
	var texts []string
	for range 25 {
		texts = append(texts, strings.Repeat(string(rune('a'+rng.IntN(6)))+" ", rng.IntN(7)))
	}
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			rows, err := e.Embed(context.Background(), texts)
			if err != nil {
				t.Error(err)
				return
			}
			for i, text := range texts {
				ids, _ := e.Tokenize(text)
				for j, want := range m.embed(ids, false, true) {
					if math.Abs(float64(rows[i][j])-want) > 2e-5 {
						t.Errorf("text %d %q, feature %d: %v, want %v", i, text, j, rows[i][j], want)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	texts[17] = "\xff"
	_, err = e.Embed(context.Background(), texts)
	if wrong, ok := errors.AsType[*bert.TextError](err); !ok || wrong.Index != 17 {
		t.Errorf("a text that is not UTF-8: %v", err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestOtherDevice embeds on the CPU while another device is the default: nothing is made
// there.
func TestOtherDevice(t *testing.T) {
	m := newTiny(t, seeded(t), "")
	cpu := devicetest.CPU(t)
	other := devicetest.NewFake(device.Info{Name: "fake", Kind: device.CUDA, SM: 90, TotalMemory: 1 << 30}, device.CapabilitiesOf(90))
	defer device.SetDefault(device.SetDefault(other))
	e, err := bert.Load(m.dir, bert.WithDevice(cpu))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if rows, err := e.Embed(context.Background(), []string{"a", "b c"}); err != nil || len(rows) != 2 {
		t.Errorf("%v (%v)", rows, err)
	}
	if n := other.Pool().Allocs; n != 0 {
		t.Errorf("%d allocations on another device", n)
	}
}

// TestBadFolders loads folders in which something is wrong. Errors name the file and the
// field.
func TestBadFolders(t *testing.T) {
	m := newTiny(t, seeded(t), "")
	config, err := os.ReadFile(filepath.Join(m.dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, now string) string { return strings.Replace(string(config), old, now, 1) }
	for _, c := range []struct {
		file, text string // "" removes the file
		is         error
		says       string
	}{
		{"config.json", "", fs.ErrNotExist, "config.json"},
		{"config.json", "{", nil, "config.json"},
		{"config.json", change(`"bert"`, `"roberta"`), gpk.ErrUnsupported, "model_type"},
		{"config.json", change(`"gelu"`, `"mish"`), gpk.ErrUnsupported, "hidden_act"},
		{"config.json", change(`"hidden_size": 12`, `"hidden_size": 13`), gpk.ErrShape, "num_attention_heads"},
		{"config.json", change(`"hidden_size": 12`, `"hidden_size": 24`), gpk.ErrShape, "word_embeddings.weight is [11 12]"},
		{"config.json", change(`"num_hidden_layers": 2`, `"num_hidden_layers": 3`), gpk.ErrShape, "missing: encoder.layer.2"},
		{"config.json", change(`"num_hidden_layers": 2`, `"num_hidden_layers": 1`), gpk.ErrShape, "unexpected: encoder.layer.1"},
		{"config.json", change(`"num_hidden_layers": 2`, `"num_hidden_layers": 1`), gpk.ErrShape, "num_hidden_layers, hidden_size"},
		{"config.json", change(`"num_hidden_layers": 2`, `"num_hidden_layers": 99999999999`), gpk.ErrShape, "num_hidden_layers"},
		{"config.json", change(`"vocab_size": 11`, `"vocab_size": 7`), gpk.ErrShape, "vocab_size"},
		{"config.json", change(`"model_type"`, `"position_embedding_type": "relative_key", "model_type"`), gpk.ErrUnsupported, "position_embedding_type"},
		{"sentence_bert_config.json", `{"max_seq_length": 17}`, gpk.ErrShape, "max_seq_length"},
		{"sentence_bert_config.json", `{"do_lower_case": true}`, gpk.ErrUnsupported, "do_lower_case"},
		{"sentence_bert_config.json", strings.Repeat(" ", 2<<20) + "{}", gpk.ErrUnsupported, "sentence_bert_config.json"},
		{"config_sentence_transformers.json", `{"default_prompt_name": "query"}`, gpk.ErrUnsupported, "default_prompt_name"},
		{"tokenizer.json", strings.ReplaceAll(tinyTokenizer, "[SEP]", "[END]"), gpk.ErrUnsupported, "[SEP]"},
		{"1_Pooling/config.json", `{"pooling_mode_mean_tokens": true, "word_embedding_dimension": "12"}`, gpk.ErrShape, "word_embedding_dimension"},
		{"1_Pooling/config.json", `{"pooling_mode_max_tokens": true}`, gpk.ErrUnsupported, "pooling_mode_max_tokens"},
		{"1_Pooling/config.json", `{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}`, gpk.ErrUnsupported, "pooling_mode"},
		{"1_Pooling/config.json", `{"pooling_mode_mean_tokens": true, "word_embedding_dimension": 13}`, gpk.ErrShape, "word_embedding_dimension"},
		{"modules.json", `[{"type": "sentence_transformers.models.Dense"}]`, gpk.ErrUnsupported, "Dense"},
		{"tokenizer.json", "", fs.ErrNotExist, "tokenizer.json"},
		{"tokenizer.json", strings.Replace(tinyTokenizer, `"WordPiece", "unk`, `"Unigram", "unk`, 1), gpk.ErrUnsupported, "tokenizer.json"},
		{"model.safetensors", "", fs.ErrNotExist, "model.safetensors"},
		{"model.safetensors", "12345678", nil, "model.safetensors"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.file)
		if c.text == "" {
			err = os.Remove(path)
		} else {
			_ = os.MkdirAll(filepath.Dir(path), 0o755)
			err = os.WriteFile(path, []byte(c.text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _, line, _ := runtime.Caller(0)
		e, err := bert.Load(dir)
		var oe *gpk.OpError
		if want := fmt.Sprintf("bert/bert_test.go:%d", line+1); !errors.As(err, &oe) || oe.Site != want {
			t.Errorf("%s: %v does not name the line of the call, %s", c.file, err, want)
		}
		if e != nil || err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %.60q: %v, want %v that says %q", c.file, c.text, err, c.is, c.says)
		}
	}
	for name, opts := range map[string][]bert.Option{
		"Int8":                {bert.WithDType(gpk.Int8)},
		"TF32 of BFloat16":    {bert.WithDType(gpk.BFloat16), bert.WithPrecision(gpk.TF32)},
		"no precision at all": {bert.WithPrecision(99)},
	} {
		if _, err := bert.Load(m.dir, opts...); !errors.Is(err, gpk.ErrDType) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
