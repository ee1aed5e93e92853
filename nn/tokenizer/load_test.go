package tokenizer

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"
)

// edit returns a fixture's file after a change.
func edit(t *testing.T, kind string, change func(map[string]any)) []byte {
	t.Helper()
	var j map[string]any
	readJSON(t, &j, "testdata", kind, "tokenizer.json")
	change(j)
	b, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// member walks into an object: "model.merges", "added_tokens.0".
func member(j any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch v := j.(type) {
		case map[string]any:
			j = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil {
				return nil
			}
			j = v[i]
		}
	}
	return j
}

// TestRefused checks that unsupported values, and files that contradict themselves, are
// errors that name the field.
func TestRefused(t *testing.T) {
	type object = map[string]any
	for _, c := range []struct {
		kind, in, key string
		value         any
		want          error
		say           string
	}{
		{"gpt2", "", "version", "2.0", gpk.ErrUnsupported, `: version: "2.0"`},
		{"gpt2", "", "more", 1, gpk.ErrUnsupported, ": more: 1"},
		{"gpt2", "", "normalizer", object{"type": "NFKC"}, gpk.ErrUnsupported, `normalizer.type: "NFKC"`},
		{"gpt2", "", "normalizer", object{"type": "NFC", "x": 1}, gpk.ErrUnsupported, "normalizer.x: 1"},
		{"gpt2", "", "normalizer", object{}, ErrFormat, "normalizer.type"},
		{"gpt2", "", "normalizer", "NFC", ErrFormat, "normalizer"},
		{"wordpiece", "normalizer", "clean_text", "yes", ErrFormat, `normalizer.clean_text: "\"yes\""`},
		{"wordpiece", "normalizer", "strip_accents", 1, ErrFormat, "normalizer.strip_accents"},
		{"wordpiece", "", "pre_tokenizer", nil, gpk.ErrUnsupported, "pre_tokenizer: null"},
		{"wordpiece", "pre_tokenizer", "type", "Whitespace", gpk.ErrUnsupported, `pre_tokenizer.type: "Whitespace"`},
		{"wordpiece", "", "pre_tokenizer", object{"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true}, gpk.ErrUnsupported, "before a model WordPiece"},
		{"llama3", "pre_tokenizer.pretokenizers.0", "behavior", "Removed", gpk.ErrUnsupported, `pre_tokenizer.pretokenizers[0].behavior: "Removed"`},
		{"llama3", "pre_tokenizer.pretokenizers.0", "invert", true, gpk.ErrUnsupported, "pretokenizers[0].invert"},
		{"llama3", "pre_tokenizer.pretokenizers.0", "pattern", object{"Regex": `\p{L}+`}, gpk.ErrUnsupported, `pretokenizers[0].pattern.Regex: "\\p{L}+"`},
		{"llama3", "pre_tokenizer.pretokenizers.0", "pattern", object{"String": " "}, gpk.ErrUnsupported, "pretokenizers[0].pattern"},
		{"llama3", "pre_tokenizer.pretokenizers.1", "use_regex", true, gpk.ErrUnsupported, "pretokenizers[1].use_regex: true"},
		{"llama3", "pre_tokenizer", "pretokenizers", []any{}, gpk.ErrUnsupported, "pre_tokenizer.pretokenizers: []"},
		{"llama3", "pre_tokenizer.pretokenizers.1", "type", "Digits", gpk.ErrUnsupported, `pretokenizers[1].type: "Digits"`},
		{"gpt2", "model", "type", "Unigram", gpk.ErrUnsupported, `model.type: "Unigram"`},
		{"gpt2", "model", "byte_fallback", true, gpk.ErrUnsupported, "model.byte_fallback: true"},
		{"gpt2", "model", "dropout", 0.1, gpk.ErrUnsupported, "model.dropout: 0.1"},
		{"gpt2", "model", "end_of_word_suffix", "</w>", gpk.ErrUnsupported, "model.end_of_word_suffix"},
		{"gpt2", "model", "continuing_subword_prefix", "##", gpk.ErrUnsupported, "model.continuing_subword_prefix"},
		{"gpt2", "model", "fuse_unk", 1, ErrFormat, "model.fuse_unk"},
		{"gpt2", "model", "vocab", []any{}, ErrFormat, "model.vocab"},
		{"gpt2", "model", "vocab", nil, ErrFormat, "model.vocab"},
		{"gpt2", "model.vocab", "new", 5, ErrFormat, "model.vocab"},
		{"gpt2", "model.vocab", "new", -1, ErrFormat, `"new" has the id "-1"`},
		{"gpt2", "model.vocab", "new", 1.5, ErrFormat, "model.vocab"},
		{"gpt2", "model.vocab", "new", int64(1 << 31), ErrFormat, "2147483648"},
		{"gpt2", "model", "merges", nil, ErrFormat, "model.merges"},
		{"gpt2", "model", "merges", []any{"a b", "a ☃"}, ErrFormat, "model.merges[0]"},
		{"gpt2", "model", "merges", []any{"a"}, ErrFormat, "model.merges[0]"},
		{"gpt2", "model", "merges", []any{"a b c"}, ErrFormat, "model.merges[0]"},
		{"gpt2", "model", "merges", []any{"a ☃"}, ErrFormat, "☃"},
		{"gpt2", "model", "merges", []any{[]any{"a"}}, ErrFormat, "model.merges[0]"},
		{"gpt2", "model", "merges", []any{[]any{"a", "b", "c"}}, ErrFormat, "model.merges[0]"},
		{"gpt2", "model", "merges", []any{[]any{"a", 1}}, ErrFormat, "model.merges[0]"},
		{"wordpiece", "model", "unk_token", "[NONE]", ErrFormat, `model.unk_token: the vocabulary lacks "[NONE]"`},
		{"wordpiece", "model", "unk_token", nil, ErrFormat, "model.unk_token"},
		{"wordpiece", "model", "max_input_chars_per_word", -1, ErrFormat, "model.max_input_chars_per_word"},
		{"wordpiece", "", "model", nil, ErrFormat, "model"},
		{"wordpiece", "added_tokens.1", "id", 77, ErrFormat, "added_tokens[1].id: 77"},
		{"wordpiece", "added_tokens.1", "content", "[PAD]", ErrFormat, "added twice"},
		{"wordpiece", "added_tokens.9", "content", "", gpk.ErrUnsupported, "added_tokens[9].content"},
		{"wordpiece", "added_tokens.11", "content", "\u0301", gpk.ErrUnsupported, "which has 0 bytes when normalized"},
		{"wordpiece", "added_tokens.9", "content", strings.Repeat("x", 1025), gpk.ErrUnsupported, "which has 1025 bytes when normalized"},
		{"wordpiece", "added_tokens.11", "content", "TAIL", gpk.ErrUnsupported, `"TAIL" and "tail" are both found as "tail"`},
		{"wordpiece", "added_tokens.1", "special", nil, ErrFormat, "added_tokens[1].special"},
		{"wordpiece", "added_tokens.1", "stride", 1, gpk.ErrUnsupported, "added_tokens[1].stride"},
		{"wordpiece", "post_processor", "type", "Other", gpk.ErrUnsupported, `post_processor.type: "Other"`},
		{"wordpiece", "post_processor.single.0", "SpecialToken", object{"id": "[NONE]", "type_id": 0}, ErrFormat, "post_processor.single[0].SpecialToken.id"},
		{"wordpiece", "post_processor.single.1", "Sequence", object{"id": "B", "type_id": 0}, ErrFormat, "post_processor.single[1].Sequence.id"},
		{"wordpiece", "post_processor.special_tokens.[CLS]", "ids", []any{99999}, ErrFormat, "no token has the id 99999"},
		{"wordpiece", "", "post_processor", object{"type": "BertProcessing", "sep": []any{"[SEP]", 3}, "cls": []any{"[CLS]"}}, ErrFormat, "post_processor.cls"},
		{"wordpiece", "", "post_processor", object{"type": "Sequence", "processors": []any{object{"type": "Sequence", "processors": []any{}}}}, gpk.ErrUnsupported, "post_processor.processors[0].type"},
		{"wordpiece", "decoder", "type", "Metaspace", gpk.ErrUnsupported, `decoder.type: "Metaspace"`},
		{"wordpiece", "decoder", "cleanup", nil, ErrFormat, "decoder.cleanup"},
	} {
		b := edit(t, c.kind, func(j map[string]any) {
			in := any(j)
			if c.in != "" {
				in = member(j, c.in)
			}
			in.(map[string]any)[c.key] = c.value
		})
		k, err := Parse(b)
		if k != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %s.%s = %v: %v", c.kind, c.in, c.key, c.value, err)
		}
	}
}

// TestNotJSON: files that are no JSON, or hide something in it.
func TestNotJSON(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "wordpiece", "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []string{
		"",
		"null",
		"[]",
		"{",
		string(file[:len(file)/2]),
		string(file) + "x",
		strings.Replace(string(file), `"[PAD]"`, "\"\xff\"", 1),
		strings.Replace(string(file), `"[PAD]"`, `"\ud800"`, 1),
		strings.Replace(string(file), `"[PAD]"`, `"\udc00"`, 1),
		strings.Replace(string(file), `"[PAD]"`, `"\ud800\ud800"`, 1),
		strings.Replace(string(file), `"[PAD]"`, `"\ud800\n"`, 1),
		strings.Replace(string(file), `"model":{`, `"model":null,"model":{`, 1),
		strings.Replace(string(file), `"vocab":{`, `"vocab":{"[PAD]":0,`, 1),
		strings.Repeat(`{"a":`, 100000) + "1" + strings.Repeat("}", 100000),
	} {
		if _, err := Parse([]byte(b)); !errors.Is(err, ErrFormat) {
			t.Errorf("%.60q...: %v", b, err)
		}
	}
	if _, err := Load(t.TempDir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder without the file: %v", err)
	}
	dir := t.TempDir()
	for text, want := range map[string]error{"": ErrFormat, "{": ErrFormat, "[]": ErrFormat, `{"version":1}`: gpk.ErrUnsupported, `{"model":1,"pre_tokenizer":{"type":1}}`: ErrFormat} {
		if err := os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); !errors.Is(err, want) || !strings.Contains(err.Error(), dir) || strings.Count(err.Error(), "tokenizer.json") != 1 {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAllocations checks that reading allocates at most a small multiple of the file's
// length, whatever the file contains.
func TestAllocations(t *testing.T) {
	_ = tables.Load() // once for all
	const base, times = 1 << 20, 60
	many := func(n int, one string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.ReplaceAll(one, "#", strconv.Itoa(i))
		}
		return strings.Join(items, ",")
	}
	long := strings.Repeat("☃k", 25000)
	processor := func(single, tokens string) string {
		return strings.Replace(shortBPE, `"single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{`,
			`"single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"x","type_id":0}}`+single+`],"pair":[],"special_tokens":{`+tokens, 1)
	}
	for name, file := range map[string]string{
		"members":       `{"` + long + `":1,` + many(5000, `"#":1`) + "}",
		"special":       processor("", `"`+long+`":{"id":"y","ids":[0],"tokens":["[U]"],`+many(2000, `"#":0`)+`},`),
		"special twice": processor("", many(1000, `"#`+long[:200]+`":{"id":"y","ids":[0],"tokens":["[U]"]}`)+","),
		"vocab":         strings.Replace(shortBPE, `"vocab":{`, `"vocab":{`+many(20000, `"t#":9#`)+",", 1),
		"merges":        strings.Replace(shortBPE, `"merges":[`, `"merges":[`+many(20000, `["a","b"]`)+",", 1),
		"added":         strings.Replace(shortBPE, shortAdded, "["+many(2000, `{"id":#,"x":1}`)+"]", 1),
		"open":          strings.Repeat(`{"a":`, 50000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse([]byte(file))
		runtime.ReadMemStats(&after)
		n := after.TotalAlloc - before.TotalAlloc
		if n > base+times*uint64(len(file)) {
			t.Errorf("%s: %d bytes were allocated for a file of %d", name, n, len(file))
		}
		if err != nil && (len(err.Error()) > 1000 || !utf8.ValidString(err.Error())) {
			t.Errorf("%s: %.1000s", name, err)
		}
		t.Logf("%s: %d bytes for %d: %.200v", name, n, len(file), err)
	}
}

// TestEscapes: a surrogate pair, and keys that encoding/json would take for others.
func TestEscapes(t *testing.T) {
	b := edit(t, "wordpiece", func(j map[string]any) {
		member(j, "model.vocab").(map[string]any)["\U0001F600"] = 1 << 30
		member(j, "model").(map[string]any)["VOCAB"] = 1
	})
	if _, err := Parse(b); !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), "model.VOCAB") {
		t.Errorf("another case of a key: %v", err)
	}
	b = edit(t, "gpt2", func(j map[string]any) {
		j["added_tokens"] = []any{}
		member(j, "model.vocab").(map[string]any)["\U0001F600"] = 1 << 30
		delete(j, "post_processor")
	})
	b = []byte(strings.Replace(string(b), "\U0001F600", `\uD83D\uDE00`, 1))
	k, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := k.ID("\U0001F600"); !ok || id != 1<<30 {
		t.Errorf("id %d, %v", id, ok)
	}
	if s, ok := k.Token(1 << 30); !ok || s != "\U0001F600" {
		t.Errorf("token %q, %v", s, ok)
	}
	if _, ok := k.Token(1<<30 - 1); ok {
		t.Error("an id that no token has")
	}
}

func TestVocabulary(t *testing.T) {
	k := fixture(t, "wordpiece")
	if got := k.SpecialTokens(); !slices.Equal(got, []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<both>"}) {
		t.Errorf("special tokens %q", got)
	}
	if id, ok := k.Special("[CLS]"); !ok || id != 2 {
		t.Errorf("[CLS] is %d, %v", id, ok)
	}
	for _, name := range []string{"<left>", "a", "nothing"} {
		if id, ok := k.Special(name); ok {
			t.Errorf("%q is special: %d", name, id)
		}
	}
	for id := range int32(k.VocabSize()) {
		token, ok := k.Token(id)
		if !ok {
			t.Fatalf("no token %d", id)
		}
		if back, ok := k.ID(token); !ok || back != id {
			t.Fatalf("token %d is %q, which is %d", id, token, back)
		}
	}
	for _, id := range []int32{-1, int32(k.VocabSize()), 1 << 30} {
		if s, ok := k.Token(id); ok {
			t.Errorf("token %d is %q", id, s)
		}
	}
	if _, ok := k.ID("nothing"); ok {
		t.Error("an id of nothing")
	}
}
