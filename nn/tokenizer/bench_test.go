package tokenizer

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The texts of the benchmarks: code is this package's own, prose is made of
// its words. Both are 1 MB.
func benchTexts(b *testing.B) map[string]string {
	files, err := filepath.Glob("*.go")
	if err != nil {
		b.Fatal(err)
	}
	var code strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		code.Write(text)
	}
	words := strings.FieldsFunc(code.String(), func(r rune) bool { return r < 'A' || r > 'z' || r > 'Z' && r < 'a' })
	r := rand.New(rand.NewPCG(1, 2))
	var prose strings.Builder
	for i := 0; prose.Len() < 1<<20; i++ {
		w := words[min(r.IntN(len(words)), r.IntN(len(words)))]
		switch {
		case i%13 == 0:
			prose.WriteString(". The ")
		case i%7 == 0:
			prose.WriteString(", ")
		default:
			prose.WriteString(" ")
		}
		prose.WriteString(strings.ToLower(w))
	}
	c := code.String()
	c = strings.Repeat(c, 1+(1<<20)/len(c))
	return map[string]string{"prose": prose.String()[:1<<20], "code": c[:1<<20]}
}

// BenchmarkEncode has the fixtures' small vocabularies, whose words have more tokens
// than those of models in use. GPK_BENCH_TOKENIZER names the folder of another one.
func BenchmarkEncode(b *testing.B) {
	all := map[string]*Tokenizer{}
	if dir := os.Getenv("GPK_BENCH_TOKENIZER"); dir != "" {
		k, err := Load(dir)
		if err != nil {
			b.Fatal(err)
		}
		all[filepath.Base(dir)] = k
	} else {
		for _, kind := range fixtures {
			all[kind] = fixture(b, kind)
		}
	}
	texts := benchTexts(b)
	for kind, k := range all {
		for _, name := range []string{"prose", "code"} {
			text := texts[name]
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				var ids []int32
				for b.Loop() {
					var err error
					if ids, err = k.AppendEncode(ids[:0], text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkShort embeds one sentence per call.
func BenchmarkShort(b *testing.B) {
	const text = "A man is eating food, and the other one isn't."
	for _, kind := range fixtures {
		k := fixture(b, kind)
		b.Run(kind, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var ids []int32
			for b.Loop() {
				ids, _ = k.AppendEncode(ids[:0], text)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	text := benchTexts(b)["prose"]
	for _, kind := range fixtures {
		k := fixture(b, kind)
		ids, err := k.Encode(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(kind, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := k.Decode(ids); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
