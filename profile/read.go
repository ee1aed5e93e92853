package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Limits of the files that ReadJSON accepts. They exceed the sizes of recorded profiles,
// and limit the memory for a malicious file to a few times its length.
const (
	maxFile    = 2 << 30 // bytes
	maxList    = 4 << 20 // elements of a list of events
	maxDevices = 1 << 10
	maxStreams = 1 << 16 // maximum number of streams of a device
	maxText    = 1 << 12 // bytes of a name, site or label
	maxAxes    = 64      // maximum number of axes of a shape
)

// ErrFormat is the error of a file that is not a report, or has a version that this
// package does not read.
var ErrFormat = errors.New("not a profile report of format 1")

// FormatError states the invalid field of a file. It wraps ErrFormat.
type FormatError struct {
	Field string // "operations[3].time_ns"; empty: the file as a whole
	Err   error
}

func (e *FormatError) Error() string {
	if e == nil {
		return "profile: a nil FormatError"
	}
	if e.Field == "" {
		return fmt.Sprintf("profile: %v: %v", ErrFormat, e.Err)
	}
	return fmt.Sprintf("profile: %v: field %s: %v", ErrFormat, e.Field, e.Err)
}

// Unwrap returns ErrFormat and the cause.
func (e *FormatError) Unwrap() []error {
	if e == nil {
		return nil
	}
	return []error{ErrFormat, e.Err}
}

// ReadJSON reads a report that WriteJSON wrote. An invalid file is a FormatError, which
// names the field: for example another format version, negative numbers, or lists and
// texts beyond the limits. Unknown fields are ignored, and so is "summary", which is
// computed from the others.
func ReadJSON(rd io.Reader) (*Report, error) {
	if rd == nil {
		return nil, &FormatError{Err: errors.New("a nil Reader")}
	}
	limited := &io.LimitedReader{R: rd, N: maxFile + 1}
	p := &reportReader{dec: json.NewDecoder(limited), seen: map[string]bool{}}
	err := p.object()
	if limited.N <= 0 {
		return nil, &FormatError{Err: fmt.Errorf("longer than %d bytes", int64(maxFile))}
	}
	if err != nil {
		return nil, err
	}
	if !p.seen["format"] {
		return nil, &FormatError{Field: "format", Err: errors.New("missing")}
	}
	return &p.report, nil
}

// reportReader reads a report field by field, so that a list that is too long is rejected
// before memory is allocated for it.
type reportReader struct {
	dec    *json.Decoder
	seen   map[string]bool
	report Report
}

func (p *reportReader) object() error {
	if err := p.delimiter('{', ""); err != nil {
		return err
	}
	for p.dec.More() {
		t, err := p.dec.Token()
		if err != nil {
			return inFile("", err)
		}
		name, _ := t.(string) // keys are strings
		if p.seen[name] {
			return &FormatError{Field: name, Err: errors.New("appears twice")}
		}
		if err := p.field(name); err != nil {
			return err
		}
	}
	if err := p.delimiter('}', ""); err != nil {
		return err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return &FormatError{Err: errors.New("something follows the object")}
	}
	return nil
}

// field reads the value of one field of the report.
func (p *reportReader) field(name string) error {
	r := &p.report
	p.seen[name] = true
	switch name {
	case "format":
		if err := p.value(name, &r.Format); err != nil {
			return err
		}
		if r.Format != Format {
			return &FormatError{Field: name, Err: fmt.Errorf("version %d; this package reads %d", r.Format, Format)}
		}
		return nil
	case "name":
		return p.checked(name, &r.Name, func() error { return checkText("", r.Name) })
	case "started":
		return p.value(name, &r.Started)
	case "duration_ns":
		return p.checked(name, &r.Duration, func() error { return checkNotNegative("", int64(r.Duration)) })
	case "host":
		return p.checked(name, &r.Host, r.Host.check)
	case "graphs":
		return p.checked(name, &r.Graphs, r.checkGraphs)
	case "kernels":
		return p.checked(name, &r.Kernels, r.checkKernels)
	case "dropped":
		return p.checked(name, &r.Dropped, func() error { return checkNotNegative("", r.Dropped) })
	}
	return p.list(name)
}

// list reads a field that is a list, or skips an unknown field.
func (p *reportReader) list(name string) (err error) {
	r := &p.report
	switch name {
	case "devices":
		r.Devices, err = elements(p, name, maxDevices, (*Device).check)
	case "operations":
		r.Operations, err = elements(p, name, maxList, (*Operation).check)
	case "spans":
		r.Spans, err = elements(p, name, maxList, (*Region).check)
	case "transfers":
		r.Transfers, err = elements(p, name, maxList, (*Transfer).check)
	case "memory":
		r.Memory, err = elements(p, name, maxList, (*MemoryUse).check)
	case "allocations":
		r.Allocations, err = elements(p, name, maxList, (*Allocation).check)
	default:
		delete(p.seen, name) // unknown names must not take memory
		var skipped json.RawMessage
		err = p.value(name, &skipped)
	}
	return err
}

// value decodes the next value.
func (p *reportReader) value(field string, to any) error {
	if err := p.dec.Decode(to); err != nil {
		return inFile(field, err)
	}
	return nil
}

// checked decodes the next value and checks it.
func (p *reportReader) checked(field string, to any, check func() error) error {
	if err := p.value(field, to); err != nil {
		return err
	}
	return inField(field, check())
}

// elements reads a list and checks each element. null is an empty list.
func elements[T any](p *reportReader, field string, most int, check func(*T) error) (list []T, err error) {
	t, err := p.dec.Token()
	if err != nil {
		return nil, inFile(field, err)
	}
	if t == nil {
		return nil, nil
	}
	if t != json.Delim('[') {
		return nil, &FormatError{Field: field, Err: fmt.Errorf("%v is not a list", t)}
	}
	for p.dec.More() {
		at := fmt.Sprintf("%s[%d]", field, len(list))
		if len(list) == most {
			return nil, &FormatError{Field: field, Err: fmt.Errorf("more than %d elements", most)}
		}
		var e T
		if err := p.value(at, &e); err != nil {
			return nil, err
		}
		if err := inField(at, check(&e)); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, p.delimiter(']', field)
}

func (p *reportReader) delimiter(want json.Delim, field string) error {
	t, err := p.dec.Token()
	if err != nil {
		return inFile(field, err)
	}
	if t != want {
		return &FormatError{Field: field, Err: fmt.Errorf("%.40q where %q is expected", fmt.Sprint(t), want.String())}
	}
	return nil
}

// inFile adds the field to an error of the decoder.
func inFile(field string, err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field != "" {
			field += "." + wrong.Field
		}
		return &FormatError{Field: field, Err: fmt.Errorf("%s is not a %s", wrong.Value, wrong.Type)}
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &FormatError{Field: field, Err: err}
}
