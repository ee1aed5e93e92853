package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var fixtures = []string{"wordpiece", "gpt2", "llama3", "qwen2"}

func fixture(t testing.TB, kind string) *Tokenizer {
	t.Helper()
	k, err := Load(filepath.Join("testdata", kind))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func readJSON(t testing.TB, to any, path ...string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

// fixtureTexts returns the texts whose ids the library has recorded.
func fixtureTexts(t testing.TB) (texts []string) {
	readJSON(t, &texts, "testdata", "texts.json")
	return texts
}

// TestFixtures needs no Python: the library's answers are in testdata.
func TestFixtures(t *testing.T) {
	texts := fixtureTexts(t)
	for _, kind := range fixtures {
		t.Run(kind, func(t *testing.T) {
			k := fixture(t, kind)
			var cases [][3]json.RawMessage // ids, their text without and with special tokens
			readJSON(t, &cases, "testdata", kind, "cases.json")
			if len(cases) <= len(texts) {
				t.Fatalf("%d cases of %d texts", len(cases), len(texts))
			}
			for i, c := range cases {
				var ids []int32
				if err := json.Unmarshal(c[0], &ids); err != nil {
					t.Fatal(err)
				}
				text := ""
				if i < len(texts) {
					text = texts[i]
					for range 3 { // words are kept when they come again
						got, err := k.Encode(text)
						if err != nil || !slices.Equal(got, ids) {
							t.Errorf("Encode(%q) is %v (%v), not %v", text, got, err, ids)
						}
					}
				}
				for _, d := range []struct {
					name   string
					decode func([]int32) (string, error)
					want   json.RawMessage
				}{{"Decode", k.Decode, c[1]}, {"DecodeSpecial", k.DecodeSpecial, c[2]}} {
					want := text
					if string(d.want) != "0" { // 0 is the text itself
						if err := json.Unmarshal(d.want, &want); err != nil {
							t.Fatal(err)
						}
					}
					if got, err := d.decode(ids); err != nil || got != want {
						t.Errorf("%s(%v) is %q (%v), not %q", d.name, ids, got, err, want)
					}
				}
			}
		})
	}
}
