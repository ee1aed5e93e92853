package tokenizer

import "slices"

// MaxID returns the largest id of a token, or -1 if there are no tokens.
func (t *Tokenizer) MaxID() int32 {
	if t == nil {
		return -1
	}
	last := int32(-1)
	for id := range t.tokens.sparse {
		last = max(last, id)
	}
	for id, has := range slices.Backward(t.tokens.has) {
		if has {
			return max(last, int32(id))
		}
	}
	return last
}
