package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/interop/internal/site"
	"github.com/x448/float16"
)

// ErrFormat is the error of a file that is not .npy or .npz, or is damaged.
var ErrFormat = errors.New("npy: not a .npy file, or damaged")

func formatError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFormat, fmt.Errorf(format, args...))
}

const (
	magic     = "\x93NUMPY"
	alignment = 64      // alignment of the elements in a file
	maxHeader = 1 << 20 // longer headers describe structures
	maxAxes   = 64      // as in NumPy 2
)

// elementType is an element type that both NumPy and gpk have.
type elementType struct {
	code  string // NumPy's code
	dt    gpk.DType
	read  func(r io.Reader, d description, known bool) (*gpk.Array, error)
	write func(w io.Writer, header []byte, a *gpk.Array) error
}

// codes lists the element types that both NumPy and gpk have.
var codes = []elementType{
	elementTypeOf[float16.Float16]("f2"),
	elementTypeOf[float32]("f4"),
	elementTypeOf[float64]("f8"),
	elementTypeOf[int8]("i1"),
	elementTypeOf[int16]("i2"),
	elementTypeOf[int32]("i4"),
	elementTypeOf[int64]("i8"),
	elementTypeOf[uint8]("u1"),
	elementTypeOf[uint16]("u2"),
	elementTypeOf[uint32]("u4"),
	elementTypeOf[uint64]("u8"),
	elementTypeOf[bool]("b1"),
	elementTypeOf[complex64]("c8"),
	elementTypeOf[complex128]("c16"),
}

func elementTypeOf[T gpk.Elem](code string) elementType {
	return elementType{code, dtype.Of[T](), elements[T], write[T]}
}

// typeNames lists the types of codes.
func typeNames() string {
	var b strings.Builder
	for _, t := range codes {
		b.WriteString(" " + t.dt.String())
	}
	return b.String()
}

// typeFor returns the row of codes for an element type, or nil.
func typeFor(dt gpk.DType) *elementType {
	i := slices.IndexFunc(codes, func(t elementType) bool { return t.dt == dt })
	if i < 0 {
		return nil
	}
	return &codes[i]
}

// Header returns the beginning of a .npy file, up to the first element, for elements of
// type dt in row-major, little-endian order. Its length is a multiple of 64 bytes.
func Header(dt gpk.DType, shape ...int) ([]byte, error) {
	h, err := header(dt, shape)
	return h, site.Fail("npy", "Header", err)
}

func header(dt gpk.DType, shape []int) ([]byte, error) {
	t := typeFor(dt)
	if t == nil {
		return nil, fmt.Errorf("%w: NumPy has no %v; Cast(gpk.Float32) first", gpk.ErrDType, dt)
	}
	order := "<"
	if dt.Size() == 1 {
		order = "|"
	}
	var b strings.Builder
	for i, n := range shape {
		if n < 0 {
			return nil, fmt.Errorf("%w: negative dimension %d in %v", gpk.ErrShape, n, shape)
		}
		if i > 0 {
			b.WriteString(" ")
		}
		b.WriteString(strconv.Itoa(n) + ",")
	}
	tuple := b.String()
	if len(shape) > 1 { // Python writes (3,) with a comma, but (3, 4) without
		tuple = strings.TrimSuffix(tuple, ",")
	}
	dict := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, t.code, tuple)
	prefix := len(magic) + 2 + 2
	if prefix+len(dict)+1 > 1<<16-alignment {
		prefix += 2
	}
	total := (prefix + len(dict) + 1 + alignment - 1) / alignment * alignment
	out := make([]byte, 0, total)
	out = append(out, magic...)
	if prefix == len(magic)+4 {
		out = append(out, 1, 0)
		out = binary.LittleEndian.AppendUint16(out, uint16(total-prefix))
	} else {
		out = append(out, 2, 0)
		out = binary.LittleEndian.AppendUint32(out, uint32(total-prefix))
	}
	out = append(out, dict...)
	for len(out) < total-1 {
		out = append(out, ' ')
	}
	return append(out, '\n'), nil
}

// description is the content of a header.
type description struct {
	dt      gpk.DType
	shape   []int
	size    int  // number of elements
	fortran bool // the first axis varies fastest
	swap    bool // the numbers have the other byte order than this machine
}

