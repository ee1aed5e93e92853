package tokenizer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// TestNotUTF8: the library never sees such a text, so there is nothing to be equal to.
func TestNotUTF8(t *testing.T) {
	for _, kind := range fixtures {
		k := fixture(t, kind)
		dst := []int32{7}
		for _, s := range []string{"ab\xff", "ab\xed\xa0\x80", "ab\xe4\xb8"} {
			got, err := k.AppendEncode(dst, s)
			if !errors.Is(err, ErrText) || !strings.Contains(err.Error(), "byte 2") || !slices.Equal(got, dst) {
				t.Errorf("%s: AppendEncode([7], %q) is %v, %v", kind, s, got, err)
			}
		}
		if s, err := k.Decode([]int32{1, -1}); !errors.Is(err, ErrID) || s != "" {
			t.Errorf("%s: Decode of -1 is %q, %v", kind, s, err)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, kind := range fixtures {
		k := fixture(t, kind)
		for _, s := range fixtureTexts(t) {
			whole, err := k.Encode(s)
			if err != nil {
				t.Fatal(err)
			}
			room := append(make([]int32, 0, 4+len(whole)), -5, -6)
			got, err := k.AppendEncode(room, s)
			if err != nil || !slices.Equal(got[:2], []int32{-5, -6}) || !slices.Equal(got[2:], whole) {
				t.Fatalf("%s: AppendEncode of %q is %v (%v), not -5 -6 and %v", kind, s, got, err, whole)
			}
			bare, err := k.AppendEncodeBare(nil, s)
			if err != nil || len(bare) > len(whole) {
				t.Fatalf("%s: AppendEncodeBare of %q is %v (%v), with special tokens %v", kind, s, bare, err, whole)
			}
		}
	}
}

// randomText returns valid UTF-8 with all kinds of code points.
func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(40) {
		switch r.IntN(6) {
		case 0:
			b.WriteRune(rune(r.IntN(0x110000)))
		case 1:
			b.WriteRune(rune(r.IntN(0x3000)))
		case 2:
			b.WriteString([]string{" ", "  ", "\n", "\r\n", "\t", "'s", "'LL", "123", "word", "<left>", "\u0301"}[r.IntN(11)])
		default:
			b.WriteByte(byte(32 + r.IntN(95)))
		}
	}
	return strings.ToValidUTF8(b.String(), "?")
}

// roundTrips are kinds without a normalizer, whose ids hold the text. Their
// added tokens that take spaces with them do not, and neither does notBytes.
func roundTrips(t testing.TB) map[string]*Tokenizer {
	out := map[string]*Tokenizer{}
	for _, kind := range []string{"gpt2", "llama3"} {
		k := fixture(t, kind)
		for i := range k.added.list {
			k.added.list[i].lstrip, k.added.list[i].rstrip = false, false
		}
		out[kind] = k
	}
	return out
}

// notBytes is an added token, all of whose letters stand for bytes. The
// library's decoder takes it for these bytes, and so must this one.
const notBytes = "NORM\u00c9"

func TestRoundTrip(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	kinds := roundTrips(t)
	for range 20000 {
		s := randomText(r)
		for kind, k := range kinds {
			ids, err := k.AppendEncodeBare(nil, s)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := k.DecodeSpecial(ids); err != nil || back != s {
				t.Fatalf("%s, seed %d: %+q comes back as %+q (%v)", kind, seed, s, back, err)
			}
		}
	}
}

// TestRoundTripSweep has every code point alone and between letters. With NFC, the normal form comes back.
func TestRoundTripSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT RUN with -short: the sweep of all code points")
	}
	kinds := roundTrips(t)
	kinds["qwen2"] = fixture(t, "qwen2")
	var ids []int32
	check := func(s string) {
		for kind, k := range kinds {
			var err error
			if ids, err = k.AppendEncodeBare(ids[:0], s); err != nil {
				t.Fatal(err)
			}
			want := s
			if k.norm != nil {
				want = k.norm.normalize(s, &scratch{})
			}
			if back, err := k.DecodeSpecial(ids); err != nil || back != want {
				t.Fatalf("%s: %+q comes back as %+q (%v), not %+q", kind, s, back, err, want)
			}
		}
	}
	var between strings.Builder
	for r := range rune(utf8.MaxRune + 1) {
		if utf8.ValidRune(r) {
			check(string(r))
			between.WriteString("a" + string(r) + "b ")
		}
		if r%64 == 63 {
			check(between.String())
			between.Reset()
		}
	}
}

