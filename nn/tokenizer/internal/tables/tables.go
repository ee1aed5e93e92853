package tables

import "sync"

// Flags are the properties of a code point.
type Flags uint16

// The properties. The comment names the part of a tokenizer that uses it.
const (
	Letter          Flags = 1 << iota // \p{L} of the split patterns
	Number                            // \p{N} of the split patterns
	Space                             // \s of the split patterns
	BertSpace                         // BertPreTokenizer splits at it and drops it
	BertPunctuation                   // BertPreTokenizer makes it a word
	CleanRemoved                      // clean_text removes it
	CleanSpace                        // clean_text makes it a space
	Chinese                           // handle_chinese_chars sets spaces around it
	Accent                            // strip_accents removes it, after decomposition
	Word                              // \w of the check for single words
	WordSpace                         // \s of lstrip and rstrip
	Lowered                           // lowercase changes it
	Decomposes                        // NFD changes it
	Mark                              // its combining class is not 0
	Joins                             // NFC may change it or join it to what is before
)

type mapping struct {
	from rune
	to   string
}

const (
	pageBits = 8
	pageSize = 1 << pageBits
	pages    = 0x110000 >> pageBits
)

// Table holds the properties of all code points. It is not modified after Load.
type Table struct {
	index      [pages]uint16
	page       [][pageSize]Flags
	lowered    map[rune]string
	decomposed map[rune]string
	composed   map[[2]rune]rune
	class      map[rune]uint8
}

// Load returns the table. The first call makes it, which takes some milliseconds and less
// than half a megabyte.
var Load = sync.OnceValue(build)

// Of returns the properties of r, a code point.
func (t *Table) Of(r rune) Flags {
	return t.page[t.index[uint32(r)>>pageBits]][r&(pageSize-1)]
}

// AppendLower appends the lower case of r, for which Of must report Lowered.
func (t *Table) AppendLower(dst []byte, r rune) []byte {
	return append(dst, t.lowered[r]...)
}

func build() *Table {
	t := &Table{
		lowered:    map[rune]string{},
		decomposed: map[rune]string{},
		composed:   map[[2]rune]rune{},
		class:      map[rune]uint8{},
	}
	flags := make([]Flags, pages*pageSize)
	for _, p := range []struct {
		ranges [][2]rune
		flag   Flags
	}{
		{letters, Letter},
		{numbers, Number},
		{spaces, Space},
		{bertSpaces, BertSpace},
		{bertPunctuation, BertPunctuation},
		{cleanRemoved, CleanRemoved},
		{cleanSpaces, CleanSpace},
		{chinese, Chinese},
		{accents, Accent},
		{words, Word},
		{wordSpaces, WordSpace},
		{[][2]rune{{firstSyllable, lastSyllable}}, Decomposes},
		{[][2]rune{{firstV, lastV}, {firstT, lastT}}, Joins},
	} {
		for _, r := range p.ranges {
			for c := r[0]; c <= r[1]; c++ {
				flags[c] |= p.flag
			}
		}
	}
	for _, m := range lowered {
		t.lowered[m.from] = m.to
		flags[m.from] |= Lowered
	}
	for _, r := range classes {
		for c := r[0]; c <= r[1]; c++ {
			t.class[c] = uint8(r[2])
			flags[c] |= Mark | Joins
		}
	}
	stays := map[rune]bool{}
	for _, c := range composed {
		t.composed[[2]rune{c[0], c[1]}] = c[2]
		flags[c[1]] |= Joins
		stays[c[2]] = true
	}
	for _, m := range decomposed {
		t.decomposed[m.from] = m.to
		flags[m.from] |= Decomposes
	}
	for _, m := range decomposed {
		first := []rune(m.to)[0]
		if !stays[m.from] || flags[first]&Joins != 0 {
			flags[m.from] |= Joins
		}
	}
	seen := map[[pageSize]Flags]uint16{}
	for i := range t.index {
		p := [pageSize]Flags(flags[i*pageSize:])
		at, ok := seen[p]
		if !ok {
			at = uint16(len(t.page))
			seen[p] = at
			t.page = append(t.page, p)
		}
		t.index[i] = at
	}
	return t
}
