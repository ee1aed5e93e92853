package profile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// timeText formats a time with three significant digits: 12.3ms, 98ms, 1m3.2s.
func timeText(d time.Duration) string {
	if d < 0 {
		return "-" + timeText(max(-d, 0))
	}
	switch {
	case d >= time.Hour:
		return d.Round(time.Second).String()
	case d >= time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	for _, u := range []struct {
		one  time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= u.one {
			return threeDigits(float64(d)/float64(u.one)) + u.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

// bytesText formats bytes in multiples of 1024.
func bytesText(n int64) string {
	v := float64(n)
	for _, unit := range []string{"B", "KiB", "MiB", "GiB", "TiB"} {
		if math.Abs(v) < 1024 || unit == "TiB" {
			return threeDigits(v) + " " + unit
		}
		v /= 1024
	}
	return ""
}

// threeDigits formats a number with three significant digits, from 0.0001 on without an
// exponent.
func threeDigits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1000 && a < 1<<62:
		return countText(int64(math.Round(v)))
	case a >= 100 || a == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return trimZeros(strconv.FormatFloat(v, 'f', 1, 64))
	case a >= 1:
		return trimZeros(strconv.FormatFloat(v, 'f', 2, 64))
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// trimZeros removes zeros after the decimal point.
func trimZeros(s string) string {
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// countText formats a number with spaces between thousands.
func countText[T ~int | ~int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	digits := strings.TrimPrefix(s, "-")
	var b strings.Builder
	b.WriteString(s[:len(s)-len(digits)])
	for i, c := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// counted formats a number with its noun.
func counted[T ~int | ~int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return countText(n) + " " + many
}

// percentText formats a fraction from 0 to 1 in percent with one decimal.
func percentText(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// changeText formats a relative change in percent with its sign. For nil it returns "from
// 0".
func changeText(relative *float64) string {
	if relative == nil {
		return "from 0"
	}
	return fmt.Sprintf("%+.1f%%", 100**relative)
}

// rateText formats a rate with its unit. For nil it returns "".
func rateText(v *float64, unit string) string {
	if v == nil {
		return ""
	}
	return threeDigits(*v) + " " + unit
}
