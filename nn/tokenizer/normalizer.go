package tokenizer

import (
	"sync/atomic"
	"unicode/utf8"

	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"
)

// normalizer changes a text before it is split. A nil normalizer leaves it unchanged.
type normalizer interface {
	// normalize returns the normal form of s, which is UTF-8.
	normalize(s string, w *scratch) string
}

// nfc is the normalizer NFC.
type nfc struct{ table *tables.Table }

func (n *nfc) normalize(s string, w *scratch) string {
	s, w.text = n.table.NFC(s, w.text)
	return s
}

// bertNormalizer is the normalizer BertNormalizer. Its steps are, in this order, clean, chinese,
// strip and lower.
type bertNormalizer struct {
	clean, chinese, strip, lower bool

	table *tables.Table
	ascii [utf8.RuneSelf]byte // the byte that replaces an ASCII byte; gone if it is removed
	pages [maxFixed / fixedPage]atomic.Pointer[[fixedPage]fixedForm]
}

const gone = 0xFF // not an ASCII byte

const (
	maxFixed  = 0x10000 // code points below it have fixed forms
	fixedPage = 256     // number of code points of a page
)

// fixedForm is the form of a code point that does not depend on its neighbours: n bytes of form,
// after the waiting marks. If n is 0, there is no such form: the code point is removed, becomes a
// mark, or its form is longer.
type fixedForm struct {
	n    uint8
	form [11]byte // a syllable of Hangul needs 9 bytes
}

// tabulate fills ascii.
func (b *bertNormalizer) tabulate() {
	for c := range rune(utf8.RuneSelf) {
		f, to := b.table.Of(c), byte(c)
		switch {
		case b.clean && f&tables.CleanRemoved != 0:
			to = gone
		case b.clean && f&tables.CleanSpace != 0:
			to = ' '
		case b.lower && f&tables.Lowered != 0:
			to = b.table.AppendLower(nil, c)[0]
		}
		b.ascii[c] = to
	}
}

func (b *bertNormalizer) normalize(s string, w *scratch) string {
	out := w.text[:0]
	marks := w.marks[:0] // marks after the last starter, not yet in canonical order
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			i++
			if to := b.ascii[c]; to != gone {
				if len(marks) > 0 {
					out, marks = b.flush(out, marks)
				}
				out = append(out, to)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r < maxFixed {
			if k := b.fixed(r); k.n > 0 {
				if len(marks) > 0 {
					out, marks = b.flush(out, marks)
				}
				out = append(out, k.form[:k.n]...)
				continue
			}
		}
		out, marks = b.one(out, marks, r)
	}
	out, marks = b.flush(out, marks)
	w.text, w.marks = out, marks
	return string(out)
}

// fixed returns the form of a code point below maxFixed. The first call for a page makes
// the forms of its code points.
func (b *bertNormalizer) fixed(r rune) *fixedForm {
	page := b.pages[r/fixedPage].Load()
	if page == nil {
		page = b.makePage(r / fixedPage * fixedPage)
	}
	return &page[r%fixedPage]
}

// makePage makes the forms of the code points of a page that begins with first.
func (b *bertNormalizer) makePage(first rune) *[fixedPage]fixedForm {
	page := new([fixedPage]fixedForm)
	var out []byte
	var marks, parts []tables.Char
	for i := range page {
		r := first + rune(i)
		out, marks = b.one(out[:0], marks[:0], r)
		parts = b.table.AppendDecomposed(parts[:0], r)
		// If the first part is a starter, all waiting marks are written before it.
		if parts[0].Class == 0 && len(marks) == 0 && len(out) <= len(page[i].form) {
			page[i].n = uint8(copy(page[i].form[:], out))
		}
	}
	b.pages[first/fixedPage].Store(page)
	return page
}

// one appends r to out and marks, after all steps.
func (b *bertNormalizer) one(out []byte, marks []tables.Char, r rune) ([]byte, []tables.Char) {
	f := b.table.Of(r)
	if b.clean {
		if f&tables.CleanRemoved != 0 {
			return out, marks
		}
		if f&tables.CleanSpace != 0 {
			r, f = ' ', 0
		}
	}
	if b.chinese && f&tables.Chinese != 0 {
		out, marks = b.flush(out, marks)
		out = append(out, ' ')
		out, marks = b.add(out, marks, r, f)
		out, marks = b.flush(out, marks)
		return append(out, ' '), marks
	}
	return b.add(out, marks, r, f)
}

// add appends r to out and marks, after the steps strip and lower.
func (b *bertNormalizer) add(out []byte, marks []tables.Char, r rune, f tables.Flags) ([]byte, []tables.Char) {
	if !b.strip {
		return b.put(out, r, f), marks
	}
	if f&(tables.Decomposes|tables.Mark) == 0 { // a starter
		if out, marks = b.flush(out, marks); f&tables.Accent == 0 {
			out = b.put(out, r, f)
		}
		return out, marks
	}
	var parts [8]tables.Char
	for _, d := range b.table.AppendDecomposed(parts[:0], r) {
		f := b.table.Of(d.Rune)
		switch {
		case d.Class == 0:
			if out, marks = b.flush(out, marks); f&tables.Accent == 0 {
				out = b.put(out, d.Rune, f)
			}
		case f&tables.Accent == 0: // canonical ordering and the removal of accents can be exchanged
			marks = append(marks, d)
		}
	}
	return out, marks
}

// flush appends the waiting marks to out, in canonical order.
func (b *bertNormalizer) flush(out []byte, marks []tables.Char) ([]byte, []tables.Char) {
	if len(marks) == 0 {
		return out, marks
	}
	tables.SortMarks(marks)
	for _, m := range marks {
		out = b.put(out, m.Rune, b.table.Of(m.Rune))
	}
	return out, marks[:0]
}

func (b *bertNormalizer) put(out []byte, r rune, f tables.Flags) []byte {
	if b.lower && f&tables.Lowered != 0 {
		return b.table.AppendLower(out, r)
	}
	return utf8.AppendRune(out, r)
}
