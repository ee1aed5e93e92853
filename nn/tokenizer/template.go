package tokenizer

import "slices"

// template describes how a post-processor assembles the ids of a text, as a sequence of
// pieces. A nil template is the text alone.
type template []piece

// piece is the text itself, or ids before or after it.
type piece struct {
	text bool
	ids  []int32
}

// parseTemplate reads the post-processor, or a sequence with at most one that adds ids.
// ByteLevel adds none: it only changes offsets.
func (t *Tokenizer) parseTemplate(n node) (template, error) {
	if n.isNull() {
		return nil, nil
	}
	o, kind, err := n.typed()
	if err != nil {
		return nil, err
	}
	if kind != "Sequence" {
		return t.processor(o, kind)
	}
	list := o.get("processors")
	items, err := list.items(64)
	if err != nil {
		return nil, err
	}
	var all template
	for _, n := range items {
		o, kind, err := n.typed()
		if err != nil {
			return nil, err
		}
		one, err := t.processor(o, kind)
		if err != nil {
			return nil, err
		}
		if all != nil && one != nil {
			return nil, unsupported(n)
		}
		if one != nil {
			all = one
		}
	}
	return all, o.done()
}

// processor reads one post-processor. It returns nil for ByteLevel.
func (t *Tokenizer) processor(o *object, kind string) (template, error) {
	var err error
	var out template
	switch kind {
	case "ByteLevel":
		byteLevel(o, &err)
	case "RobertaProcessing", "BertProcessing":
		if kind == "RobertaProcessing" {
			o.get("trim_offsets").boolean(&err)
			o.get("add_prefix_space").boolean(&err)
		}
		cls, sep := t.pair(o.get("cls"), &err), t.pair(o.get("sep"), &err)
		out = template{{ids: cls}, {text: true}, {ids: sep}}
	case "TemplateProcessing":
		out, err = t.templateProcessing(o)
	default:
		return nil, unsupported(o.get("type"))
	}
	if err != nil {
		return nil, err
	}
	return out, o.done()
}

// pair reads a token with its id, such as ["[CLS]", 101].
func (t *Tokenizer) pair(n node, err *error) []int32 {
	if *err != nil {
		return nil
	}
	var items []node
	if items, *err = n.items(2); *err != nil {
		return nil
	}
	if len(items) != 2 {
		*err = damaged(n.path, "%.80q where a token and its id should be", n.raw)
		return nil
	}
	items[0].text(err)
	return []int32{t.knownID(items[1], err)}
}

// knownID reads an id, which must have a token.
func (t *Tokenizer) knownID(n node, err *error) int32 {
	id := n.integer(err)
	if _, ok := t.tokens.get(id); !ok && *err == nil {
		*err = damaged(n.path, "no token has the id %d", id)
	}
	return id
}

// maxPieces is the maximum number of pieces: a template can contain the text more than
// once.
const maxPieces = 64

func (t *Tokenizer) templateProcessing(o *object) (template, error) {
	ids, err := t.templateTokens(o.get("special_tokens"))
	if err != nil {
		return nil, err
	}
	if _, err := o.get("pair").items(maxPieces); err != nil { // not used, but checked to this extent
		return nil, err
	}
	pieces, err := o.get("single").items(maxPieces)
	if err != nil {
		return nil, err
	}
	out := template{}
	for _, n := range pieces {
		variant, err := n.object()
		if err != nil {
			return nil, err
		}
		text, special := variant.get("Sequence"), variant.get("SpecialToken")
		body := text
		if text.raw == nil {
			body = special
		}
		if body.raw == nil || len(variant.keys) != 1 {
			return nil, unsupported(n)
		}
		p, err := body.object()
		if err != nil {
			return nil, err
		}
		id := p.get("id")
		name := id.text(&err)
		p.get("type_id").integer(&err)
		if err == nil {
			err = p.done()
		}
		if err != nil {
			return nil, err
		}
		if text.raw != nil {
			if name != "A" {
				return nil, damaged(id.path, "%.80q in the template of a single text, which is A", name)
			}
			out = append(out, piece{text: true})
			continue
		}
		add, ok := ids[name]
		if !ok {
			return nil, damaged(id.path, "special_tokens lacks %.80q", name)
		}
		out = append(out, piece{ids: add})
	}
	return out, nil
}

// templateTokens reads the ids of a template's special tokens.
func (t *Tokenizer) templateTokens(n node) (map[string][]int32, error) {
	o, err := n.object()
	if err != nil {
		return nil, err
	}
	out := map[string][]int32{}
	for _, name := range o.keys {
		s, err := o.get(name).object()
		if err != nil {
			return nil, err
		}
		s.get("id").text(&err)
		if err != nil {
			return nil, err
		}
		list, err := s.get("ids").items(maxPieces)
		if err != nil {
			return nil, err
		}
		tokens, err := s.get("tokens").items(maxPieces)
		if err != nil {
			return nil, err
		}
		if len(tokens) != len(list) {
			return nil, damaged(s.path, "%d ids and %d tokens", len(list), len(tokens))
		}
		ids := []int32{}
		for _, id := range list {
			ids = append(ids, t.knownID(id, &err))
		}
		for _, token := range tokens {
			token.text(&err)
		}
		if err == nil {
			err = s.done()
		}
		if err != nil {
			return nil, err
		}
		out[name] = ids
	}
	return out, nil
}

// after appends the pieces after the text, whose ids are dst[from:].
func (t template) after(dst []int32, from int) []int32 {
	to := len(dst)
	seen := false
	for _, p := range t {
		switch {
		case !p.text && seen:
			dst = append(dst, p.ids...)
		case p.text && seen:
			dst = append(dst, dst[from:to]...)
		case p.text:
			seen = true
		}
	}
	return dst
}

// before appends the pieces before the text. If the template does not contain the text,
// it appends all pieces, and ok is false.
func (t template) before(dst []int32) (out []int32, ok bool) {
	for _, p := range t {
		if p.text {
			return dst, true
		}
		dst = append(dst, p.ids...)
	}
	return dst, t == nil || slices.ContainsFunc(t, func(p piece) bool { return p.text })
}
