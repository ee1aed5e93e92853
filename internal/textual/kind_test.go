package textual

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/x448/float16"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
)

var float16Kind, bfloat16Kind = kindFor(dtype.Float16), kindFor(dtype.BFloat16)

func kindFor(dt dtype.DType) kind {
	h, _ := dt.Half()
	return kindOf(h)
}

// TestShortestHalves takes every positive finite number of the types of 16 bits. No decimal
// with fewer digits may lie between the midpoints to its neighbours, and none with as many
// may lie there and be nearer. All is computed in exact rationals.
func TestShortestHalves(t *testing.T) {
	for _, c := range []struct {
		name string
		k    kind
		of   func(bits uint16) float64
		last uint16 // the largest finite number
	}{
		{"float16", float16Kind, func(b uint16) float64 { return float64(float16.Frombits(b).Float32()) }, 0x7bff},
		{"bfloat16", bfloat16Kind, func(b uint16) float64 { return float64(bfloat16.FromBits(b).Float32()) }, 0x7f7f},
	} {
		for bits := uint16(1); bits <= c.last; bits++ {
			x := exact(c.of(bits))
			low := midpoint(c.of(bits-1), c.of(bits))
			high := new(big.Rat).Sub(x, low)
			high.Add(x, high)
			if bits < c.last {
				high = midpoint(c.of(bits), c.of(bits+1))
			} else if bits&(1<<c.k.fraction-1) == 0 {
				t.Fatal("the largest number is a power of two")
			}
			inside := func(y *big.Rat) bool {
				below, above := low.Cmp(y), y.Cmp(high)
				return below < 0 && above < 0 || bits%2 == 0 && below <= 0 && above <= 0
			}
			text := c.k.shortest(c.of(bits), 'e')
			if fault := notShortest(text, x, inside); fault != "" {
				t.Fatalf("%s %#x: %s %s", c.name, bits, text, fault)
			}
			if minus := c.k.shortest(-c.of(bits), 'e'); minus != "-"+text {
				t.Fatalf("%s %#x: %s with a sign", c.name, bits, minus)
			}
		}
		if got := c.k.shortest(math.Copysign(0, -1), 'f'); got != "-0" {
			t.Errorf("%s: %s for -0", c.name, got)
		}
	}
}

// notShortest returns the reason why a text is not the shortest one for x, or "" if it is.
func notShortest(text string, x *big.Rat, inside func(*big.Rat) bool) string {
	got, _ := new(big.Rat).SetString(text)
	if !inside(got) {
		return "is another number"
	}
	whole, fraction, exponent := parts(text)
	e, _ := strconv.Atoi(exponent)
	e -= len(fraction)
	n, _ := strconv.Atoi(whole + fraction)
	distance := func(y *big.Rat) *big.Rat { d := new(big.Rat).Sub(y, x); return d.Abs(d) }
	for _, near := range []int{n - 1, n + 1} {
		if y := decimal(near, e); inside(y) && distance(y).Cmp(distance(got)) < 0 {
			return fmt.Sprintf("is further away than %de%d", near, e)
		}
	}
	for _, shorter := range []int{n / 10, n/10 + 1} {
		if fraction != "" && inside(decimal(shorter, e+1)) {
			return fmt.Sprintf("is longer than %de%d", shorter, e+1)
		}
	}
	return ""
}

func exact(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

func midpoint(x, y float64) *big.Rat {
	sum := new(big.Rat).Add(exact(x), exact(y))
	return sum.Mul(sum, big.NewRat(1, 2))
}

func decimal(n, exponent int) *big.Rat {
	y, _ := new(big.Rat).SetString(strconv.Itoa(n) + "e" + strconv.Itoa(exponent))
	return y
}

// TestShortestText checks texts themselves, among them that of 0.0002261 in float16.
func TestShortestText(t *testing.T) {
	for _, c := range []struct {
		k    kind
		x    float64
		want string
	}{
		{float16Kind, 0.0002261, "0.0002261"},
		{float16Kind, 65504, "65500"},
		{float16Kind, 5.96e-8, "0.00000006"},
		{bfloat16Kind, 1.0 / 3, "0.334"},
		{bfloat16Kind, 3.3895314e38, "339" + strings.Repeat("0", 36)},
		{single, 0.1, "0.1"},
		{single, 0x1p-12, "0.00024414062"}, // NumPy's; strconv rounds the tie up
		{single, -0x1p-12, "-0.00024414062"},
		{double, 0.1, "0.1"},
	} {
		if got := c.k.shortest(c.k.round(c.x), 'f'); got != c.want {
			t.Errorf("%d bits: %s for %v, want %s", c.k.fraction, got, c.x, c.want)
		}
	}
}
