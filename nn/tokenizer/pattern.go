package tokenizer

import (
	"unicode/utf8"

	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"
)

// split is a pattern that cuts a text into words. Its matches cover the whole text.
type split uint8

const (
	splitNone split = iota
	splitGPT2
	splitLlama3 // numbers have up to three digits
	splitQwen2  // numbers have one digit
)

// patterns are the supported regular expressions. Hand-written code finds their matches.
var patterns = map[string]split{
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`:                                          splitGPT2,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: splitLlama3,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:      splitQwen2,
}

// class is a class of characters that the patterns distinguish.
type class uint8

const (
	other class = iota
	letter
	number
	space
	newline // carriage return and line feed, which are also white space
	wide    // the first byte of a longer code point
)

// scanner finds the words of a pattern.
type scanner struct {
	table *tables.Table
	ascii [256]class
}

func newScanner() *scanner {
	p := &scanner{table: tables.Load()}
	for b := range p.ascii {
		p.ascii[b] = wide
		if b < utf8.RuneSelf {
			p.ascii[b] = p.wideClass(rune(b))
		}
	}
	p.ascii['\r'], p.ascii['\n'] = newline, newline
	return p
}

func (p *scanner) wideClass(r rune) class {
	switch f := p.table.Of(r); {
	case f&tables.Letter != 0:
		return letter
	case f&tables.Number != 0:
		return number
	case f&tables.Space != 0:
		return space
	}
	return other
}

// at returns the class and the length of the code point at i. At the end of s the length
// is 0, and the class equals no other.
func (p *scanner) at(s string, i int) (class, int) {
	if i >= len(s) {
		return wide, 0
	}
	if c := p.ascii[s[i]]; c != wide {
		return c, 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return p.wideClass(r), n
}

// run returns the end of the run of code points of a class that continues at i.
func (p *scanner) run(s string, i int, of class) int {
	for {
		for i < len(s) && p.ascii[s[i]] == of {
			i++
		}
		c, n := p.at(s, i)
		if c != of {
			return i
		}
		i += n
	}
}

// next returns the end of the word that begins at i.
func (p *scanner) next(s string, i int, by split) int {
	if by == splitGPT2 {
		return p.gpt2(s, i)
	}
	c, n := p.at(s, i)
	if c == letter {
		return p.run(s, i+n, letter)
	}
	if s[i] == '\'' {
		if k := contraction(s[i+1:], true); k > 0 {
			return i + 1 + k
		}
	}
	if c == number {
		i += n
		if by == splitLlama3 {
			for range 2 {
				if c, n := p.at(s, i); c == number {
					i += n
				}
			}
		}
		return i
	}
	then, m := p.at(s, i+n)
	if then == letter && c != newline {
		return p.run(s, i+n+m, letter)
	}
	if c == other || s[i] == ' ' && then == other {
		return p.newlines(s, p.run(s, i+n, other))
	}
	// White space: the word ends after its last newline. Without a newline, at the end of
	// the text it takes all white space; elsewhere it leaves the last character to the
	// next word.
	end, last, line := p.spaces(s, i)
	switch {
	case line > i:
		return line
	case end < len(s) && last > i:
		return last
	}
	return end
}

func (p *scanner) gpt2(s string, i int) int {
	if s[i] == '\'' {
		if k := contraction(s[i+1:], false); k > 0 {
			return i + 1 + k
		}
	}
	c, n := p.at(s, i)
	if s[i] == ' ' {
		if then, m := p.at(s, i+1); m > 0 && then <= number {
			return p.run(s, i+1+m, then)
		}
	}
	if c <= number {
		return p.run(s, i+n, c)
	}
	end, last, _ := p.spaces(s, i)
	if end < len(s) && last > i {
		return last
	}
	return end
}

// newlines returns the end of a run of carriage returns and line feeds.
func (p *scanner) newlines(s string, i int) int {
	for i < len(s) && p.ascii[s[i]] == newline {
		i++
	}
	return i
}

// spaces scans the white space that begins at i. It returns the end, the beginning of the
// last code point, and the end of the last newline. line is i if there is no newline.
func (p *scanner) spaces(s string, i int) (end, last, line int) {
	end, last, line = i, i, i
	for {
		c, n := p.at(s, end)
		if c != space && c != newline {
			return end, last, line
		}
		last = end
		end += n
		if c == newline {
			line = end
		}
	}
}

// contraction returns the length of s, t, re, ve, m, ll or d at the beginning of s, or 0.
// With anyCase the case is ignored, and the long s counts as s.
func contraction(s string, anyCase bool) int {
	if s == "" {
		return 0
	}
	if anyCase && len(s) > 1 && s[:2] == "ſ" {
		return 2
	}
	fold := func(c byte) byte {
		if anyCase && c >= 'A' && c <= 'Z' {
			return c | 0x20
		}
		return c
	}
	first := fold(s[0])
	switch first {
	case 's', 't', 'm', 'd':
		return 1
	}
	if len(s) < 2 {
		return 0
	}
	second := fold(s[1])
	if (first == 'r' || first == 'v') && second == 'e' || first == 'l' && second == 'l' {
		return 2
	}
	return 0
}
