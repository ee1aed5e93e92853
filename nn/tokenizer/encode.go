package tokenizer

import (
	"fmt"
	"unicode/utf8"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"
)

// scratch is memory that is used by one call at a time.
type scratch struct {
	text  []byte // the result of a normalizer
	marks []tables.Char
	merge mergeScratch
}

// maxKeptScratch is the maximum number of bytes that a scratch keeps between calls.
const maxKeptScratch = 1 << 20

// trim releases memory after an unusually long text.
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
// post-processor adds. Nothing is truncated or padded. A text that is not UTF-8 is
// ErrText, and one of more than half a gigabyte is gpk.ErrUnsupported. So is a text in
// which two added tokens claim the same spaces, for which the library fails too: the
// first has the option rstrip and is followed by spaces, and the second consists of
// spaces and has the option lstrip.
func (t *Tokenizer) Encode(text string) ([]int32, error) {
	return t.AppendEncode(nil, text)
}

// AppendEncode appends the result of Encode to dst. On an error it returns dst unchanged.
func (t *Tokenizer) AppendEncode(dst []int32, text string) ([]int32, error) {
	if err := t.usable(); err != nil {
		return dst, err
	}
	out, ok := t.template.before(dst)
	if !ok { // a template without a text: the text is checked nevertheless
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

// maxText is the maximum length of a text in bytes: positions in a word have 32 bits, and
// a normalizer makes up to three bytes of one.
const maxText = 1 << 29

// AppendEncodeBare appends the ids of a text to dst, without the special tokens of the
// post-processor. Special tokens in the text itself are recognized. Errors are those of
// Encode.
func (t *Tokenizer) AppendEncodeBare(dst []int32, text string) ([]int32, error) {
	if err := t.usable(); err != nil {
		return dst, err
	}
	if len(text) > maxText {
		return dst, fmt.Errorf("tokenizer: %w: a text of %d bytes; at most %d are supported", expr.ErrUnsupported, len(text), maxText)
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

// encodeNormalized appends the ids of a text that contains none of the tokens that are
// not normalized.
func (t *Tokenizer) encodeNormalized(dst []int32, s string, w *scratch) ([]int32, error) {
	if t.norm != nil {
		s = t.norm.normalize(s, w)
	}
	return t.splitAdded(dst, s, &t.added.normalized, w, (*Tokenizer).encodeWords)
}

// encodeWords appends the ids of a text that contains no added tokens.
func (t *Tokenizer) encodeWords(dst []int32, s string, w *scratch) ([]int32, error) {
	return t.words.appendIDs(dst, s, w), nil
}

// sameSpaces is the error of an added token at byte `at` of s that would strip the spaces
// before it, although it is itself part of the spaces that the previous token has
// stripped.
func sameSpaces(k *addedToken, s string, at int) error {
	return fmt.Errorf("tokenizer: %w: the added token %.80q at byte %d of %.80q takes the spaces before it (lstrip), and lies in the spaces that the token before it has taken (rstrip)",
		expr.ErrUnsupported, k.name, at, s)
}

// splitAdded appends the ids of added tokens in s. For the text between them it calls
// between.
func (t *Tokenizer) splitAdded(dst []int32, s string, m *matcher, w *scratch, between func(*Tokenizer, []int32, string, *scratch) ([]int32, error)) ([]int32, error) {
	var err error
	done := 0  // dst holds the ids of s[:done]
	space := 0 // s is white space from the last stop to here
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
				start = done // the previous token has stripped the spaces
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
			return dst, sameSpaces(k, s, found) // the library fails too
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
