package safetensors

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner consumes JSON from the beginning of a text, which must be valid UTF-8, and keeps the
// first error. It is stricter than encoding/json, which accepts duplicate names, half a surrogate
// pair, and fields in any case.
type scanner struct {
	text   string
	at     int
	tensor *string // the tensor whose description is being read
	err    error
}

// maxDepth is the maximum nesting of values that are skipped.
const maxDepth = 64

func (s *scanner) fail(format string, args ...any) {
	if s.err != nil {
		return
	}
	of := ""
	if s.tensor != nil {
		of = "tensor " + short(*s.tensor) + ": "
	}
	s.err = formatError("%s%s, at byte %d of the JSON", of, fmt.Sprintf(format, args...), s.at)
}

func (s *scanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// peek returns the next byte that is not white space, or 0.
func (s *scanner) peek() byte {
	if s.space(); s.err != nil || s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

// next consumes c if it is the next byte.
func (s *scanner) next(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) take(c byte) {
	if !s.next(c) {
		s.fail("%s where %q should be", s.here(), c)
	}
}

// here returns a description of the next token.
func (s *scanner) here() string {
	if s.space(); s.at == len(s.text) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(s.text[s.at:])
	return strconv.QuoteRune(r)
}

// object parses an object. It calls f to parse the value of each key.
func (s *scanner) object(f func(key string)) {
	for s.take('{'); s.err == nil && !s.next('}'); {
		key := s.str()
		s.take(':')
		if s.err == nil {
			f(key)
		}
		if !s.next(',') {
			s.take('}')
			return
		}
		if s.peek() == '}' {
			s.fail("a comma before '}'")
		}
	}
}

// array parses an array. It calls f to parse each value.
func (s *scanner) array(f func()) {
	for s.take('['); s.err == nil && !s.next(']'); {
		f()
		if !s.next(',') {
			s.take(']')
			return
		}
		if s.peek() == ']' {
			s.fail("a comma before ']'")
		}
	}
}

// strings parses an object whose values are strings.
func (s *scanner) strings(what string) map[string]string {
	m := map[string]string{}
	s.object(func(key string) {
		if _, twice := m[key]; twice {
			s.fail("%s: %s appears twice", what, short(key))
		}
		if s.peek() != '"' {
			s.fail("%s: %s is not a string", what, short(key))
		}
		m[key] = s.str()
	})
	return m
}

// integer parses digits, without a sign, fraction or exponent.
func (s *scanner) integer(what string, most uint64) uint64 {
	s.space()
	start := s.at
	var n uint64
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		hi, lo := bits.Mul64(n, 10)
		sum, carry := bits.Add64(lo, uint64(s.text[s.at]-'0'), 0)
		if hi > 0 || carry > 0 || sum > most {
			s.fail("%s: more than %d", what, most)
			return 0
		}
		n = sum
		s.at++
	}
	switch {
	case s.at == start:
		s.fail("%s: %s where a number of digits should be", what, s.here())
	case s.text[start] == '0' && s.at > start+1:
		s.fail("%s: a number that begins with 0", what)
	case s.at < len(s.text) && strings.IndexByte(".eE", s.text[s.at]) >= 0:
		s.fail("%s: a number that is not an integer", what)
	}
	return n
}

// str parses a string. A string without escapes shares the memory of the text.
func (s *scanner) str() string {
	if s.take('"'); s.err != nil {
		return ""
	}
	start := s.at
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.text[start : s.at-1]
		case c == '\\':
			return s.escaped(s.text[start:s.at])
		case c < ' ':
			s.fail("a control character in a string")
			return ""
		}
	}
	s.fail("a string without a closing quote")
	return ""
}

// escapes are pairs of the letter after a backslash and the character that it stands for.
const escapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

// escaped parses the rest of a string from its first escape on. head is the part before it.
func (s *scanner) escaped(head string) string {
	var b strings.Builder
	b.WriteString(head)
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return b.String()
		case c < ' ':
			s.fail("a control character in a string")
			return ""
		case c != '\\':
			b.WriteByte(c)
			continue
		}
		if s.at < len(s.text) && s.text[s.at] == 'u' {
			s.at++
			b.WriteRune(s.character())
			if s.err != nil {
				return ""
			}
			continue
		}
		i := 0
		for i < len(escapes) && (s.at == len(s.text) || escapes[i] != s.text[s.at]) {
			i += 2
		}
		if i == len(escapes) {
			s.fail("an invalid escape sequence")
			return ""
		}
		b.WriteByte(escapes[i+1])
		s.at++
	}
	s.fail("a string without a closing quote")
	return ""
}

// character reads the four digits after \u and, for a surrogate pair, its second half.
func (s *scanner) character() rune {
	r := s.hex()
	if !utf16.IsSurrogate(r) {
		return r
	}
	if strings.HasPrefix(s.text[s.at:], `\u`) {
		s.at += 2
		r = utf16.DecodeRune(r, s.hex())
	}
	if utf16.IsSurrogate(r) || r == utf8.RuneError {
		s.fail("half a surrogate pair")
	}
	return r
}

// hex reads four hexadecimal digits.
func (s *scanner) hex() rune {
	digits := s.text[s.at:min(s.at+4, len(s.text))]
	n, err := strconv.ParseUint(digits, 16, 16)
	if err != nil || len(digits) != 4 {
		s.fail(`\u without four hexadecimal digits`)
		return 0
	}
	s.at += 4
	return rune(n)
}

// skip reads and ignores a value of any type.
func (s *scanner) skip(depth int) {
	if depth > maxDepth {
		s.fail("values are nested more than %d deep", maxDepth)
		return
	}
	switch c := s.peek(); {
	case c == '{':
		seen := map[string]bool{}
		s.object(func(key string) {
			if seen[key] {
				s.fail("%s appears twice", short(key))
			}
			seen[key] = true
			s.skip(depth + 1)
		})
	case c == '[':
		s.array(func() { s.skip(depth + 1) })
	case c == '"':
		s.str()
	default:
		s.literal()
	}
}

// literal reads a number, true, false or null.
func (s *scanner) literal() {
	end := s.at
	for end < len(s.text) && strings.IndexByte("+-.", s.text[end]) >= 0 || end < len(s.text) && isWord(s.text[end]) {
		end++
	}
	if !json.Valid([]byte(s.text[s.at:end])) {
		s.fail("%s in place of a value", s.here())
		return
	}
	s.at = end
}

func isWord(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// end fails if anything but white space follows.
func (s *scanner) end() {
	if s.peek() != 0 || s.err == nil && s.at < len(s.text) {
		s.fail("%s after the end", s.here())
	}
}

// short quotes a name for an error message, truncated to 120 bytes, because names in a file can be
// of any length.
func short(name string) string {
	const most = 120
	if len(name) <= most {
		return strconv.Quote(name)
	}
	return strconv.Quote(strings.ToValidUTF8(name[:most], "")) + "…"
}

// appendString appends a string as JSON. It escapes only the characters that JSON requires to
// be escaped.
func appendString(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			to = append(to, c)
			continue
		}
		if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
			to = append(to, '\\', "\"\\bfnrt"[at])
		} else {
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(to, '"')
}
