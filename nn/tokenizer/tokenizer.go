package tokenizer

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gpk-go/gpk/expr"
)

// maxFile is the maximum size of a file in bytes. The largest vocabularies in use take 40
// MB.
const maxFile = 256 << 20

// Tokenizer turns text into ids and back. It is safe for use by many goroutines: after it
// is loaded, only its caches change.
type Tokenizer struct {
	vocab    map[string]int32 // the model's tokens
	tokens   tokenTable       // the token of every id, including added tokens
	special  []string         // names, by ascending id
	added    *addedTokens
	norm     normalizer
	words    wordSplitter
	template template
	decoder  decoder
	scratch  sync.Pool // holds *scratch
}

// Load reads the file tokenizer.json of a folder. A file that needs a feature that this
// package does not have is gpk.ErrUnsupported, and a damaged one is ErrFormat. Both
// errors name the field.
func Load(dir string) (*Tokenizer, error) {
	name := filepath.Join(dir, "tokenizer.json")
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return t, nil
}

// Parse reads the contents of a tokenizer.json; see Load.
func Parse(data []byte) (*Tokenizer, error) {
	if len(data) > maxFile {
		return nil, damaged("", "more than %d bytes", maxFile)
	}
	n, err := root(data)
	if err != nil {
		return nil, err
	}
	return parse(n)
}

// usable returns an error for a Tokenizer that was not made by Load or Parse, which has
// no tokens.
func (t *Tokenizer) usable() error {
	if t == nil || t.words == nil {
		return fmt.Errorf("tokenizer: %w: a nil or zero Tokenizer; Load returns one", expr.ErrUnsupported)
	}
	return nil
}

// VocabSize returns the number of tokens, including added ones. Ids can be larger than
// this number if the file leaves some out.
func (t *Tokenizer) VocabSize() int {
	if t.usable() != nil {
		return 0
	}
	return t.tokens.count
}

// ID returns the id of a token as the file spells it: "[CLS]", "##ing", "Ġthe".
func (t *Tokenizer) ID(token string) (id int32, ok bool) {
	if t.usable() != nil {
		return 0, false
	}
	if id, ok = t.vocab[token]; !ok {
		id, ok = t.added.ids[token]
	}
	return id, ok
}

// Token returns the token of an id as the file spells it.
func (t *Tokenizer) Token(id int32) (token string, ok bool) {
	if t.usable() != nil {
		return "", false
	}
	return t.tokens.get(id)
}

// Special returns the id of a special token, such as "[SEP]" or "<|begin_of_text|>". It
// reports false for tokens that are not special.
func (t *Tokenizer) Special(name string) (id int32, ok bool) {
	if t.usable() != nil || !slices.Contains(t.special, name) {
		return 0, false
	}
	return t.ID(name)
}

// SpecialTokens returns the names of the special tokens by ascending id.
func (t *Tokenizer) SpecialTokens() []string {
	if t.usable() != nil {
		return nil
	}
	return slices.Clone(t.special)
}

// tokenTable maps ids to tokens: a slice for ids from 0 on, and a map for ids far beyond
// the number of tokens.
type tokenTable struct {
	dense  []string
	has    []bool
	sparse map[int32]string
	count  int
}

func newTokenTable(count int) tokenTable {
	return tokenTable{dense: make([]string, count), has: make([]bool, count), sparse: map[int32]string{}}
}

func (t *tokenTable) get(id int32) (string, bool) {
	if id >= 0 && int(id) < len(t.dense) {
		return t.dense[id], t.has[id]
	}
	s, ok := t.sparse[id]
	return s, ok
}

// set reports false if the id already has a token.
func (t *tokenTable) set(id int32, token string) bool {
	if _, ok := t.get(id); ok {
		return false
	}
	t.count++
	if int(id) < len(t.dense) {
		t.dense[id], t.has[id] = token, true
	} else {
		t.sparse[id] = token
	}
	return true
}
