package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// decoder turns tokens into text.
type decoder interface {
	// appendToken appends a token to dst, which holds the text of the previous tokens.
	// first says that there are none.
	appendToken(dst []byte, token string, first bool) []byte
	// text returns the text of the bytes that appendToken has made.
	text(b []byte) string
}

// Decode returns the text of ids without special tokens, as Python's decode(ids) does by
// default. Ids without a token are ignored, as in Python; a negative id is ErrID.
//
// The changes of a normalizer are not reverted. If the ids end within a code point, its
// incomplete part becomes U+FFFD.
func (t *Tokenizer) Decode(ids []int32) (string, error) { return t.decode(ids, true) }

// DecodeSpecial is Decode with the special tokens in the text, as Python's decode(ids,
// skip_special_tokens=False).
func (t *Tokenizer) DecodeSpecial(ids []int32) (string, error) { return t.decode(ids, false) }

func (t *Tokenizer) decode(ids []int32, skip bool) (string, error) {
	if err := t.usable(); err != nil {
		return "", err
	}
	var b []byte
	first := true
	for i, id := range ids {
		if id < 0 {
			return "", fmt.Errorf("%w: %d at index %d", ErrID, id, i)
		}
		token, ok := t.tokens.get(id)
		if !ok {
			continue
		}
		if k, ok := t.added.byID[id]; ok {
			if skip && t.added.list[k].skip {
				continue
			}
			token = t.added.list[k].find
		}
		b = t.decoder.appendToken(b, token, first)
		first = false
	}
	return t.decoder.text(b), nil
}

func parseDecoder(n node) (decoder, error) {
	if n.isNull() {
		return spacedDecoder{}, nil
	}
	o, kind, err := n.typed()
	if err != nil {
		return nil, err
	}
	var d decoder
	switch kind {
	case "ByteLevel":
		byteLevel(o, &err)
		d = byteDecoder{}
	case "WordPiece":
		d = wordPieceDecoder{o.get("prefix").text(&err), o.get("cleanup").boolean(&err)}
	default:
		return nil, unsupported(o.get("type"))
	}
	if err != nil {
		return nil, err
	}
	return d, o.done()
}

// spacedDecoder puts spaces between tokens.
type spacedDecoder struct{}

func (spacedDecoder) appendToken(dst []byte, token string, first bool) []byte {
	if !first {
		dst = append(dst, ' ')
	}
	return append(dst, token...)
}

func (spacedDecoder) text(b []byte) string { return string(b) }

// wordPieceDecoder puts a space before each token without the prefix.
type wordPieceDecoder struct {
	prefix  string
	cleanup bool
}

// cleanups are applied in this order, each to every token with its space.
var cleanups = [][2]string{
	{" .", "."},
	{" ?", "?"},
	{" !", "!"},
	{" ,", ","},
	{" ' ", "'"},
	{" n't", "n't"},
	{" 'm", "'m"},
	{" do not", " don't"},
	{" 's", "'s"},
	{" 've", "'ve"},
	{" 're", "'re"},
}

func (d wordPieceDecoder) appendToken(dst []byte, token string, first bool) []byte {
	if !first {
		rest, inside := strings.CutPrefix(token, d.prefix)
		if inside {
			token = rest
		} else if d.cleanup {
			token = " " + token
		} else {
			dst = append(dst, ' ')
		}
	}
	if d.cleanup && strings.IndexByte(token, ' ') >= 0 {
		for _, c := range cleanups {
			token = strings.ReplaceAll(token, c[0], c[1])
		}
	}
	return append(dst, token...)
}

func (wordPieceDecoder) text(b []byte) string { return string(b) }

// byteDecoder converts the letters of byte-level BPE to the bytes that they stand for.
type byteDecoder struct{}

func (byteDecoder) appendToken(dst []byte, token string, _ bool) []byte {
	before := len(dst)
	for _, r := range token {
		b, ok := byteOf(r)
		if !ok { // not a letter of the model
			return append(dst[:before], token...)
		}
		dst = append(dst, b)
	}
	return dst
}

// text replaces every sequence that is not UTF-8 by one U+FFFD. Such a sequence is the
// longest beginning of a code point or, if there is none, one byte (The Unicode Standard,
// table 3-8).
func (byteDecoder) text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			n = beginning(b)
			out = append(out, "\uFFFD"...)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return string(out)
}

// beginning returns the length, at least 1, of the longest incomplete code point with
// which b begins. b must not begin with a complete one.
func beginning(b []byte) int {
	low, high, more := byte(0x80), byte(0xBF), 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		more = 1
	case c == 0xE0:
		low, more = 0xA0, 2
	case c == 0xED:
		high, more = 0x9F, 2
	case c >= 0xE1 && c <= 0xEF:
		more = 2
	case c == 0xF0:
		low, more = 0x90, 3
	case c == 0xF4:
		high, more = 0x8F, 3
	case c >= 0xF1 && c <= 0xF3:
		more = 3
	}
	n := 1
	for n <= more && n < len(b) && b[n] >= low && b[n] <= high {
		n++
		low, high = 0x80, 0xBF
	}
	return n
}
