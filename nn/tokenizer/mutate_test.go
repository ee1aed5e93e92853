package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// mutations calls f for every member and element of v, a JSON value, with the path that it lies within, its own
// as errors name it, its value, and a function that sets it. Setting absent removes a member.
func mutations(v any, path string, f func(within, path string, old any, set func(any))) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			old := v[key]
			at := strings.TrimPrefix(path+"."+key, ".")
			f(path, at, old, func(now any) {
				v[key] = now
				if now == absent {
					delete(v, key)
				}
			})
			v[key] = old
			mutations(old, at, f)
		}
	case []any:
		for i, old := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			f(path, at, old, func(now any) {
				if now == absent {
					now = nil
				}
				v[i] = now
			})
			v[i] = old
			mutations(old, at, f)
		}
	}
}

// absent is a member that is not there.
var absent = any(struct{}{})

// hostile are the values that stand for any member in turn.
var hostile = []any{
	nil, absent, true, false, "", "none of it", 0, -1, 1.5, 1e300, int64(1) << 31, json.Number("1" + strings.Repeat("0", 400)),
	[]any{},
	[]any{nil},
	map[string]any{},
	map[string]any{"type": 1},
}

// optional are the fields that can be null or absent.
var optional = []string{
	"added_tokens", "decoder", "model.fuse_unk", "model.ignore_merges", "model.unk_token", "normalizer", "normalizer.strip_accents", "post_processor", "version",
}

// sameKind reports whether two values are of one type of JSON.
func sameKind(a, b any) bool {
	number := func(v any) bool {
		switch v.(type) {
		case int, int64, float64, json.Number:
			return true
		}
		return false
	}
	return number(a) && number(b) || reflect.TypeOf(a) == reflect.TypeOf(b)
}

// TestMutated sets every field of a file to null, to values of other types, and to numbers that are too large or
// negative. The result must be an error that names the field, or a tokenizer that works.
func TestMutated(t *testing.T) {
	for name, file := range map[string]string{"WordPiece": shortWordPiece, "BPE": shortBPE} {
		var root map[string]any
		if err := json.Unmarshal([]byte(file), &root); err != nil {
			t.Fatal(err)
		}
		mutations(root, "", func(within, path string, old any, set func(any)) {
			for _, v := range hostile {
				set(v)
				b, err := json.Marshal(root)
				if err != nil {
					t.Fatal(err)
				}
				k, err := Parse(b)
				if err == nil {
					none := v == nil || v == absent
					flag := v == true || v == false
					if !(none && slices.Contains(optional, path)) && !sameKind(v, old) && !(flag && path == "normalizer.strip_accents") {
						t.Errorf("%s: %s may be %v", name, path, v)
					}
					if _, err := k.Encode("ab ba \u00c9x [U]"); err != nil {
						t.Errorf("%s: %s is %v: %v", name, path, v, err)
					}
					continue
				}
				if !errors.Is(err, ErrFormat) && !errors.Is(err, gpk.ErrUnsupported) || len(err.Error()) > 1000 {
					t.Errorf("%s: %s is %v: %v", name, path, v, err)
				}
				// Parts of a list are named by the list. What is missing contradicts another field, which names it.
				says, field := err.Error(), within
				if within == "" || v == absent && !strings.Contains(says, within) {
					field = strings.TrimPrefix(path[len(within):], ".")
				}
				if !strings.Contains(says, field) && !(path == "model.vocab.##b" && strings.Contains(says, "added_tokens[1]")) {
					t.Errorf("%s: %s is %v: %v", name, path, v, err)
				}
			}
		})
	}
}
