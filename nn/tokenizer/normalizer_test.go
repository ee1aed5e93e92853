package tokenizer

import (
	"testing"
	"unicode/utf8"

	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"
)

// TestFixedForms compares every code point's fixed form, between marks that wait, with what the
// steps make of it one by one.
func TestFixedForms(t *testing.T) {
	// Marks of three classes that strip_accents leaves.
	const before, after = "a\U0001d165\u302e", "\u302e\U00016ff0b"
	for _, options := range [][4]bool{{true, true, true, true}, {true, true, true, false}, {true, true, false, true}, {false, false, true, true}, {false, true, false, false}, {true, false, false, true}} {
		b := &bertNormalizer{table: tables.Load(), clean: options[0], chinese: options[1], strip: options[2], lower: options[3]}
		b.tabulate()
		fixed := 0
		for r := range rune(maxFixed) {
			if !utf8.ValidRune(r) {
				continue
			}
			if b.fixed(r).n > 0 {
				fixed++
			}
			s := before + string(r) + after
			var out []byte
			var marks []tables.Char
			for _, c := range s {
				out, marks = b.one(out, marks, c)
			}
			out, _ = b.flush(out, marks)
			if got := b.normalize(s, &scratch{}); got != string(out) {
				t.Fatalf("%v: %+q becomes %+q, not %+q", options, s, got, out)
			}
		}
		if fixed < maxFixed/2 {
			t.Errorf("%v: only %d code points have a fixed form", options, fixed)
		}
	}
}
