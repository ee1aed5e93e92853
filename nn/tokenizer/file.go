package tokenizer

import (
	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"
)

// parse reads the file's fields in the order in which they depend on each
// other.
func parse(n node) (*Tokenizer, error) {
	o, err := n.object()
	if err != nil {
		return nil, err
	}
	if v := o.get("version"); !v.isNull() {
		if s, ok := unquote(v.raw); !ok || s != "1.0" {
			return nil, unsupported(v)
		}
	}
	o.get("truncation") // truncation is the caller's decision
	o.get("padding")
	t := &Tokenizer{}
	if t.norm, err = parseNormalizer(o.get("normalizer")); err != nil {
		return nil, err
	}
	pre, err := parsePreTokenizer(o.get("pre_tokenizer"))
	if err != nil {
		return nil, err
	}
	if err := t.parseModel(o.get("model"), pre); err != nil {
		return nil, err
	}
	if err := t.parseAdded(o.get("added_tokens")); err != nil {
		return nil, err
	}
	if t.template, err = t.parseTemplate(o.get("post_processor")); err != nil {
		return nil, err
	}
	if t.decoder, err = parseDecoder(o.get("decoder")); err != nil {
		return nil, err
	}
	if err := o.done(); err != nil {
		return nil, err
	}
	t.scratch.New = func() any { return &scratch{} }
	return t, nil
}

// typed returns an object and its member "type".
func (n node) typed() (*object, string, error) {
	o, err := n.object()
	if err != nil {
		return nil, "", err
	}
	kind := o.get("type").text(&err)
	return o, kind, err
}

func parseNormalizer(n node) (normalizer, error) {
	if n.isNull() {
		return nil, nil
	}
	o, kind, err := n.typed()
	if err != nil {
		return nil, err
	}
	var norm normalizer
	switch kind {
	case "BertNormalizer":
		b := &bertNormalizer{table: tables.Load()}
		b.clean = o.get("clean_text").boolean(&err)
		b.chinese = o.get("handle_chinese_chars").boolean(&err)
		b.lower = o.get("lowercase").boolean(&err)
		b.strip = b.lower
		if s := o.get("strip_accents"); !s.isNull() {
			b.strip = s.boolean(&err)
		}
		b.tabulate()
		norm = b
	case "NFC":
		norm = &nfc{tables.Load()}
	default:
		return nil, unsupported(o.get("type"))
	}
	if err != nil {
		return nil, err
	}
	return norm, o.done()
}

// preTokenizer holds the settings of the file's pre-tokenizer.
type preTokenizer struct {
	node
	bert            bool
	split           split // the pattern of byte-level BPE
	addPrefixSpace  bool
	prefixEveryWord bool // for every word, not only for the whole text
}

func parsePreTokenizer(n node) (p preTokenizer, err error) {
	p.node = n
	if n.isNull() {
		return p, unsupported(node{n.path, []byte("null")})
	}
	o, kind, err := n.typed()
	if err != nil {
		return p, err
	}
	switch kind {
	case "BertPreTokenizer":
		p.bert = true
		return p, o.done()
	case "ByteLevel":
		regex, err := p.byteLevel(o)
		if regex {
			p.split = splitGPT2
		}
		return p, err
	case "Sequence":
		return p, p.sequence(o)
	}
	return p, unsupported(o.get("type"))
}

// byteLevel reads a ByteLevel pre-tokenizer, and whether it splits.
func (p *preTokenizer) byteLevel(o *object) (regex bool, err error) {
	p.addPrefixSpace, regex = byteLevel(o, &err)
	if err != nil {
		return false, err
	}
	return regex, o.done()
}

// byteLevel reads the members of ByteLevel, which is a pre-tokenizer, a
// post-processor and a decoder.
func byteLevel(o *object, err *error) (prefix, regex bool) {
	prefix = o.get("add_prefix_space").boolean(err)
	o.get("trim_offsets").boolean(err) // there are no offsets
	regex = true
	if r := o.get("use_regex"); r.raw != nil {
		regex = r.boolean(err)
	}
	return prefix, regex
}

