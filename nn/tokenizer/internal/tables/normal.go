package tables

import (
	"slices"
	"unicode/utf8"
)

// The syllables of Hangul and their parts: leading consonants L, vowels V and
// trailing consonants T (The Unicode Standard, section 3.12).
const (
	firstSyllable = 0xAC00
	lastSyllable  = firstSyllable + countL*countV*countT - 1
	firstL        = 0x1100
	firstV        = 0x1161
	lastV         = firstV + countV - 1
	beforeT       = 0x11A7
	firstT        = beforeT + 1
	lastT         = beforeT + countT - 1
	countL        = 19
	countV        = 21
	countT        = 28
)

// Char is a code point and its combining class. Classes are numbered by their
// order, not by Unicode's numbers; that of a starter is 0.
type Char struct {
	Rune  rune
	Class uint8
}

// AppendDecomposed appends the canonical decomposition of r. Its marks are not in canonical
// order; the caller must call SortMarks.
func (t *Table) AppendDecomposed(dst []Char, r rune) []Char {
	f := t.Of(r)
	switch {
	case f&Decomposes == 0:
		if f&Mark != 0 {
			return append(dst, Char{r, t.class[r]})
		}
		return append(dst, Char{r, 0})
	case r >= firstSyllable && r <= lastSyllable:
		i := r - firstSyllable
		dst = append(dst, Char{firstL + i/(countV*countT), 0}, Char{firstV + i%(countV*countT)/countT, 0})
		if i%countT != 0 {
			dst = append(dst, Char{beforeT + i%countT, 0})
		}
		return dst
	}
	for _, d := range t.decomposed[r] {
		dst = append(dst, Char{d, t.class[d]})
	}
	return dst
}

// SortMarks puts marks into canonical order. None of them may be a starter.
func SortMarks(marks []Char) {
	if len(marks) > 1 {
		slices.SortStableFunc(marks, func(a, b Char) int { return int(a.Class) - int(b.Class) })
	}
}

// compose returns the composition of a and b. It reports false if there is none.
func (t *Table) compose(a, b rune) (rune, bool) {
	if a >= firstL && a < firstL+countL && b >= firstV && b <= lastV {
		return firstSyllable + ((a-firstL)*countV+b-firstV)*countT, true
	}
	if a >= firstSyllable && a <= lastSyllable && (a-firstSyllable)%countT == 0 && b >= firstT && b <= lastT {
		return a + b - beforeT, true
	}
	c, ok := t.composed[[2]rune{a, b}]
	return c, ok
}

// NFC returns s, which is UTF-8, in the normal form NFC. If s needs no change, it is
// returned itself. Otherwise the result is written to buf, which is returned too.
func (t *Table) NFC(s string, buf []byte) (string, []byte) {
	var chars []Char
	changed := false
	buf = buf[:0]
	copied := 0 // s[:copied] is in buf
	last := 0   // the last code point that cannot combine with its neighbours begins here
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			last = i
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if t.Of(r)&Joins == 0 {
			last = i
			i += n
			continue
		}
		// No code point of s[last:i] combines with one outside it.
		for i += n; i < len(s); i += n {
			if r, n = utf8.DecodeRuneInString(s[i:]); t.Of(r)&Joins == 0 {
				break
			}
		}
		chars = t.composeAll(chars[:0], s[last:i])
		buf = append(buf, s[copied:last]...)
		for _, c := range chars {
			buf = utf8.AppendRune(buf, c.Rune)
		}
		changed, copied, last = true, i, i
	}
	if !changed {
		return s, buf
	}
	buf = append(buf, s[copied:]...)
	return string(buf), buf
}

// composeAll appends the canonical composition (NFC) of s to chars: it decomposes s, orders
// the marks, and composes.
func (t *Table) composeAll(chars []Char, s string) []Char {
	marks := 0 // where the run of marks began
	for _, r := range s {
		from := len(chars)
		chars = t.AppendDecomposed(chars, r)
		for i := from; i < len(chars); i++ {
			if chars[i].Class == 0 {
				SortMarks(chars[marks:i])
				marks = i + 1
			}
		}
	}
	SortMarks(chars[marks:])
	out := chars[:0] // never longer than the part of chars that was read
	starter := -1
	last := uint8(0) // class of the last mark of out after the starter
	for _, c := range chars {
		if starter >= 0 && (last == 0 || last < c.Class) {
			if r, ok := t.compose(out[starter].Rune, c.Rune); ok {
				out[starter].Rune = r
				continue
			}
		}
		last = c.Class
		if c.Class == 0 {
			starter = len(out)
		}
		out = append(out, c)
	}
	return out
}
