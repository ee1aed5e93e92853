package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// bar shows progress: it is redrawn on a terminal, and otherwise prints a line for every
// tenth.
type bar struct {
	w        io.Writer
	unit     string // what is counted
	terminal bool
	last     time.Time
	tenth    int64
	drawn    bool
}

func newBar(w io.Writer, unit string) *bar {
	b := &bar{w: w, unit: unit}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		b.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
	}
	return b
}

func (b *bar) update(done, total int64, elapsed time.Duration) {
	if total == 0 {
		return
	}
	tenth := 10 * done / total
	if !b.terminal {
		if tenth > b.tenth {
			b.tenth = tenth
			fmt.Fprintf(b.w, "%d %% of %d %s, %s\n", 10*tenth, total, b.unit, elapsed.Round(10*time.Millisecond))
		}
		return
	}
	if time.Since(b.last) < 100*time.Millisecond && done < total {
		return
	}
	b.last, b.drawn = time.Now(), true
	const width = 30
	full := int(width * done / total)
	left := ""
	if done > 0 {
		rest := time.Duration(float64(elapsed) * float64(total-done) / float64(done))
		left = ", about " + rest.Round(time.Second).String() + " left"
	}
	fmt.Fprintf(b.w, "\r\x1b[K[%s%s] %d %%, %s%s", strings.Repeat("#", full), strings.Repeat(".", width-full), 100*done/total, elapsed.Round(time.Second), left)
}

func (b *bar) end() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
