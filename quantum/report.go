package quantum

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpk-go/gpk/internal/bytesize"
)

// Report has the measurements of the computation of a Gram matrix.
type Report struct {
	Path      Path
	Precision Precision

	// On a GPU the first three are times between events. Copies overlap with products, and
	// Other is the remaining time.
	States, Product, Copy, Other time.Duration // building states, 0 if a closed form has none; multiplying; copies to and from the device, or on the CPU statistics, mirror and file (a closed form computes statistics and mirror with its product); the rest
	Writing                      time.Duration // on a GPU, concurrent with the others: writing K to the host's memory or to the file
	Total                        time.Duration

	Pairs          int64   // entries of K that were computed, not counting mirrored ones
	PairsPerSecond float64 // over the whole call

	OffDiagonalMean float64 // mean of all entries if K is not symmetric
	OffDiagonalStd  float64
	Warning         string // empty, or why the kernel is hardly useful for learning

	MaxDiagonalError float64 // the largest computed |K_ii - 1|; 0 if K is not symmetric
	MaxBuilds        int     // the maximum number of times that a state was built

	Peak                       []Bytes // maximum memory in use, by name: states, K, workspace (all other memory of the device's pool), K on the host
	ToDevice, FromDevice       int64   // bytes copied; x is already on the device and does not count
	ToDeviceGBs, FromDeviceGBs float64 // measured by events; a copy of K that waits for the next product includes the wait
	Launches                   int64   // kernels started; on the CPU matrix products
}

// Bytes is an amount of memory.
type Bytes struct {
	Name  string
	Bytes int64
}

// Thresholds of the warnings.
const (
	collapsedMean    = 0.99
	concentratedMean = 0.01
)

// finish computes the derived fields. most is the peak of the device's pool relative to its
// state before the call.
func (r *Report) finish(pairs int64, total time.Duration, most int64) {
	r.Pairs, r.Total = pairs, total
	workspace := most
	for _, p := range r.Peak[:min(2, len(r.Peak))] {
		workspace -= p.Bytes
	}
	r.Peak = slices.Insert(r.Peak, min(2, len(r.Peak)), Bytes{"workspace", max(workspace, 0)})
	r.Other = max(total-r.States-r.Product-r.Copy, 0)
	if total > 0 {
		r.PairsPerSecond = float64(pairs) / total.Seconds()
	}
	r.warn()
}

// warn sets Warning if the kernel is hardly useful for learning.
func (r *Report) warn() {
	r.Warning = ""
	switch {
	case math.IsNaN(r.OffDiagonalMean): // no pairs
	case r.OffDiagonalMean >= collapsedMean:
		r.Warning = fmt.Sprintf("the kernel has collapsed: entries off the diagonal are %.4g on average, all samples look alike; scale the features up", r.OffDiagonalMean)
	case r.OffDiagonalMean+2*r.OffDiagonalStd <= concentratedMean:
		r.Warning = fmt.Sprintf("the kernel has concentrated: entries off the diagonal are %.4g on average, all samples look different; scale the features down or use fewer qubits", r.OffDiagonalMean)
	}
}

// String formats the report for people, one fact per line.
func (r Report) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.4g s", d.Seconds()) }
	line("%s: states %s, product %s, copy %s, other %s", seconds(r.Total), seconds(r.States), seconds(r.Product), seconds(r.Copy), seconds(r.Other))
	if r.Writing > 0 {
		line("K was put into its place beside that in %s", seconds(r.Writing))
	}
	line("%d pairs, %.4g million a second; path %v, precision %v, %d launches", r.Pairs, r.PairsPerSecond/1e6, r.Path, r.Precision, r.Launches)
	if !math.IsNaN(r.OffDiagonalMean) {
		line("off the diagonal: mean %.4g, standard deviation %.4g", r.OffDiagonalMean, r.OffDiagonalStd)
	}
	line("largest |K_ii - 1| %.2g; a state was built at most %d times", r.MaxDiagonalError, r.MaxBuilds)
	var parts []string
	for _, p := range r.Peak {
		parts = append(parts, p.Name+" "+bytesize.Format(p.Bytes))
	}
	if len(parts) > 0 {
		line("memory: %s", strings.Join(parts, ", "))
	}
	if r.ToDevice+r.FromDevice > 0 {
		line("copied to the device %s at %.3g GB/s, from it %s at %.3g GB/s", bytesize.Format(r.ToDevice), r.ToDeviceGBs, bytesize.Format(r.FromDevice), r.FromDeviceGBs)
	}
	if r.Warning != "" {
		line("warning: %s", r.Warning)
	}
	return b.String()
}

// moments accumulates mean and variance tile by tile. It sums differences to the first
// value, so that a kernel with nearly equal entries loses no digits.
type moments struct {
	n          int64
	shift      float64
	sum, sumSq float64
}

// add adds the sums of n values. If n is 0, it does nothing.
func (m *moments) add(sums []laneSums, n int64) {
	if n == 0 {
		return
	}
	for i := range sums {
		sum, squares := sums[i].total()
		m.sum += sum
		m.sumSq += squares
	}
	m.n += n
}

func (m *moments) mean() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.shift + m.sum/float64(m.n)
}

func (m *moments) std() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	d := m.sum / float64(m.n)
	return math.Sqrt(max(m.sumSq/float64(m.n)-d*d, 0))
}
