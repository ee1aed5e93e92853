package profile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"
)

// TestText checks that every section is there, tables are limited, and control characters
// in names do not reach the terminal.
func TestText(t *testing.T) {
	random := newRandom(t, 41)
	r := makeReport(random, generated{steps: 20, devices: 1})
	for i := range 30 {
		r.Operations = append(r.Operations, Operation{Name: fmt.Sprintf("Rare%d", i)})
	}
	r.Dropped = 12345
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"train, 1 devices: ", "device cuda:0, NVIDIA H200, driver 580.65.06, 143 GiB, peak 9 GiB", "events not kept 12 345", "launches 170",
		"\ntime by operation\n", "\nand 17 more\n", "\ntime by span\n", "\n  forward", "\ntransfers\n", "\nallocations\n", "\nbottlenecks\n", "\nadvice\n- ",
		"graph hit rate", "busy cuda:0 stream 1",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.TrimRight(line, " ") != line {
			t.Errorf("spaces end %q", line)
		}
	}
	b.Reset()
	bad := hostile(random)
	if err := bad.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if err := Compare(bad, bad, 0).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.String() {
		if c != '\n' && !unicode.IsPrint(c) {
			t.Fatalf("%q in\n%s", c, &b)
		}
	}
}

func TestTextOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := (&Report{}).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if want := "profile: 0ns\nlaunches 0\nhost time 0ns\n"; b.String() != want {
		t.Errorf("%q, want %q", &b, want)
	}
	b.Reset()
	if err := Compare(&Report{}, &Report{}, 0.05).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if want := "after against before: 0ns, before 0ns; threshold 5.0%\n0 regressed, 0 improved, 0 new, 0 removed, 0 unchanged\n"; b.String() != want {
		t.Errorf("%q, want %q", &b, want)
	}
}