// TestSameSpaces: two tokens that claim the same spaces, as text and behind a normalizer.
func TestSameSpaces(t *testing.T) {
	for _, normalized := range []string{"false", "true"} {
		added := `[{"id":0,"content":"[U]","single_word":false,"lstrip":false,"rstrip":true,"normalized":` + normalized + `,"special":true},` +
			`{"id":4,"content":"  ","single_word":false,"lstrip":true,"rstrip":false,"normalized":` + normalized + `,"special":false}]`
		k, err := Parse([]byte(strings.Replace(shortBPE, shortAdded, added, 1)))
		if err != nil {
			t.Fatal(err)
		}
		dst := []int32{7}
		got, err := k.AppendEncode(dst, "ab[U]    b")
		if !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), `"  " at byte 5 of "ab[U]    b"`) || !slices.Equal(got, dst) {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// TestLongWords: the heap's merges are those of the search, and neither a
// long word nor a long text takes quadratic time.
func TestLongWords(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	k := fixture(t, "llama3")
	p := k.words.(*byteBPE)
	for range 3000 {
		var ids []int32
		for range 1 + r.IntN(maxScan) {
			ids = append(ids, p.bytes["etaoinshr ding"[r.IntN(14)]])
		}
		short, long := slices.Clone(ids), slices.Clone(ids)
		short = short[:p.mergeShort(short)]
		long = long[:p.mergeLong(long, &mergeScratch{})]
		if !slices.Equal(short, long) {
			t.Fatalf("seed %d: %v becomes %v by search, %v by heap", seed, ids, short, long)
		}
	}
	// A long token that is nearly there, again at every letter.
	hostile := func(n int) []byte {
		file := strings.Replace(shortWordPiece, shortAdded, "[]", 1)
		file = strings.Replace(file, `"max_input_chars_per_word":9`, `"max_input_chars_per_word":2147483647`, 1)
		return []byte(strings.Replace(file, `"ab":3`, `"ab":3,"##`+strings.Repeat("b", n-3)+`c":9`, 1))
	}
	k, err := Parse(hostile(maxToken))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if ids, err := k.Encode("a" + strings.Repeat("b", 1<<18)); err != nil || len(ids) < 1<<18 {
		t.Fatalf("%d ids, %v", len(ids), err)
	}
	limit := 30 * time.Second
	if devicetest.Race {
		limit *= 10 // as much as the race detector slows the search
	}
	if d := time.Since(start); d > limit {
		t.Errorf("a hostile vocabulary took %v", d)
	}
	for _, n := range []int{maxToken + 1, 1 << 18} {
		if _, err := Parse(hostile(n)); !errors.Is(err, gpk.ErrUnsupported) || !strings.Contains(err.Error(), "model.vocab") || len(err.Error()) > 1000 {
			t.Errorf("a token of %d bytes: %.1000v", n, err)
		}
	}
	for _, unit := range []string{"ab", "the", "é", " ", "\n", "1", "!", "\u0301", "<left>", "\uac01"} {
		s := strings.Repeat(unit, 1<<20/len(unit))
		for _, kind := range fixtures {
			start := time.Now()
			ids, err := fixture(t, kind).Encode(s)
			if err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d > 30*time.Second {
				t.Errorf("%s: 1 MB of %q took %v, %d ids", kind, unit, d, len(ids))
			}
		}
	}
}

// TestGoroutines has many goroutines share a Tokenizer, for the race detector.
func TestGoroutines(t *testing.T) {
	texts := fixtureTexts(t)
	for _, kind := range fixtures {
		k, alone := fixture(t, kind), fixture(t, kind)
		want := make([][]int32, len(texts))
		for i, s := range texts {
			var err error
			if want[i], err = alone.Encode(s); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range texts {
					i = (i + g*len(texts)/8) % len(texts) // each begins elsewhere
					got, err := k.Encode(texts[i])
					if err != nil || !slices.Equal(got, want[i]) {
						t.Errorf("%s: Encode(%q) is %v (%v), alone %v", kind, texts[i], got, err, want[i])
					}
					if _, err := k.Decode(got); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
}

// TestTemplate: places of the text that the fixtures lack.
func TestTemplate(t *testing.T) {
	type object = map[string]any
	special := func(id string) object { return object{"SpecialToken": object{"id": id, "type_id": 0}} }
	text := object{"Sequence": object{"id": "A", "type_id": 0}}
	for _, c := range []struct {
		single []any
		want   string
	}{
		{[]any{text}, "[THE]"},
		{[]any{}, "[]"},
		{[]any{special("x")}, "[2 3]"},
		{[]any{special("x"), text, special("x"), text}, "[2 3 THE 2 3 THE]"},
	} {
		b := edit(t, "wordpiece", func(j map[string]any) {
			j["post_processor"] = object{
				"type": "TemplateProcessing", "single": c.single, "pair": []any{},
				"special_tokens": object{"x": object{"id": "x", "ids": []any{2, 3}, "tokens": []any{"[CLS]", "[SEP]"}}},
			}
		})
		k, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		id, ok := k.ID("the")
		if !ok {
			t.Fatal("no token the")
		}
		got, err := k.Encode("the")
		if want := strings.ReplaceAll(c.want, "THE", fmt.Sprint(id)); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%v gives %v (%v), not %s", c.single, got, err, want)
		}
		if _, err := k.Encode("\xff"); !errors.Is(err, ErrText) {
			t.Errorf("%v: %v", c.single, err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range fixtureTexts(f) {
		f.Add(s)
	}
	var all []*Tokenizer
	for _, kind := range fixtures {
		all = append(all, fixture(f, kind))
	}
	exact := roundTrips(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, k := range all {
			ids, err := k.Encode(s)
			if (err == nil) != utf8.ValidString(s) {
				t.Fatalf("%q: %v", s, err)
			}
			if text, err := k.Decode(ids); err != nil || !utf8.ValidString(text) {
				t.Fatalf("%v is %q (%v)", ids, text, err)
			}
		}
		if !utf8.ValidString(s) || strings.Contains(s, notBytes) {
			return
		}
		for kind, k := range exact {
			ids, err := k.AppendEncodeBare(nil, s)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := k.DecodeSpecial(ids); err != nil || back != s {
				t.Fatalf("%s: %+q comes back as %+q (%v)", kind, s, back, err)
			}
		}
	})
}

// Files to begin with are short, so that what becomes of them is quick.
const (
	shortAdded     = `[{"id":0,"content":"[U]","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":true},{"id":4,"content":"\u00c9x","single_word":true,"lstrip":false,"rstrip":true,"normalized":true,"special":false}]`
	shortWordPiece = `{"version":"1.0","added_tokens":` + shortAdded + `,"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"BertProcessing","sep":["[U]",0],"cls":["a",1]},"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},"model":{"type":"WordPiece","unk_token":"[U]","continuing_subword_prefix":"##","max_input_chars_per_word":9,"vocab":{"[U]":0,"a":1,"##b":2,"ab":3}}}`
	shortBPE       = `{"added_tokens":` + shortAdded + `,"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true},"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"x","type_id":0}}],"pair":[],"special_tokens":{"x":{"id":"x","ids":[0],"tokens":["[U]"]}}},"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true},"model":{"type":"BPE","unk_token":"[U]","fuse_unk":true,"ignore_merges":false,"vocab":{"[U]":0,"a":1,"b":2,"ab":3},"merges":[["a","b"]]}}`
)

func FuzzFile(f *testing.F) {
	for _, file := range []string{shortWordPiece, shortBPE} {
		if _, err := Parse([]byte(file)); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(file), "abab a\u0301b [U] \u00c9x\r\n 123", int32(3))
	}
	f.Fuzz(func(t *testing.T, file []byte, text string, id int32) {
		k, err := Parse(file)
		if err != nil {
			return
		}
		ids, err := k.Encode(text)
		if err != nil && utf8.ValidString(text) && !errors.Is(err, gpk.ErrUnsupported) {
			t.Fatal(err)
		}
		for _, list := range [][]int32{ids, {id}} {
			if _, err := k.Decode(list); err != nil && id >= 0 {
				t.Fatal(err)
			}
		}
	})
}
