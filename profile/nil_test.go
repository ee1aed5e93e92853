package profile

import (
	"errors"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/niltest"
)

// TestNil calls everything with nil, with zero values and with numbers as far out as
// they go.
func TestNil(t *testing.T) {
	report := func() *Report {
		took := time.Microsecond
		return &Report{
			Format: Format, Name: "a", Duration: time.Second, Devices: []Device{{Name: "cpu", Streams: []Stream{{ID: 1}}}},
			Operations: []Operation{{Name: "Add", Device: "cpu", Stream: 1, Span: 1, Time: &took, OnDevice: &took, Bytes: 8}},
			Spans:      []Region{{ID: 1, Name: "s", Duration: time.Second}},
			Transfers:  []Transfer{{Kind: HostToDevice, Device: "cpu", Stream: 1, Time: &took}},
		}
	}
	niltest.Run(t, niltest.Package{
		Values: []func() any{
			func() any { return report() },
			func() any { return Compare(report(), report(), 0) },
			func() any { return &Change{} },
			func() any { return &Total{} },
			func() any { return Advice{} },
			func() any { return &FormatError{Err: errors.New("x")} },
			func() any { return (*Profile)(nil) },
		},
		Functions: map[string]any{"Compare": Compare, "Against": Against, "ReadJSON": ReadJSON, "Span": Span},
		Except:    map[string]string{"Start": "it would leave a profile running"},
	})
}

// TestNilErrors checks that a report that cannot be written is an error with the reason, and
// that an empty report has figures.
func TestNilErrors(t *testing.T) {
	var none *Report
	var diff *Diff
	for name, c := range map[string]struct {
		err, want error
	}{
		"WriteText":        {none.WriteText(io.Discard), ErrNil},
		"WriteJSON":        {none.WriteJSON(io.Discard), ErrNil},
		"WriteHTML":        {none.WriteHTML(io.Discard), ErrNil},
		"WritePprof":       {none.WritePprof(io.Discard), ErrNil},
		"WriteChromeTrace": {none.WriteChromeTrace(io.Discard), ErrNil},
		"a Diff":           {diff.WriteText(io.Discard), ErrNil},
		"a Profile":        {func() error { _, err := (*Profile)(nil).Stop(); return err }(), ErrNil},
		"no Writer":        {(&Report{}).WriteText(nil), expr.ErrUnsupported},
		"no option":        {(&Report{}).WriteHTML(io.Discard, nil), nil},
		"no Reader":        {func() error { _, err := ReadJSON(nil); return err }(), ErrFormat},
	} {
		if !errors.Is(c.err, c.want) || c.want == nil && c.err != nil {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
	if got, want := none.Summary(), (&Report{}).Summary(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	after := &Report{Name: "after", Operations: []Operation{{Name: "Add"}}}
	if got, want := Compare(nil, after, 0.1), Compare(&Report{}, after, 0.1); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if diff.Count(Regressed) != 0 {
		t.Error("a nil Diff has changes")
	}
}