// sequence reads [Split, ByteLevel] or [ByteLevel].
func (p *preTokenizer) sequence(o *object) error {
	list := o.get("pretokenizers")
	items, err := list.items(2)
	if err != nil {
		return err
	}
	if err := o.done(); err != nil {
		return err
	}
	for i, n := range items {
		o, kind, err := n.typed()
		if err != nil {
			return err
		}
		last := i == len(items)-1
		switch {
		case kind == "Split" && !last:
			if p.split, err = parseSplit(o); err != nil {
				return err
			}
			p.prefixEveryWord = true
		case kind == "ByteLevel" && last:
			regex, err := p.byteLevel(o)
			if err != nil {
				return err
			}
			switch {
			case regex && p.split != splitNone:
				return unsupported(node{n.path + ".use_regex", []byte("true")})
			case regex:
				p.split = splitGPT2
			}
			return nil
		default:
			return unsupported(o.get("type"))
		}
	}
	return unsupported(list)
}

// items returns the elements of an array. More than limit are an error.
func (n node) items(limit int) ([]node, error) {
	var out []node
	err := n.each('[', func(_, v []byte) error {
		if len(out) == limit {
			return unsupported(n)
		}
		out = append(out, n.item(len(out), v))
		return nil
	})
	return out, err
}

func parseSplit(o *object) (split, error) {
	pattern, err := o.get("pattern").object()
	if err != nil {
		return splitNone, err
	}
	regex := pattern.get("Regex")
	if regex.raw == nil {
		return splitNone, unsupported(pattern.node)
	}
	text := regex.text(&err)
	if b := o.get("behavior"); string(b.raw) != `"Isolated"` {
		return splitNone, unsupported(b)
	}
	if i := o.get("invert"); i.boolean(&err) {
		return splitNone, unsupported(i)
	}
	if err != nil {
		return splitNone, err
	}
	s, ok := patterns[text]
	if !ok {
		return splitNone, unsupported(regex)
	}
	if err := pattern.done(); err != nil {
		return splitNone, err
	}
	return s, o.done()
}

// parseModel reads the vocabulary and the settings of the model.
func (t *Tokenizer) parseModel(n node, pre preTokenizer) error {
	o, kind, err := n.typed()
	if err != nil {
		return err
	}
	if kind != "WordPiece" && kind != "BPE" {
		return unsupported(o.get("type"))
	}
	if pre.bert != (kind == "WordPiece") {
		return unsupported(node{pre.path + " before a model " + kind, pre.raw})
	}
	if err := t.parseVocab(o.get("vocab")); err != nil {
		return err
	}
	if kind == "WordPiece" {
		t.words, err = t.parseWordPiece(o)
	} else {
		t.words, err = t.parseBPE(o, pre)
	}
	if err != nil {
		return err
	}
	return o.done()
}

// parseVocab reads the tokens and their ids.
func (t *Tokenizer) parseVocab(n node) error {
	count := 0
	err := n.each('{', func(_, _ []byte) error { count++; return nil })
	if err != nil {
		return err
	}
	t.vocab = make(map[string]int32, count)
	t.tokens = newTokenTable(count)
	return n.each('{', func(k, v []byte) error {
		token, ok := unquote(k)
		if !ok {
			return damaged(n.path, "a token %.80q", k)
		}
		id, ok := integer(v)
		if !ok {
			return damaged(n.path, "the token %.80q has the id %.40q; ids are numbers from 0 to 2147483647", token, v)
		}
		if _, ok := t.vocab[token]; ok {
			return damaged(n.path, "the token %.80q appears twice", token)
		}
		if !t.tokens.set(id, token) {
			other, _ := t.tokens.get(id)
			return damaged(n.path, "the tokens %.80q and %.80q both have the id %d", other, token, id)
		}
		t.vocab[token] = id
		return nil
	})
}
