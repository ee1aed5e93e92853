package setup

import (
	"bytes"
	"strings"
	"testing"
)

func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.begin(10, 4)
	p.started("unit")
	p.say("line %d", 1)
	p.finished("unit", 6)
	p.stop()
	if out.String() != "line 1\n" {
		t.Errorf("a writer that is no terminal got %q", out.String())
	}
	newProgress(nil).say("nothing to write to")
}

func TestProgressBar(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out)
	p.bar = true
	p.begin(10, 4)
	p.started(strings.Repeat("unit", 50))
	p.finished(strings.Repeat("unit", 50), 3)
	p.say("a line")
	p.stop()
	p.stop()
	text := out.String()
	for _, want := range []string{"4 of 10 kernels", "7 of 10 kernels", "[################........]", " left", "\r\x1b[Ka line\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("bar %q lacks %q", text, want)
		}
	}
	if !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("the bar stays on the screen: %q", text)
	}
	for line := range strings.SplitSeq(text, "\r\x1b[K") {
		if len(line) > 118 {
			t.Errorf("a line of %d columns wraps", len(line))
		}
	}
}
