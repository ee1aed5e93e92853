package device

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

func TestParseSize(t *testing.T) {
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
		if got, err := ParseSize(c.text); err != nil || got != c.want {
			t.Errorf("ParseSize(%q): %d, %v; want %d", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "-1MiB", "x", "12q", "1MiBs", "0x10", "nan", "inf", "infMiB", "9223372036854775808", "1e300", "9e9GiB", "1 2"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q): %d, want an error", text, got)
		} else {
			is(t, err, ErrDevice)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 1 << 20: "1 MiB", 5 << 29: "2.5 GiB", 1 << 44: "16 TiB", 1 << 54: "16384 TiB",
	} {
		if got := FormatSize(n); got != want {
			t.Errorf("FormatSize(%d): %q, want %q", n, got, want)
		}
	}
}

func TestClassOf(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	check := func(n int64) {
		c := classOf(n)
		switch {
		case c < n, c%smallest != 0:
			t.Fatalf("%d bytes in a block of %d", n, c)
		case n > 4096 && c-n >= (n+7)/8 && n <= huge, n > huge && (c%huge != 0 || c-n >= huge):
			t.Fatalf("%d bytes waste %d", n, c-n)
		case classOf(c) != c:
			t.Fatalf("a block of %d is not of its own class", c)
		}
	}
	for n := int64(1); n < 20000; n++ {
		check(n)
	}
	for range 100000 {
		check(1 + rng.Int64N(1<<rng.IntN(40)))
	}
	for i := 9; i < 40; i++ {
		if n := int64(1) << i; classOf(n) != n {
			t.Errorf("2^%d is in a block of %d", i, classOf(n))
		}
	}
	classes := map[int]map[int64]bool{}
	for n := int64(4097); n <= 1<<20; n++ {
		c := classOf(n)
		octave := bits.Len64(uint64(c - 1))
		if classes[octave] == nil {
			classes[octave] = map[int64]bool{}
		}
		classes[octave][c] = true
	}
	for octave, set := range classes {
		if len(set) != 8 {
			t.Errorf("up to 2^%d there are %d classes", octave, len(set))
		}
	}
}