// readHeader reads a header, up to the first element.
func readHeader(r io.Reader) (d description, err error) {
	var start [len(magic) + 2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return d, formatError("it ends before its header: %w", err)
	}
	if string(start[:len(magic)]) != magic {
		return d, formatError("it begins with %q", start[:len(magic)])
	}
	major := start[len(magic)]
	length := 0
	switch minor := start[len(magic)+1]; {
	case minor != 0: // NumPy does not read other minor versions either
		return d, formatError("version %d.%d is none of 1.0, 2.0, 3.0", major, minor)
	case major == 1:
		var b [2]byte
		_, err = io.ReadFull(r, b[:])
		length = int(binary.LittleEndian.Uint16(b[:]))
	case major == 2 || major == 3:
		var b [4]byte
		_, err = io.ReadFull(r, b[:])
		length = int(binary.LittleEndian.Uint32(b[:]))
	default:
		return d, formatError("version %d.%d is none of 1.0, 2.0, 3.0", major, minor)
	}
	if err != nil {
		return d, formatError("it ends in its header: %w", err)
	}
	if length > maxHeader {
		return d, formatError("a header of %d bytes", length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return d, formatError("it ends in its header: %w", err)
	}
	return parse(string(text))
}

// parse reads the header's dictionary, a Python literal.
func parse(text string) (d description, err error) {
	p := parser{rest: text}
	seen := map[string]bool{}
	p.take("{")
	for p.err == nil && !p.next("}") {
		key := p.quoted()
		p.take(":")
		if seen[key] {
			p.fail("%q appears twice", key)
		}
		seen[key] = true
		if err := p.entry(key, &d); err != nil {
			return d, err
		}
		if !p.next(",") {
			p.take("}")
			break
		}
	}
	p.space()
	switch {
	case p.err != nil:
		return d, p.err
	case p.rest != "":
		return d, formatError("%.20q after the header", p.rest)
	case !seen["descr"] || !seen["fortran_order"] || !seen["shape"]:
		return d, formatError("the header lacks descr, fortran_order or shape")
	}
	return d, d.measure()
}

// entry reads the value of a key. Its error reports an unsupported value; the parser
// keeps syntax errors.
func (p *parser) entry(key string, d *description) (err error) {
	switch key {
	case "descr":
		p.space()
		if strings.HasPrefix(p.rest, "[") {
			return fmt.Errorf("npy: %w: the elements are structures", gpk.ErrUnsupported)
		}
		if d.dt, d.swap, err = element(p.quoted()); p.err == nil && err != nil {
			return err
		}
	case "fortran_order":
		switch {
		case p.next("True"):
			d.fortran = true
		case !p.next("False"):
			p.fail("fortran_order is neither True nor False")
		}
	case "shape":
		d.shape = p.tuple()
	default:
		p.fail("an entry %q", key)
	}
	return nil
}

// measure counts the elements of the shape. It returns an error if they have more bytes
// than a slice can have.
func (d *description) measure() error {
	d.size = 1
	for _, n := range d.shape {
		if n == 0 {
			d.size = 0
		}
	}
	for _, n := range d.shape {
		if d.size > 0 && n > (math.MaxInt/2+1)/d.dt.Size()/d.size {
			return formatError("the shape %v is too large", d.shape)
		}
		d.size *= n
	}
	return nil
}

// element parses a type, which is a byte order and a code.
func element(descr string) (dt gpk.DType, swap bool, err error) {
	if len(descr) < 2 {
		return dt, false, formatError("elements of %q", descr)
	}
	order, code := descr[0], descr[1:]
	for _, c := range codes {
		if c.code != code {
			continue
		}
		switch order {
		case '|', '=', '<', '>':
			return c.dt, c.dt.Size() > 1 && (order == '>') == littleEndian && order != '=' && order != '|', nil
		}
		return dt, false, formatError("a byte order of %q", order)
	}
	return dt, false, fmt.Errorf("npy: %w: elements of NumPy's type %q; astype one of%s", gpk.ErrDType, descr, typeNames())
}

// parser consumes tokens from the beginning of rest and keeps the first error.
type parser struct {
	rest string
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = formatError("the header: "+format, args...)
	}
}

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// next consumes token if rest begins with it.
func (p *parser) next(token string) bool {
	p.space()
	if p.err != nil || !strings.HasPrefix(p.rest, token) {
		return false
	}
	p.rest = p.rest[len(token):]
	return true
}

func (p *parser) take(token string) {
	if !p.next(token) {
		p.fail("%.20q where %q should be", p.rest, token)
	}
}

func (p *parser) quoted() string {
	p.space()
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		p.fail("%.20q where a name should be", p.rest)
		return ""
	}
	end := strings.IndexByte(p.rest[1:], p.rest[0])
	if end < 0 {
		p.fail("%.20q does not end", p.rest)
		return ""
	}
	s := p.rest[1 : 1+end]
	p.rest = p.rest[2+end:]
	return s
}

func (p *parser) tuple() []int {
	shape := []int{}
	p.take("(")
	for p.err == nil && !p.next(")") {
		p.space()
		end := 0
		for end < len(p.rest) && p.rest[end] >= '0' && p.rest[end] <= '9' {
			end++
		}
		n, err := strconv.Atoi(p.rest[:end])
		if err != nil {
			p.fail("%.20q where a length should be", p.rest)
			return shape
		}
		p.rest = p.rest[end:]
		p.next("L") // Python 2 wrote an L after the number
		if shape = append(shape, n); len(shape) > maxAxes {
			p.fail("more than %d axes", maxAxes)
		}
		if !p.next(",") {
			p.take(")")
			break
		}
	}
	return shape
}
