package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/gpk-go/gpk"
)

// entry is the description of a tensor in a header.
type entry struct {
	name       string
	format     int // index in formats
	shape      []int
	begin, end int64 // byte offsets from the end of the header
}

// header is the beginning of a file.
type header struct {
	metadata map[string]string
	entries  []entry // in the order of their bytes
	start    int64   // offset of the first byte after the header
}

// readHeader reads the header of a file of size bytes.
func readHeader(r io.ReaderAt, size int64) (*header, error) {
	if size < lengthBytes {
		return nil, formatError("%d bytes; the header's length alone takes %d", size, lengthBytes)
	}
	var length [lengthBytes]byte
	if err := readFull(r, length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	switch {
	case n > maxHeader:
		return nil, formatError("the header's length: %d bytes; at most %d are allowed", n, maxHeader)
	case int64(n) > size-lengthBytes:
		return nil, formatError("the header's length: %d bytes, and the file has %d after it; its end is missing", n, size-lengthBytes)
	}
	text := make([]byte, n)
	if err := readFull(r, text, lengthBytes); err != nil {
		return nil, err
	}
	h, err := parseHeader(text, size-lengthBytes-int64(n))
	if err != nil {
		return nil, err
	}
	h.start = lengthBytes + int64(n)
	return h, nil
}

// readFull reads len(p) bytes. A file that has become shorter is ErrFormat.
func readFull(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == io.EOF:
		return formatError("it ends at byte %d; it was longer when it was opened", at+int64(n))
	}
	return err
}

// parseHeader parses a header that is followed by room bytes of elements.
func parseHeader(text []byte, room int64) (*header, error) {
	switch {
	case !utf8.Valid(text):
		return nil, formatError("the header is not UTF-8")
	case len(text) == 0 || text[0] != '{':
		return nil, formatError("the header does not begin with '{'")
	}
	h, names := &header{}, map[string]bool{}
	s := &scanner{text: string(text)}
	s.object(func(key string) {
		switch {
		case names[key]:
			s.fail("%s appears twice", short(key))
		case key == metadataKey && s.peek() == 'n':
			s.literal() // null, which some writers write
		case key == metadataKey:
			h.metadata = s.strings(metadataKey)
		default:
			h.entries = append(h.entries, s.entry(key))
		}
		names[key] = true
	})
	if s.end(); s.err != nil {
		return nil, s.err
	}
	return h, h.check(room)
}

// entry parses the description of a tensor. It ignores unknown fields.
func (s *scanner) entry(name string) entry {
	e := entry{name: name, format: -1, shape: []int{}}
	s.tensor = &name
	defer func() { s.tensor = nil }()
	var hasShape, hasOffsets bool
	others := map[string]bool{}
	s.object(func(field string) {
		switch {
		case field == "dtype" && e.format < 0:
			dtype := s.str()
			if e.format = formatNamed(dtype); e.format < 0 && s.err == nil {
				s.err = formatError("tensor %s: dtype: %w: the format has no %s", short(name), gpk.ErrDType, short(dtype))
			}
		case field == "shape" && !hasShape:
			hasShape = true
			s.array(func() {
				if len(e.shape) == maxAxes {
					s.fail("shape: more than %d axes", maxAxes)
					return
				}
				e.shape = append(e.shape, int(s.integer(field, math.MaxInt)))
			})
		case field == "data_offsets" && !hasOffsets:
			hasOffsets = true
			s.take('[')
			e.begin = int64(s.integer(field, math.MaxInt64))
			s.take(',')
			e.end = int64(s.integer(field, math.MaxInt64))
			s.take(']')
		case field == "dtype" || field == "shape" || field == "data_offsets" || others[field]:
			s.fail("%s appears twice", short(field))
		default: // ignored, as in the reference implementation
			others[field] = true
			s.skip(0)
		}
	})
	if e.format < 0 || !hasShape || !hasOffsets {
		s.fail("dtype, shape or data_offsets is missing")
	}
	e.shape = slices.Clip(e.shape)
	return e
}

// size returns the number of bytes for the type and shape. It reports false if that
// number overflows or is not a whole number.
func (e *entry) size() (int64, bool) {
	n := uint64(1)
	for _, d := range e.shape {
		var hi uint64
		if hi, n = bits.Mul64(n, uint64(d)); hi > 0 {
			return 0, false
		}
	}
	hi, n := bits.Mul64(n, uint64(formats[e.format].bits))
	return int64(n / 8), hi == 0 && n%8 == 0
}

// check sorts the tensors by their bytes. These must cover the file without gaps or
// overlaps, and each tensor must have as many bytes as its type and shape need.
func (h *header) check(room int64) error {
	slices.SortFunc(h.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	at := int64(0)
	for i := range h.entries {
		e := &h.entries[i]
		n, ok := e.size()
		switch {
		case e.begin != at || e.end < e.begin:
			return formatError("tensor %s: data_offsets: [%d, %d], where a tensor should begin at %d", short(e.name), e.begin, e.end, at)
		case !ok:
			return formatError("tensor %s: shape: %v of %s is not a number of bytes", short(e.name), e.shape, formats[e.format].name)
		case n != e.end-e.begin:
			return formatError("tensor %s: data_offsets: [%d, %d] is %d bytes, and %v of %s takes %d", short(e.name), e.begin, e.end, e.end-e.begin, e.shape, formats[e.format].name, n)
		case e.end > room:
			return formatError("tensor %s: data_offsets: it ends at byte %d after the header, where the file has %d bytes; its end is missing", short(e.name), e.end, room)
		}
		at = e.end
	}
	if at != room {
		return formatError("the tensors take %d bytes, and the file has %d after its header", at, room)
	}
	return nil
}

// append appends the header, preceded by its length, to the bytes of a file. The header
// is padded with spaces so that it ends at a multiple of 8 bytes.
func (h *header) append(to []byte) ([]byte, error) {
	start := len(to)
	to = append(to, make([]byte, lengthBytes)...)
	to = append(to, '{')
	comma := ""
	if len(h.metadata) > 0 {
		to = append(appendString(to, metadataKey), ":{"...)
		for _, key := range slices.Sorted(maps.Keys(h.metadata)) {
			to = append(to, comma...)
			to = append(appendString(to, key), ':')
			to = appendString(to, h.metadata[key])
			comma = ","
		}
		to, comma = append(to, '}'), ","
	}
	for _, e := range h.entries {
		to = append(to, comma...)
		to = appendString(to, e.name)
		to = append(to, `:{"dtype":"`...)
		to = append(to, formats[e.format].name...)
		to = append(to, `","shape":[`...)
		for i, n := range e.shape {
			if i > 0 {
				to = append(to, ',')
			}
			to = strconv.AppendInt(to, int64(n), 10)
		}
		to = append(to, `],"data_offsets":[`...)
		to = append(strconv.AppendInt(to, e.begin, 10), ',')
		to = append(strconv.AppendInt(to, e.end, 10), "]}"...)
		comma = ","
	}
	to = append(to, '}')
	for (len(to)-start)%lengthBytes != 0 {
		to = append(to, ' ')
	}
	n := len(to) - start - lengthBytes
	if n > maxHeader {
		return nil, headerError(n)
	}
	binary.LittleEndian.PutUint64(to[start:], uint64(n))
	return to, nil
}

func headerError(n int) error {
	return fmt.Errorf("%w: names and metadata make a header of %d bytes or more; at most %d are allowed", gpk.ErrUnsupported, n, maxHeader)
}
