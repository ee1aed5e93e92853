package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestJSON(t *testing.T) {
	random := newRandom(t, 11)
	for name, r := range map[string]*Report{
		"GPUs": makeReport(random, generated{steps: 9, devices: 2}), "CPU": makeReport(random, generated{steps: 3}),
		"hostile": hostile(random), "empty": {Format: Format},
	} {
		var file bytes.Buffer
		if err := r.WriteJSON(&file); err != nil {
			t.Fatal(err)
		}
		got, err := ReadJSON(&file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, r) {
			t.Errorf("%s: read %+v\nwrote %+v", name, got, r)
		}
	}
}

// TestJSONFigures looks up every figure by its path, and checks that figures which were
// not measured are missing.
func TestJSONFigures(t *testing.T) {
	read := func(r *Report) map[string]any {
		var file bytes.Buffer
		if err := r.WriteJSON(&file); err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(file.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	at := func(v any, path string) any {
		for key := range strings.SplitSeq(path, ".") {
			switch x := v.(type) {
			case map[string]any:
				v = x[key]
			case []any:
				v = x[0]
				if m, ok := v.(map[string]any); ok {
					v = m[key]
				}
			default:
				return nil
			}
		}
		return v
	}
	full := read(makeReport(newRandom(t, 12), generated{steps: 9, devices: 1}))
	empty := read(&Report{})
	for _, path := range []string{
		"allocations.name", "allocations.peak_bytes", "summary.transfers.bytes", "summary.transfers.gb_per_s", "summary.transfers.kind",
		"summary.launches_per_s", "summary.graph_replays", "summary.graph_hit_rate", "summary.kernel_hit_rate", "summary.streams.busy",
		"summary.tflops", "summary.gb_per_s", "summary.device_ns", "summary.transfer_ns", "summary.peak_bytes", "graphs", "kernels", "memory", "spans", "transfers",
	} {
		if at(full, path) == nil {
			t.Errorf("%s is missing", path)
		}
		if v := at(empty, path); v != nil {
			t.Errorf("%s was not measured and is %v", path, v)
		}
	}
	if at(full, "summary.launches") != 63.0 || at(full, "format") != 1.0 || at(empty, "format") != 1.0 || at(empty, "summary.launches") != 0.0 {
		t.Error("launches or format")
	}
	if l, ok := empty["operations"].([]any); !ok || len(l) != 0 {
		t.Errorf("operations of an empty report: %v", empty["operations"])
	}
}

func TestReadJSONRefuses(t *testing.T) {
	long := strings.Repeat("x", maxText+1)
	for _, c := range []struct{ file, field, says string }{
		{``, "", "unexpected EOF"},
		{`[]`, "", `"{" is expected`},
		{`{}`, "format", "missing"},
		{`{"format":2}`, "format", "version 2; this package reads 1"},
		{`{"format":"1"}`, "format", "string is not a int"},
		{`{"format":1`, "", "unexpected EOF"},
		{`{"format":1} {}`, "", "follows"},
		{`{"format":1,"format":1}`, "format", "twice"},
		{`{"format":1,"operations":[],"operations":[]}`, "operations", "twice"},
		{`{"format":1,"operations":{}}`, "operations", "not a list"},
		{`{"format":1,"operations":[{}]}`, "operations[0].name", "missing"},
		{`{"format":1,"operations":[{"name":"a"},{"name":"a","time_ns":-1}]}`, "operations[1].time_ns", "-1 is negative"},
		{`{"format":1,"operations":[{"name":"a","host_ns":"x"}]}`, "operations[0].host_ns", "string is not"},
		{`{"format":1,"operations":[{"name":"a","host_ns":1e30}]}`, "operations[0].host_ns", "number 1e30 is not"},
		{`{"format":1,"operations":[{"name":"a","shape":[1,-2]}]}`, "operations[0].shape[1]", "negative"},
		{`{"format":1,"operations":[{"name":"a","shape":[1` + strings.Repeat(",1", maxAxes) + `]}]}`, "operations[0].shape", "65 axes"},
		{`{"format":1,"operations":[{"name":"` + long + `"}]}`, "operations[0].name", "4097 bytes"},
		{`{"format":1,"operations":[{"name":"a","site":"` + long + `"}]}`, "operations[0].site", "4097 bytes"},
		{`{"format":1,"name":"` + long + `"}`, "name", "4097 bytes"},
		{`{"format":1,"name":1}`, "name", "number is not a string"},
		{`{"format":1,"started":"yesterday"}`, "started", "yesterday"},
		{`{"format":1,"duration_ns":-5}`, "duration_ns", "negative"},
		{`{"format":1,"dropped":-5}`, "dropped", "negative"},
		{`{"format":1,"host":{"cpus":-5}}`, "host.cpus", "negative"},
		{`{"format":1,"devices":[{"name":"a","streams":[{"id":-1}]}]}`, "devices[0].streams.id", "number -1"},
		{`{"format":1,"devices":[{"name":"a","streams":[{"id":1},{"busy":-0.5}]}]}`, "devices[0].streams[1].busy", "negative"},
		{`{"format":1,"devices":[{"name":"a","peak_bytes":-1}]}`, "devices[0].peak_bytes", "negative"},
		{`{"format":1,"spans":[{"id":0,"name":"a"}]}`, "spans[0].id", "from 1"},
		{`{"format":1,"spans":[{"id":2,"parent":2,"name":"a"}]}`, "spans[0].parent", "smaller"},
		{`{"format":1,"transfers":[{"kind":"sideways"}]}`, "transfers[0].kind", "h2d, d2h, d2d"},
		{`{"format":1,"transfers":[{"kind":"h2d","bytes":-1}]}`, "transfers[0].bytes", "negative"},
		{`{"format":1,"memory":[{"device":"a","in_use_bytes":-1}]}`, "memory[0].in_use_bytes", "negative"},
		{`{"format":1,"allocations":[{"name":"a","peak_bytes":-1}]}`, "allocations[0].peak_bytes", "negative"},
		{`{"format":1,"graphs":{"replays":-1}}`, "graphs.replays", "negative"},
		{`{"format":1,"kernels":{"time_ns":-1}}`, "kernels.time_ns", "negative"},
		{`{"format":1,"devices":[` + strings.Repeat(`{"name":"a"},`, maxDevices) + `{"name":"a"}]}`, "devices", "more than 1024"},
		{`{"format":1,"unknown":` + strings.Repeat("[", 20000), "unknown", "depth"},
	} {
		_, err := ReadJSON(strings.NewReader(c.file))
		var f *FormatError
		if !errors.As(err, &f) || !errors.Is(err, ErrFormat) || f.Field != c.field || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.80s: field %q, %v; want field %q and %q", c.file, fieldOf(f), err, c.field, c.says)
		}
	}
}

func fieldOf(f *FormatError) string {
	if f == nil {
		return ""
	}
	return f.Field
}

// TestReadJSONAccepts: fields in any order, unknown ones, null lists, a span whose parent
// was dropped, and a false summary.
func TestReadJSONAccepts(t *testing.T) {
	r, err := ReadJSON(strings.NewReader(`{"summary":{"launches":-9},"spans":[{"id":3,"parent":1,"name":"a"}],"operations":null,"later":{"x":[1]},"later":2,
		"graphs":null,"devices":[{"name":"d","streams":[{"id":18446744073709551615,"busy":1.001}]}],"format":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Operations != nil || r.Spans[0].Parent != 1 || r.Graphs != nil || r.Summary().Launches != 0 || r.StreamsBusy()[0].Busy != 1 {
		t.Errorf("%+v", r)
	}
}

// TestReadJSONStops checks that a list without an end is refused at its bound, before the
// memory is exhausted.
func TestReadJSONStops(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT run: a list of 4 Mi elements")
	}
	head, body := `{"format":1,"memory":[{"device":"d"}`, strings.Repeat(`,{"device":"d"}`, 1<<10)
	readers := []io.Reader{strings.NewReader(head)}
	for range maxList>>10 + 1 {
		readers = append(readers, strings.NewReader(body))
	}
	_, err := ReadJSON(io.MultiReader(readers...))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("field memory: more than %d elements", maxList)) {
		t.Error(err)
	}
}

// failingWriter fails after n bytes.
type failingWriter struct{ n int }

var errFull = errors.New("disk full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if len(p) > w.n {
		return w.n, errFull
	}
	w.n -= len(p)
	return len(p), nil
}

// TestWriteErrors checks that an error of the writer is returned by every form.
func TestWriteErrors(t *testing.T) {
	r := makeReport(newRandom(t, 13), generated{steps: 5, devices: 1})
	d := Compare(r, r, DefaultThreshold)
	for name, write := range map[string]func(io.Writer) error{
		"JSON": r.WriteJSON, "text": r.WriteText, "diff": d.WriteText,
		"HTML": func(w io.Writer) error { return r.WriteHTML(w) },
	} {
		for _, n := range []int{0, 100} {
			if err := write(&failingWriter{n}); !errors.Is(err, errFull) {
				t.Errorf("%s after %d bytes: %v", name, n, err)
			}
		}
	}
}

// writeAll writes a report in every form, against itself too.
func writeAll(t testing.TB, r *Report) {
	t.Helper()
	for _, write := range []func(io.Writer) error{
		r.WriteJSON, r.WriteText, func(w io.Writer) error { return r.WriteHTML(w, Against(r, 0.1)) }, Compare(r, r, 0).WriteText,
	} {
		if err := write(io.Discard); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzReadJSON reads any bytes. What is understood is written in every form, and read
// again as the same.
func FuzzReadJSON(f *testing.F) {
	for _, r := range []*Report{makeReport(newRandom(f, 1), generated{steps: 1, devices: 1}), {}, {Operations: []Operation{{Name: "x", Host: time.Hour}}}} {
		var file bytes.Buffer
		if err := r.WriteJSON(&file); err != nil {
			f.Fatal(err)
		}
		f.Add(file.Bytes())
	}
	f.Add([]byte(`{"format":1,"spans":[{"id":2,"parent":1,"name":"a","start_ns":9223372036854775807,"duration_ns":9223372036854775807}]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := ReadJSON(bytes.NewReader(file))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%v is no ErrFormat", err)
			}
			return
		}
		writeAll(t, r)
		var again bytes.Buffer
		if err := r.WriteJSON(&again); err != nil {
			t.Fatal(err)
		}
		r2, err := ReadJSON(&again)
		if err != nil {
			t.Fatalf("%v of what was written: %s", err, again.Bytes())
		}
		if !reflect.DeepEqual(r.Totals(), r2.Totals()) || !reflect.DeepEqual(r.SpanTotals(), r2.SpanTotals()) || len(r.Memory) != len(r2.Memory) {
			t.Fatalf("%+v became %+v", r, r2)
		}
	})
}
