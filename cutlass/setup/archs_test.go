package setup

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParseArchs(t *testing.T) {
	for in, want := range map[string]string{
		"90a": "90a", "90": "90a", "sm_90a": "90a", "89,80": "80 89", "80 80,86": "80 86", "all": "80 86 89 90a",
		"all,80": "80 86 89 90a", "": "", "75": "", "90a,100": "", "x": "",
	} {
		got, err := ParseArchs(in)
		if (err != nil) != (want == "") || strings.Join(got, " ") != want {
			t.Errorf("ParseArchs(%q) = %v, %v, want %q", in, got, err, want)
		}
		if err != nil && !errors.Is(err, ErrNoTarget) {
			t.Errorf("ParseArchs(%q): %v is not ErrNoTarget", in, err)
		}
	}
}

func TestArchsOf(t *testing.T) {
	for in, want := range map[string]string{
		"9.0\n": "90a", "9.0\n9.0\n8.0\n": "80 90a", "8.9\n7.5\n": "89", "": "90a", "7.5\n": "", "12.0\n10.0\n": "",
	} {
		got, err := archsOf(in)
		if (err != nil) != (want == "") || strings.Join(got, " ") != want {
			t.Errorf("archsOf(%q) = %v, %v, want %q", in, got, err, want)
		}
	}
}

func TestGencode(t *testing.T) {
	const ptx = "-gencode=arch=compute_80,code=compute_80"
	for _, c := range []struct {
		sm    int
		archs string
		want  []string
	}{
		{90, "90a", []string{"-gencode=arch=compute_90a,code=sm_90a"}},
		{90, "80 86 89", nil},
		{80, "90a", nil},
		{80, "80 90a", []string{"-gencode=arch=compute_80,code=sm_80", ptx}},
		{80, "86 89", []string{"-gencode=arch=compute_86,code=sm_86", "-gencode=arch=compute_89,code=sm_89", ptx}},
		{0, "90a", []string{"-gencode=arch=compute_90a,code=sm_90a"}},
		{0, "80 90a", []string{"-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90a,code=sm_90a", ptx}},
	} {
		if got := gencode(c.sm, strings.Fields(c.archs)); !slices.Equal(got, c.want) {
			t.Errorf("gencode(%d, %s) = %v, want %v", c.sm, c.archs, got, c.want)
		}
	}
}

func TestDefaultJobs(t *testing.T) {
	if n := DefaultJobs(); n < 1 {
		t.Errorf("%d jobs", n)
	}
	if n := parseMemTotal("MemFree: 1 kB\nMemTotal:       24567890 kB\n"); n != 24567890<<10 {
		t.Errorf("MemTotal %d", n)
	}
	if n := parseMemTotal("no such line\n"); n != 0 {
		t.Errorf("MemTotal %d of nothing", n)
	}
}
