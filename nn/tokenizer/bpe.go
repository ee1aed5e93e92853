package tokenizer

import (
	"strings"
)

// byteBPE is the model BPE after a pre-tokenizer that ends in ByteLevel.
type byteBPE struct {
	scan            *scanner
	split           split
	addPrefixSpace  bool // a space is added before a text that does not begin with one
	prefixEveryWord bool // the same for every word

	bytes        [256]int32 // the token of a byte, or -1
	unknown      int32      // for bytes without a token; -1: they are dropped
	fuse         bool       // consecutive unknown bytes become one token
	merges       map[uint64]merge
	cache        *wordCache
	ignoreMerges bool             // a word that is a token is not merged
	whole        map[string]int32 // with ignoreMerges: the tokens as bytes
}

// merge is the result of merging a pair of tokens. Pairs of smaller rank are merged
// first.
type merge struct{ rank, id int32 }

func pairOf(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

func (t *Tokenizer) parseBPE(o *object, pre preTokenizer) (*byteBPE, error) {
	p := &byteBPE{scan: newScanner(), split: pre.split, addPrefixSpace: pre.addPrefixSpace, prefixEveryWord: pre.prefixEveryWord, unknown: -1, cache: newWordCache()}
	if d := o.get("dropout"); !d.isNull() && string(d.raw) != "0.0" && string(d.raw) != "0" {
		return nil, unsupported(d)
	}
	for _, name := range []string{"continuing_subword_prefix", "end_of_word_suffix"} {
		if s := o.get(name); !s.isNull() && string(s.raw) != `""` {
			return nil, unsupported(s)
		}
	}
	var err error
	optional := func(name string) bool {
		n := o.get(name)
		return !n.isNull() && n.boolean(&err)
	}
	p.fuse = optional("fuse_unk")
	p.ignoreMerges = optional("ignore_merges")
	if optional("byte_fallback") {
		return nil, unsupported(o.get("byte_fallback"))
	}
	if err != nil {
		return nil, err
	}
	missing := -1
	for b, r := range letterOf {
		id, ok := t.vocab[string(r)]
		if !ok {
			id = -1
			missing = b
		}
		p.bytes[b] = id
	}
	if unk := o.get("unk_token"); !unk.isNull() {
		name := unk.text(&err)
		if err != nil {
			return nil, err
		}
		id, ok := t.vocab[name]
		if !ok && missing >= 0 {
			return nil, damaged(unk.path, "the vocabulary lacks %.80q, and the byte %#x as well", name, missing)
		}
		if ok {
			p.unknown = id
		}
	}
	if p.ignoreMerges {
		p.whole = make(map[string]int32, len(t.vocab))
		for token, id := range t.vocab {
			if b, ok := bytesOf(token); ok {
				p.whole[b] = id
			}
		}
	}
	return p, t.parseMerges(o.get("merges"), p)
}

// parseMerges reads pairs, "a b" or ["a", "b"], by ascending rank.
func (t *Tokenizer) parseMerges(n node, p *byteBPE) error {
	count := 0
	if err := n.each('[', func(_, _ []byte) error { count++; return nil }); err != nil {
		return err
	}
	p.merges = make(map[uint64]merge, count)
	var joined []byte
	rank := int32(0)
	index := 0
	legacy := count > 0 && firstOf(n) == '"'
	return n.each('[', func(_, v []byte) error {
		item := func() node { return n.item(index-1, v) }
		index++
		a, b, version, err := mergePair(v, item, legacy)
		if err != nil || version {
			return err
		}
		ia, ok := t.vocab[a]
		if !ok {
			return damaged(item().path, "the vocabulary lacks %.80q", a)
		}
		ib, ok := t.vocab[b]
		if !ok {
			return damaged(item().path, "the vocabulary lacks %.80q", b)
		}
		joined = append(append(joined[:0], a...), b...)
		id, ok := t.vocab[string(joined)]
		if !ok {
			return damaged(item().path, "the vocabulary lacks %.80q", joined)
		}
		p.merges[pairOf(ia, ib)] = merge{rank, id} // if a pair occurs twice, the last one counts
		rank++
		return nil
	})
}

// firstOf returns the first byte of an array's first element.
func firstOf(n node) byte { return n.raw[skipSpace(n.raw, 1)] }

// mergePair returns the two tokens of a merge. Old files begin with a line that gives the
// version; it is not a merge.
func mergePair(v []byte, item func() node, legacy bool) (a, b string, version bool, err error) {
	if legacy {
		line, ok := unquote(v)
		if !ok {
			return "", "", false, damaged(item().path, "%.80q among strings", v)
		}
		if strings.HasPrefix(line, "#version") {
			return "", "", true, nil
		}
		a, b, ok = strings.Cut(line, " ")
		if !ok || strings.Contains(b, " ") {
			return "", "", false, damaged(item().path, "%.80q is not two tokens with a space between", line)
		}
		return a, b, false, nil
	}
	var part [2]string
	i := 0
	err = item().each('[', func(_, v []byte) error {
		s, ok := unquote(v)
		if !ok || i == 2 {
			return damaged(item().path, "not two strings")
		}
		part[i] = s
		i++
		return nil
	})
	if err == nil && i != 2 {
		err = damaged(item().path, "not two strings")
	}
	return part[0], part[1], false, err
}

func (p *byteBPE) appendIDs(dst []int32, s string, w *scratch) []int32 {
	if p.addPrefixSpace && !p.prefixEveryWord && s[0] != ' ' {
		s = " " + s
	}
	if p.split == splitNone {
		return p.appendWord(dst, s, w)
	}
	for i := 0; i < len(s); {
		end := p.scan.next(s, i, p.split)
		word := s[i:end]
		if p.addPrefixSpace && p.prefixEveryWord && word[0] != ' ' {
			word = " " + word
		}
		dst = p.appendWord(dst, word, w)
		i = end
	}
	return dst
}

// appendWord appends the ids of a word that is not empty.
func (p *byteBPE) appendWord(dst []int32, word string, w *scratch) []int32 {
	if len(word) == 1 && p.bytes[word[0]] >= 0 && !p.ignoreMerges {
		return append(dst, p.bytes[word[0]])
	}
	if len(word) > maxCached {
		return p.merge(dst, word, w)
	}
	hash := p.cache.hash(word)
	if ids, ok := p.cache.get(hash, word); ok {
		return append(dst, ids...)
	}
	before := len(dst)
	dst = p.merge(dst, word, w)
	p.cache.put(hash, word, dst[before:])
	return dst
}

// merge appends the ids of a word without using the cache.
func (p *byteBPE) merge(dst []int32, word string, w *scratch) []int32 {
	if p.ignoreMerges {
		if id, ok := p.whole[word]; ok {
			return append(dst, id)
		}
	}
	before := len(dst)
	unknown := false // the previous byte was unknown
	for i := 0; i < len(word); i++ {
		id := p.bytes[word[i]]
		if id < 0 {
			if p.unknown >= 0 && (!unknown || !p.fuse) {
				dst = append(dst, p.unknown)
			}
			unknown = unknown || p.unknown >= 0
			continue
		}
		unknown = false
		dst = append(dst, id)
	}
	ids := dst[before:]
	if len(ids) <= maxScan {
		return dst[:before+p.mergeShort(ids)]
	}
	return dst[:before+p.mergeLong(ids, &w.merge)]
}
