package tables

import (
	"strings"
	"testing"
)

// TestNFC: the examples of UAX #15 and what Go's own package does otherwise.
func TestNFC(t *testing.T) {
	table := Load()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{"e\u0301", "\u00e9"},
		{"xe\u0301y", "x\u00e9y"},
		{"\u212b", "\u00c5"},
		{"A\u030a", "\u00c5"},
		{"\u1e0b\u0323", "\u1e0d\u0307"},
		{"d\u0307\u0323", "\u1e0d\u0307"},
		{"q\u0307\u0323", "q\u0323\u0307"},
		{"\u0301e\u0301\u0301", "\u0301\u00e9\u0301"},
		{"\u0958", "\u0915\u093c"},
		{"\u0344", "\u0308\u0301"},
		{"\u1100\u1161\u11a8", "\uac01"},
		{"\uac00\u11a8", "\uac01"},
		{"\uac00\u11a7", "\uac00\u11a7"},
		{"\uac01\u11a8", "\uac01\u11a8"},
		{"\u1100\u1176", "\u1100\u1176"},
		{"a" + strings.Repeat("\u0300", 100), "\u00e0" + strings.Repeat("\u0300", 99)}, // no combining grapheme joiner is inserted
	} {
		got, _ := table.NFC(c.text, nil)
		if got != c.want {
			t.Errorf("NFC of %+q is %+q, not %+q", c.text, got, c.want)
		}
		if again, _ := table.NFC(got, nil); again != got {
			t.Errorf("NFC of %+q, which is NFC, is %+q", got, again)
		}
	}
}

// TestHangul takes every syllable apart and puts it together.
func TestHangul(t *testing.T) {
	table := Load()
	for r := rune(firstSyllable); r <= lastSyllable; r++ {
		var parts strings.Builder
		for _, c := range table.AppendDecomposed(nil, r) {
			parts.WriteRune(c.Rune)
		}
		if got, _ := table.NFC(parts.String(), nil); got != string(r) {
			t.Fatalf("%+q becomes %+q", parts.String(), got)
		}
	}
}

// TestDecomposed: a decomposition goes no further, and its marks are in order.
func TestDecomposed(t *testing.T) {
	table := Load()
	n := 0
	for r := rune(0); r <= 0x10FFFF; r++ {
		parts := table.AppendDecomposed(nil, r)
		if len(parts) == 1 && parts[0].Rune == r {
			continue
		}
		n++
		last := uint8(0)
		for _, c := range parts {
			if again := table.AppendDecomposed(nil, c.Rune); len(again) != 1 || again[0] != c {
				t.Errorf("%U has the part %v, which is %v", r, c, again)
			}
			if c.Class != 0 && c.Class < last {
				t.Errorf("%U is %v", r, parts)
			}
			last = c.Class
		}
	}
	if want := len(decomposed) + lastSyllable - firstSyllable + 1; n != want {
		t.Errorf("%d code points decompose, not %d", n, want)
	}
}

// TestOf: one code point of every property, and one without, at the edges of the tables.
func TestOf(t *testing.T) {
	table := Load()
	for _, c := range []struct {
		r    rune
		has  Flags
		lack Flags
	}{
		{'a', Letter | Word, Number | Space | Lowered | Mark | Joins},
		{'A', Letter | Word | Lowered, Decomposes},
		{'5', Number | Word, Letter},
		{' ', Space | BertSpace | WordSpace, Letter | BertPunctuation},
		{'\n', Space | CleanSpace | BertSpace, CleanRemoved},
		{0, CleanRemoved, CleanSpace},
		{'!', BertPunctuation, Word},
		{'_', BertPunctuation | Word, Letter},
		{'中', Letter | Chinese, Lowered},
		{0x301, Mark | Accent | Joins, Letter},
		{'é', Letter | Decomposes, Joins},
		{0x10FFFD, CleanRemoved, Letter | Number | Space}, // private use
		{0x10FFFF, 0, CleanRemoved | Letter},              // no character
	} {
		f := table.Of(c.r)
		if f&c.has != c.has || f&c.lack != 0 {
			t.Errorf("%U is %b; %b should be there and %b should not", c.r, f, c.has, c.lack)
		}
	}
	if got := string(table.AppendLower(nil, 'İ')); got != "i\u0307" {
		t.Errorf("the lower case of U+0130 is %+q", got)
	}
	if len(table.page) > 1<<9 {
		t.Errorf("%d pages", len(table.page))
	}
}
