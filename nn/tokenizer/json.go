package tokenizer

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a value of the file: its path, such as "model.merges[3]", and its text. The
// path of the whole file is empty. The whole file was checked, so its parts are valid
// JSON.
//
// encoding/json alone is not enough: it accepts duplicate keys, ignores the case of keys
// and repairs broken surrogates.
type node struct {
	path string
	raw  []byte
}

// root checks a file and returns its value.
func root(data []byte) (node, error) {
	var n node
	switch {
	case !utf8.Valid(data):
		return n, damaged(n.path, "it is not UTF-8")
	case !json.Valid(data):
		var any json.RawMessage
		return n, damaged(n.path, "%v", json.Unmarshal(data, &any))
	}
	if at := loneSurrogate(data); at >= 0 {
		return n, damaged(n.path, "half a surrogate pair at byte %d", at)
	}
	n.raw = bytes.TrimSpace(data)
	return n, nil
}

// loneSurrogate returns the position of an escaped half of a surrogate pair without its
// other half, or -1.
func loneSurrogate(data []byte) int {
	high := false // the previous escape was a high half
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			if high {
				return i - 1
			}
			continue
		}
		i++
		if data[i] != 'u' {
			if high {
				return i - 1
			}
			continue
		}
		v, _ := strconv.ParseUint(string(data[i+1:i+5]), 16, 16)
		low := v >= 0xDC00 && v < 0xE000
		if low != high {
			return i - 1
		}
		high = v >= 0xD800 && v < 0xDC00
		i += 4
	}
	return -1
}

// isNull reports whether the value is null or absent.
func (n node) isNull() bool { return len(n.raw) == 0 || n.raw[0] == 'n' }

// each calls f for every member of an object or element of an array, until f
// fails. The key of an element is nil. Keys are raw, with their quotation marks.
func (n node) each(open byte, f func(key, value []byte) error) error {
	if len(n.raw) == 0 || n.raw[0] != open {
		what := "an array"
		if open == '{' {
			what = "an object"
		}
		return damaged(n.path, "%.40q where %s should be", n.raw, what)
	}
	b := n.raw
	for i := skipSpace(b, 1); b[i] != '}' && b[i] != ']'; {
		var key []byte
		if open == '{' {
			end := skipValue(b, i)
			key = b[i:end]
			i = skipSpace(b, skipSpace(b, end)+1) // the colon
		}
		end := skipValue(b, i)
		if err := f(key, b[i:end]); err != nil {
			return err
		}
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
	return nil
}

// item returns the node of an element of n.
func (n node) item(i int, raw []byte) node {
	return node{n.path + "[" + strconv.Itoa(i) + "]", raw}
}

// maxKey is the maximum length of a key in a path. Every member of an object repeats the
// path.
const maxKey = 80

// below returns the path of the member of n with a key.
func (n node) below(key string) string {
	if len(key) > maxKey {
		const more = "…"
		key = strings.ToValidUTF8(key[:maxKey-len(more)], "") + more
	}
	if n.path == "" {
		return key
	}
	return n.path + "." + key
}

func skipSpace(b []byte, i int) int {
	for b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n' {
		i++
	}
	return i
}

// skipValue returns the end of the value that begins at i.
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		for i++; b[i] != '"'; i++ {
			if b[i] == '\\' {
				i++
			}
		}
		return i + 1
	case '{', '[':
		for depth := 0; ; i++ {
			switch b[i] {
			case '"':
				i = skipValue(b, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

// unquote returns the string that raw encodes, and false for any other value.
func unquote(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// integer returns the number that raw encodes, which must be from 0 to 2^31-1.
func integer(raw []byte) (int32, bool) {
	v, err := strconv.ParseUint(string(raw), 10, 64)
	return int32(v), err == nil && v <= math.MaxInt32
}

// object holds the members of an object, and which of them get has returned. done fails
// for the others.
type object struct {
	node
	keys   []string
	member map[string]node
	asked  map[string]bool
}

func (n node) object() (*object, error) {
	o := &object{node: n, member: map[string]node{}, asked: map[string]bool{}}
	err := n.each('{', func(k, v []byte) error {
		key, _ := unquote(k)
		if _, ok := o.member[key]; ok {
			return damaged(n.path, "the key %.80q appears twice", key)
		}
		o.keys = append(o.keys, key)
		o.member[key] = node{n.below(key), v}
		return nil
	})
	return o, err
}

// get returns a member. An absent one is null.
func (o *object) get(key string) node {
	o.asked[key] = true
	if n, ok := o.member[key]; ok {
		return n
	}
	return node{path: o.below(key)}
}

// done returns an error for a member that get has not returned.
func (o *object) done() error {
	for _, k := range o.keys {
		if !o.asked[k] {
			return unsupported(o.member[k])
		}
	}
	return nil
}

func (n node) text(err *error) string {
	s, ok := unquote(n.raw)
	if !ok && *err == nil {
		*err = damaged(n.path, "%.40q where a string should be", n.raw)
	}
	return s
}

func (n node) boolean(err *error) bool {
	switch string(n.raw) {
	case "true":
		return true
	case "false":
		return false
	}
	if *err == nil {
		*err = damaged(n.path, "%.40q where true or false should be", n.raw)
	}
	return false
}

func (n node) integer(err *error) int32 {
	v, ok := integer(n.raw)
	if !ok && *err == nil {
		*err = damaged(n.path, "%.40q where a number from 0 to 2147483647 should be", n.raw)
	}
	return v
}
