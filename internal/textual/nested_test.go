package textual

import (
	"strings"
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// TestVerbatim: an explicit format sets the texts of elements, and lines break as always.
func TestVerbatim(t *testing.T) {
	raw := encoded(t, make([]float64, 30)...)
	got := Array(dtype.Float64, raw, "%.3f", []int{30}, []int{30})
	row := strings.TrimSpace(strings.Repeat("0.000 ", 12))
	if want := "[" + row + "\n " + row + "\n " + row[:35] + "]"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Array(dtype.Float64, raw[:8], "%.3f", nil, nil); got != "0.000" {
		t.Error(got)
	}
}

// FuzzArray prints any bits in any shape. Every element that is printed is one word, and
// no line is longer than 75 columns unless it has one word.
func FuzzArray(f *testing.F) {
	f.Add(byte(0), byte(3), byte(2), byte(1), []byte("\x00\x00\x80\x7f\x01\x00\x00\x00"))
	f.Add(byte(9), byte(0), byte(0), byte(0), []byte("0123456789abcdef"))
	f.Add(byte(2), byte(20), byte(1), byte(200), []byte("\xff\xff\x01\x00"))
	f.Fuzz(func(t *testing.T, kind, a, b, c byte, bits []byte) {
		dt := dtype.All[int(kind)%len(dtype.All)]
		shape := []int{int(a % 8), int(b % 8), int(c)}[:kind%4]
		raw := repeated(dt, bits, shape)
		n := len(raw) / dt.Size()
		text := Array(dt, raw, "", shape, shape)
		if depth := len(shape); n > 0 && (strings.Count(text, "[") != strings.Count(text, "]") || !strings.HasPrefix(text, strings.Repeat("[", depth))) {
			t.Fatalf("%v %v: %s", dt, shape, text)
		}
		words := strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(text))
		if len(shape) > 0 && dt != dtype.Complex64 && dt != dtype.Complex128 && len(words) != n {
			t.Fatalf("%v %v: %d words in %s", dt, shape, len(words), text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if len(shape) > 0 && len(line) > lineWidth && len(strings.Fields(line)) > 2 {
				t.Fatalf("%v %v: %d columns: %s", dt, shape, len(line), line)
			}
		}
	})
}

// repeated returns the elements of shape, whose bytes repeat bits.
func repeated(dt dtype.DType, bits []byte, shape []int) []byte {
	n := dt.Size()
	for _, d := range shape {
		n *= d
	}
	raw := make([]byte, n)
	for i := range raw {
		if len(bits) > 0 {
			raw[i] = bits[i%len(bits)]
		}
		if dt == dtype.Bool {
			raw[i] &= 1
		}
	}
	return raw
}

// BenchmarkArray prints 1000 elements, the most that are printed of a long axis.
func BenchmarkArray(b *testing.B) {
	for _, dt := range dtype.All {
		b.Run(dt.String(), func(b *testing.B) {
			raw := make([]byte, 1000*dt.Size())
			for i := range raw {
				raw[i] = byte(i*7919>>3) & 0x3f
				if dt == dtype.Bool {
					raw[i] &= 1
				}
			}
			for b.Loop() {
				Array(dt, raw, "", []int{1000}, []int{1000})
			}
		})
	}
}
