package tokenizer

import (
	"fmt"
	"unicode/utf8"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"
)

// wordSplitter is a pre-tokenizer with a model: it appends the ids of a normalized text
// without added tokens.
type wordSplitter interface {
	appendIDs(dst []int32, s string, w *scratch) []int32
}

// wordPiece is BertPreTokenizer with WordPiece. From each word it takes the longest token
// at the beginning, then the longest token that can follow, and so on.
type wordPiece struct {
	table    *tables.Table
	ascii    [256]uint8 // the kind of each byte
	trie     *trie
	inside   int32 // the node of the prefix of tokens inside words, or -1
	cache    *wordCache
	unknown  int32
	maxChars int
}

const (
	kindWord = iota
	kindSpace
	kindPunctuation
	kindWide // the first byte of a longer code point
)

func (t *Tokenizer) parseWordPiece(o *object) (*wordPiece, error) {
	var err error
	p := &wordPiece{table: tables.Load(), cache: newWordCache()}
	unk := o.get("unk_token")
	name := unk.text(&err)
	prefix := o.get("continuing_subword_prefix").text(&err)
	p.maxChars = int(o.get("max_input_chars_per_word").integer(&err))
	if err != nil {
		return nil, err
	}
	var ok bool
	if p.unknown, ok = t.vocab[name]; !ok {
		return nil, damaged(unk.path, "the vocabulary lacks %.80q", name)
	}
	for token := range t.vocab {
		if len(token) > maxToken {
			return nil, fmt.Errorf("tokenizer: %w: %s: %.80q has %d bytes; at most %d are supported", expr.ErrUnsupported, o.get("vocab").path, token, len(token), maxToken)
		}
	}
	p.trie = newTrie(t.vocab)
	p.inside = p.trie.walk(0, prefix)
	for c := range p.ascii {
		p.ascii[c] = kindWide
		if c < utf8.RuneSelf {
			p.ascii[c] = kind(p.table.Of(rune(c)))
		}
	}
	return p, nil
}

func kind(f tables.Flags) uint8 {
	switch {
	case f&tables.BertSpace != 0:
		return kindSpace
	case f&tables.BertPunctuation != 0:
		return kindPunctuation
	}
	return kindWord
}

func (p *wordPiece) appendIDs(dst []int32, s string, _ *scratch) []int32 {
	word := 0 // where the word began
	for i := 0; i < len(s); {
		k, n := p.ascii[s[i]], 1
		if k == kindWide {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			k = kind(p.table.Of(r))
		}
		if k != kindWord {
			if word < i {
				dst = p.appendWord(dst, s[word:i])
			}
			if k == kindPunctuation {
				dst = p.appendWord(dst, s[i:i+n])
			}
			word = i + n
		}
		i += n
	}
	if word < len(s) {
		dst = p.appendWord(dst, s[word:])
	}
	return dst
}

// appendWord appends the ids of a word that is not empty.
func (p *wordPiece) appendWord(dst []int32, word string) []int32 {
	if len(word) > maxCached {
		return p.appendPieces(dst, word)
	}
	hash := p.cache.hash(word)
	if ids, ok := p.cache.get(hash, word); ok {
		return append(dst, ids...)
	}
	before := len(dst)
	dst = p.appendPieces(dst, word)
	p.cache.put(hash, word, dst[before:])
	return dst
}

// appendPieces is appendWord without the cache.
func (p *wordPiece) appendPieces(dst []int32, word string) []int32 {
	if len(word) > p.maxChars && utf8.RuneCountInString(word) > p.maxChars {
		return append(dst, p.unknown)
	}
	before := len(dst)
	for at := int32(0); word != ""; at = p.inside {
		id, n := int32(-1), 0
		if at >= 0 {
			id, n = p.trie.longest(at, word)
		}
		if n == 0 {
			return append(dst[:before], p.unknown)
		}
		dst = append(dst, id)
		word = word[n:]
	}
	return dst
}
