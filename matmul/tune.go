package matmul

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/setting"
)

// Autotuning is enabled by GPK_AUTOTUNE=1, or by Product.Measure for one product.
// Before a problem is computed for the first time on a device, the kernels that the
// model ranks first are timed. The fastest is stored in memory and on disk. All of
// them have the requested precision, but not the same bits: with autotuning the last
// bits of a product may depend on the cache. While a stream is captured nothing is
// measured, and the model decides.

// autotune reports whether GPK_AUTOTUNE asks for measured selection.
var autotune = sync.OnceValue(func() bool { return setting.On("GPK_AUTOTUNE") })

const (
	maxTuned   = 6    // kernels timed for one problem
	tuneSlack  = 2.0  // kernels slower than this multiple of the best prediction are not timed
	tuneMargin = 0.98 // another kernel replaces the model's choice if it takes less than this fraction of the time
)

// tuner holds the measured choices of one device.
type tuner struct {
	busy sync.Mutex // held while measuring; other goroutines use the model's choice meanwhile
	file *tuneFile
}

var tuners sync.Map // *device.Device -> *tuner

func tunerOf(dev *device.Device) *tuner {
	if t, ok := tuners.Load(dev); ok {
		return t.(*tuner)
	}
	t, _ := tuners.LoadOrStore(dev, &tuner{file: openTuneFile(dev.Info().Name, dev.Info().Driver, dev.Library().KernelSet())})
	return t.(*tuner)
}

// measured returns the measured choice for a problem on a device.
func measured(p Problem, dev *device.Device) (tuneChoice, bool) {
	if !autotune() || dev.Library() == nil {
		return tuneChoice{}, false
	}
	return tunerOf(dev).file.lookup(tuneKey(p))
}

// tuneKey returns a problem's key in the file. Alignments above 16 bytes count as 16, the
// largest that a kernel requires.
func tuneKey(p Problem) string {
	return fmt.Sprintf("%v, aligned to %d %d %d", p, min(p.AlignA, 16), min(p.AlignB, 16), min(p.AlignC, 16))
}

// tuned returns the name of the measured kernel for a stack. If the file has none, it
// measures. Empty means the model's choice.
func (p *Product) tuned(s *device.Stream, st stack, q Problem) string {
	dev := s.Device()
	t, key := tunerOf(dev), tuneKey(q)
	if c, ok := t.file.lookup(key); ok {
		// Anyone can write the file, so it may name a kernel that cannot compute the
		// problem. Such a problem is measured again.
		if _, err := plans.get(q, c.Kernel, dev); err == nil {
			return c.Kernel
		}
	}
	if s.Capturing() || !t.busy.TryLock() {
		return ""
	}
	defer t.busy.Unlock()
	best, ok := fastest(tuneCandidates(q, dev.Capabilities(), manifest), func(kernel string) (time.Duration, error) {
		c, err := plans.get(q, kernel, dev)
		if err != nil {
			return 0, err
		}
		return p.clock(s, st, q, c)
	})
	if !ok {
		return ""
	}
	if err := t.file.store(key, best); err != nil {
		slog.Warn("gpk: the result of GPK_AUTOTUNE was not saved", "error", err)
	}
	return best.Kernel
}

// tuneCandidates returns the kernels that are worth timing, the model's choice first.
func tuneCandidates(q Problem, c device.Capabilities, kernels []cutlass.Kernel) []string {
	found, err := rank(q, c, "", kernels)
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range found {
		if len(names) < maxTuned && f.cycles <= tuneSlack*found[0].cycles {
			names = append(names, f.name())
		}
	}
	return names
}

// fastest times every kernel and returns the fastest. The first kernel, the model's choice,
// is replaced only if another beats it by the margin. Kernels that cannot be timed are
// skipped.
func fastest(kernels []string, clock func(kernel string) (time.Duration, error)) (tuneChoice, bool) {
	times := make([]time.Duration, len(kernels))
	for range 2 { // the clock rate varies: each kernel is timed twice
		for i, k := range kernels {
			if d, err := clock(k); err == nil && d > 0 && (times[i] == 0 || d < times[i]) {
				times[i] = d
			}
		}
	}
	best := slices.IndexFunc(times, func(d time.Duration) bool { return d > 0 })
	if best < 0 {
		return tuneChoice{}, false
	}
	first := best
	for i, d := range times {
		if d > 0 && d < times[best] && float64(d) < tuneMargin*float64(times[first]) {
			best = i
		}
	}
	return tuneChoice{Kernel: kernels[best], Microseconds: float64(times[best]) / float64(time.Microsecond)}, true
}

// tuneSpan is the approximate time of one timing on the device.
const tuneSpan = 2 * time.Millisecond

// clock times a candidate on the caller's stream. The candidate writes to a buffer of its
// own.
func (p *Product) clock(s *device.Stream, st stack, q Problem, c *candidate) (time.Duration, error) {
	dev := s.Device()
	size := q.Out.Size()
	pitch := alignUp(q.N, max(1, 16/size))
	buf, err := dev.Alloc(int64(q.Batch)*int64(q.M)*int64(pitch)*int64(size), s)
	if err != nil {
		return 0, err
	}
	defer buf.Free()
	trial := *p
	trial.trial = true
	trial.D = device.View{Buffer: buf, DType: q.Out}
	st.d = matrix{rows: q.M, cols: q.N, rowStride: pitch, colStep: 1, batchStride: q.M * pitch}
	begin, err := dev.NewEvent()
	if err != nil {
		return 0, err
	}
	end, err := dev.NewEvent()
	if err != nil {
		return 0, err
	}
	run := func(times int) (time.Duration, error) {
		if err := s.Record(begin); err != nil {
			return 0, err
		}
		for range times {
			if err := trial.execute(s, st, q, c); err != nil {
				return 0, err
			}
		}
		if err := s.Record(end); err != nil {
			return 0, err
		}
		return end.Elapsed(begin)
	}
	once, err := run(1) // also a warm-up
	if err != nil {
		return 0, err
	}
	times := min(20, max(1, int(tuneSpan/max(once, time.Microsecond))))
	d, err := run(times)
	return d / time.Duration(times), err
}
