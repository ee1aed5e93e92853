package tokenizer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"
)

// addedToken is a token that is matched in the text before the model tokenizes the rest.
type addedToken struct {
	id             int32
	name           string // as the file spells it
	find           string // as it is matched in the text: normalized if the file requests that
	special        bool
	singleWord     bool
	lstrip, rstrip bool
	normalized     bool
	skip           bool // Decode leaves it out
}

// addedTokens holds all added tokens. Tokens that are not normalized are matched in the
// original text. The others are matched in the normalized text between these.
type addedTokens struct {
	list       []addedToken
	ids        map[string]int32
	byID       map[int32]int // index in list
	raw        matcher
	normalized matcher
}

// maxToken is the maximum length, in bytes, of an added token and of a WordPiece token.
// It bounds the time for finding the longest token at each position of a text.
const maxToken = 1024

func (t *Tokenizer) parseAdded(n node) error {
	a := &addedTokens{ids: map[string]int32{}, byID: map[int32]int{}}
	t.added = a
	if n.isNull() {
		return nil
	}
	next := int32(len(t.vocab)) // the library's rule, with which the file must agree
	w := &scratch{}
	index := 0
	err := n.each('[', func(_, v []byte) error {
		item := n.item(index, v)
		index++
		o, err := item.object()
		if err != nil {
			return err
		}
		k := addedToken{
			id:         o.get("id").integer(&err),
			name:       o.get("content").text(&err),
			special:    o.get("special").boolean(&err),
			singleWord: o.get("single_word").boolean(&err),
			lstrip:     o.get("lstrip").boolean(&err),
			rstrip:     o.get("rstrip").boolean(&err),
			normalized: o.get("normalized").boolean(&err),
		}
		if err != nil {
			return err
		}
		if err := o.done(); err != nil {
			return err
		}
		if _, ok := a.ids[k.name]; ok {
			return damaged(item.path, "%.80q is added twice", k.name)
		}
		want, ok := t.vocab[k.name]
		if !ok {
			want = next
			next++
			if old, ok := t.tokens.get(want); ok {
				return damaged(item.path, "the id %d is that of %.80q and of %.80q", want, old, k.name)
			}
			t.tokens.set(want, k.name)
		}
		if k.id != want {
			return damaged(item.path+".id", "%d, but the vocabulary and the tokens before it make the id of %.80q %d", k.id, k.name, want)
		}
		k.find = k.name
		if k.normalized && t.norm != nil {
			k.find = t.norm.normalize(k.name, w)
		}
		if k.find == "" || len(k.find) > maxToken {
			return fmt.Errorf("tokenizer: %w: %s.content: %.80q, which has %d bytes when normalized; 1 to %d are supported", expr.ErrUnsupported, item.path, k.name, len(k.find), maxToken)
		}
		a.ids[k.name] = k.id
		a.byID[k.id] = len(a.list)
		a.list = append(a.list, k)
		return nil
	})
	if err != nil {
		return err
	}
	return t.indexAdded(n.path)
}

// indexAdded makes the matchers for the added tokens.
func (t *Tokenizer) indexAdded(path string) error {
	a := t.added
	special := map[string]bool{}
	raw, normalized := map[string]int32{}, map[string]int32{}
	var specials []addedToken
	for i, k := range a.list {
		if k.special {
			special[k.name] = true
			specials = append(specials, k)
		}
		m := raw
		if k.normalized {
			m = normalized
		}
		if other, ok := m[k.find]; ok {
			return fmt.Errorf("tokenizer: %w: %s: %.80q and %.80q are both found as %.80q", expr.ErrUnsupported, path, a.list[other].name, k.name, k.find)
		}
		m[k.find] = int32(i)
	}
	for i := range a.list {
		// As in the library, the property of the decoded spelling counts.
		a.list[i].skip = special[a.list[i].find]
	}
	slices.SortFunc(specials, func(x, y addedToken) int { return cmp.Compare(x.id, y.id) })
	for _, k := range specials {
		t.special = append(t.special, k.name)
	}
	a.raw, a.normalized = newMatcher(raw), newMatcher(normalized)
	return nil
}

// matcher finds added tokens in a text. It finds the leftmost match, and of several there
// the longest.
type matcher struct {
	trie  *trie
	first [256]bool // whether a token begins with the byte
	only  int       // the byte with which all tokens begin, or -1 if there are several
}

func newMatcher(tokens map[string]int32) matcher {
	m := matcher{only: -1}
	if len(tokens) == 0 {
		return m
	}
	m.trie = newTrie(tokens)
	for token := range tokens {
		m.first[token[0]] = true
	}
	n := 0
	for b, ok := range m.first {
		if ok {
			n++
			m.only = b
		}
	}
	if n > 1 {
		m.only = -1
	}
	return m
}

// next returns the first token in s at or after position from. If there is none, index is
// -1.
func (m *matcher) next(s string, from int) (index int32, start, stop int) {
	if m.trie == nil {
		return -1, len(s), len(s)
	}
	for i := from; i < len(s); i++ {
		if m.only >= 0 {
			k := strings.IndexByte(s[i:], byte(m.only))
			if k < 0 {
				break
			}
			i += k
		} else if !m.first[s[i]] {
			continue
		}
		if index, n := m.trie.longest(0, s[i:]); n > 0 {
			return index, i, i + n
		}
	}
	return -1, len(s), len(s)
}

// wordBefore reports whether s ends in a letter or another character of a word.
func wordBefore(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && tables.Load().Of(r)&tables.Word != 0
}

func wordAfter(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && tables.Load().Of(r)&tables.Word != 0
}

// spaceBefore returns the length of the white space at the end of s.
func spaceBefore(s string) int {
	end := len(s)
	for end > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:end])
		if tables.Load().Of(r)&tables.WordSpace == 0 {
			break
		}
		end -= n
	}
	return len(s) - end
}

func spaceAfter(s string) int {
	at := 0
	for at < len(s) {
		r, n := utf8.DecodeRuneInString(s[at:])
		if tables.Load().Of(r)&tables.WordSpace == 0 {
			break
		}
		at += n
	}
	return at
}
