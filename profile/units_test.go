package profile

import (
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	for want, got := range map[string]string{
		"0ns": timeText(0), "999ns": timeText(999), "1µs": timeText(1000), "12.3µs": timeText(12345), "98ms": timeText(98 * time.Millisecond),
		"250µs": timeText(250 * time.Microsecond), "1.5s": timeText(1500 * time.Millisecond), "1m30.5s": timeText(90500 * time.Millisecond),
		"2h0m1s": timeText(2*time.Hour + time.Second), "-1µs": timeText(-1000),
		"0 B": bytesText(0), "1 023 B": bytesText(1023), "1 KiB": bytesText(1024), "1.5 MiB": bytesText(3 << 19), "2 048 TiB": bytesText(1 << 51),
		"1 234 567": countText(1234567), "-12 345": countText(-12345), "100": countText(100),
		"0": threeDigits(0), "0.25": threeDigits(0.25), "1.23": threeDigits(1.234), "12.3": threeDigits(12.34), "123": threeDigits(123.4), "12 346": threeDigits(12345.6),
		"40.8%": percentText(0.408), "+40.8%": changeText(new(0.408)), "-99.3%": changeText(new(-0.993)), "from 0": changeText(nil),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
