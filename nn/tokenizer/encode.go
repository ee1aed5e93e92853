package tokenizer

import (
	"fmt"
	"unicode/utf8"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"
)

// scratch is memory that one call at a time uses.
type scratch struct {
	text  []byte // what a normalizer makes
	marks []tables.Char
	merge mergeScratch
}

// maxKeptScratch bounds what a scratch holds between calls, in bytes.
const maxKeptScratch = 1 << 20

// trim gives memory back after an uncommonly long text.
func (w *scratch) trim() {
	if cap(w.text) > maxKeptScratch {
		w.text = nil
	}
	if cap(w.marks) > maxKeptScratch/8 {
		w.marks = nil
	}
	w.merge.trim()
}

// Encode returns the ids of a text, with the special tokens that the file's
// post-processor sets around it. Nothing is cut or padded. A text that is not UTF-8
// is ErrText, one of more than half a gigabyte gpk.ErrUnsupported. So is a text in which
// two added tokens claim the same spaces, for which the library fails as well: one that
// has the option rstrip stands before them, and one that is made of spaces and has the
// option lstrip among them.
func (t *Tokenizer) Encode(text string) ([]int32, error) {
	return t.AppendEncode(nil, text)
}

// AppendEncode appends what Encode returns to dst. On an error it returns dst
// as it was.
func (t *Tokenizer) AppendEncode(dst []int32, text string) ([]int32, error) {
	if err := t.usable(); err != nil {
		return dst, err
	}
	out, ok := t.template.before(dst)
	if !ok { // a template without a text: the text is checked all the same
		_, err := t.AppendEncodeBare(nil, text)
		if err != nil {
			return dst, err
		}
		return out, nil
	}
	from := len(out)
	out, err := t.AppendEncodeBare(out, text)
	if err != nil {
		return dst, err
	}
	return t.template.after(out, from), nil
}

// maxText bounds a text: places in a word are counted in 32 bits, and a
// normalizer makes up to three bytes of one.
const maxText = 1 << 29

// AppendEncodeBare appends the ids of a text alone to dst, without the special tokens
// of the post-processor. Special tokens that stand in the text are found all
// the same. Errors are those of Encode.
func (t *Tokenizer) AppendEncodeBare(dst []int32, text string) ([]int32, error) {
	if err := t.usable(); err != nil {
		return dst, err
	}
	if len(text) > maxText {
		return dst, fmt.Errorf("tokenizer: %w: a text of %d bytes; up to %d are", expr.ErrUnsupported, len(text), maxText)
	}
	if !utf8.ValidString(text) {
		at := 0
		for i, r := range text {
			if _, n := utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && n == 1 {
				at = i
				break
			}
		}
		return dst, fmt.Errorf("%w: byte %d", ErrText, at)
	}
	w := t.scratch.Get().(*scratch)
	out, err := t.splitAdded(dst, text, &t.added.raw, w, (*Tokenizer).encodeNormalized)
	w.trim()
	t.scratch.Put(w)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// encodeNormalized appends the ids of a text in which the tokens that are not normalized
// were found already.
func (t *Tokenizer) encodeNormalized(dst []int32, s string, w *scratch) ([]int32, error) {
	if t.norm != nil {
		s = t.norm.normalize(s, w)
	}
	return t.splitAdded(dst, s, &t.added.normalized, w, (*Tokenizer).encodeWords)
}

// encodeWords appends the ids of a text that has no added tokens.
func (t *Tokenizer) encodeWords(dst []int32, s string, w *scratch) ([]int32, error) {
	return t.words.appendIDs(dst, s, w), nil
}

// sameSpaces is the error of an added token at a byte of s that would take spaces
// before it, but lies itself in the spaces that the token before it has taken.
func sameSpaces(k *addedToken, s string, at int) error {
	return fmt.Errorf("tokenizer: %w: the added token %.80q at byte %d of %.80q takes the spaces before it (lstrip), and lies in the spaces that the token before it has taken (rstrip)",
		expr.ErrUnsupported, k.name, at, s)
}

// splitAdded appends the ids of added tokens in s, and what between makes of the
// text between them.
func (t *Tokenizer) splitAdded(dst []int32, s string, m *matcher, w *scratch, between func(*Tokenizer, []int32, string, *scratch) ([]int32, error)) ([]int32, error) {
	var err error
	done := 0  // s up to here is in dst
	space := 0 // s is white space up to here, from the last stop on
	for at := 0; ; {
		index, start, stop := m.next(s, at)
		if index < 0 {
			break
		}
		found := start
		at = stop
		k := &t.added.list[index]
		if k.singleWord && (wordBefore(s[:start]) || wordAfter(s[stop:])) {
			continue
		}
		if k.lstrip {
			if start < done {
				start = done // the token before took the spaces
			} else {
				start -= spaceBefore(s[done:start])
			}
		}
		if k.rstrip {
			if stop >= space {
				space = stop + spaceAfter(s[stop:])
			}
			stop = space
		}
		if start > stop {
			return dst, sameSpaces(k, s, found) // the library fails as well
		}
		if done < start {
			if dst, err = between(t, dst, s[done:start], w); err != nil {
				return dst, err
			}
		}
		if start < stop {
			dst = append(dst, k.id)
		}
		done = stop
	}
	if done < len(s) {
		return between(t, dst, s[done:], w)
	}
	return dst, nil
}
