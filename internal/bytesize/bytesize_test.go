package bytesize

import "testing"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
	}{
		{"0", 0},
		{"1073741824", 1 << 30},
		{"9223372036854775807", 1<<63 - 1},
		{"512MiB", 512 << 20},
		{"512 mib", 512 << 20},
		{"1KiB", 1024},
		{"3GiB", 3 << 30},
		{"2TiB", 2 << 40},
		{"1KB", 1000},
		{"1mb", 1e6},
		{"1.5GB", 15e8},
		{"0.5KiB", 512},
		{"7b", 7},
		{" 7 B ", 7},
		{"1e3", 1000},
	} {
		if got, err := Parse(c.text); err != nil || got != c.want {
			t.Errorf("Parse(%q): %d, %v; want %d", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "-1MiB", "x", "12q", "1MiBs", "0x10", "nan", "inf", "infMiB", "9223372036854775808", "1e300", "9e9GiB", "1 2"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q): %d, want an error", text, got)
		}
	}
}

func TestFormat(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB", 5 << 29: "2.5 GiB", 1 << 44: "16 TiB", 1 << 54: "16384 TiB",
	} {
		if got := Format(n); got != want {
			t.Errorf("Format(%d): %q, want %q", n, got, want)
		}
	}
}
