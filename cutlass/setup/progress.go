package setup

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progress shows the progress of a build: a bar that is redrawn on a terminal, otherwise a
// line per event. All methods accept nil writers.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	bar     bool // w is a terminal
	total   int  // number of kernels to build
	done    int
	built   int // number of kernels of done that were compiled in this run, for the estimate
	begun   time.Time
	running []string
	drawn   bool
	quit    chan struct{}
	gone    chan struct{}
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w}
	if w == nil {
		p.w = io.Discard
	}
	if f, ok := w.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull {
			p.bar = true
		}
	}
	return p
}

// say prints a line above the bar.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.w, format+"\n", args...)
	p.draw()
}

// begin starts the bar for total units of work. done of them are finished already.
func (p *progress) begin(total, done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total, p.done, p.built, p.begun = total, done, 0, time.Now()
	if p.bar {
		p.quit, p.gone = make(chan struct{}), make(chan struct{})
		go p.tick(p.quit, p.gone)
	}
}

func (p *progress) tick(quit, gone chan struct{}) {
	defer close(gone)
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-quit:
			return
		case <-t.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// stop ends the bar.
func (p *progress) stop() {
	p.mu.Lock()
	quit := p.quit
	p.quit = nil
	p.clear()
	p.total = 0
	p.mu.Unlock()
	if quit != nil {
		close(quit)
		<-p.gone
	}
}

// started and finished bracket the work on a unit.
func (p *progress) started(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, name)
	p.draw()
}

func (p *progress) finished(name string, work int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range p.running {
		if r == name {
			p.running = append(p.running[:i], p.running[i+1:]...)
			break
		}
	}
	p.done += work
	p.built += work
	p.draw()
}

const barWidth = 24

func (p *progress) draw() {
	if !p.bar || p.total == 0 {
		return
	}
	full := barWidth * p.done / p.total
	elapsed := time.Since(p.begun)
	left := ""
	if p.built > 0 {
		rest := time.Duration(float64(elapsed) / float64(p.built) * float64(p.total-p.done))
		left = fmt.Sprintf(", about %s left", rest.Round(time.Second))
	}
	line := fmt.Sprintf("[%s%s] %d of %d kernels, %s%s  %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full),
		p.done, p.total, elapsed.Round(time.Second), left, strings.Join(p.running, " "))
	const width = 118 // a line that wraps could not be redrawn
	if len(line) > width {
		line = line[:width]
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.drawn = true
}

func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}
