package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The units of the drawing. The page scales them to its width.
const (
	chartWidth  = 1000
	chartHeight = 160
)

// memoryChart is a drawing of the bytes in use and held on one device over time.
type memoryChart struct {
	Device        string
	InUse, Held   string // paths of SVG
	PeakInUse     string
	PeakHeld      string
	Memory        string // memory of the device; empty if unknown
	Top, From, To string // labels of the axes
	Samples       int
}

// memoryCharts draws a chart for each device, in the order of names.
func (r *Report) memoryCharts() []memoryChart {
	byDevice := map[string][]MemoryUse{}
	for _, m := range r.Memory {
		byDevice[m.Device] = append(byDevice[m.Device], m)
	}
	var charts []memoryChart
	for device, use := range byDevice {
		slices.SortStableFunc(use, func(a, b MemoryUse) int { return cmp.Compare(a.At, b.At) })
		c := drawMemory(use, max(r.Duration, use[len(use)-1].At, 1))
		c.Device = device
		for i := range r.Devices {
			if d := &r.Devices[i]; d.Name == device && d.MemoryBytes > 0 {
				c.Memory = bytesText(d.MemoryBytes)
			}
		}
		charts = append(charts, c)
	}
	slices.SortFunc(charts, func(a, b memoryChart) int { return cmp.Compare(a.Device, b.Device) })
	return charts
}

func drawMemory(use []MemoryUse, end time.Duration) memoryChart {
	var inUse, held, top int64
	for _, m := range use {
		inUse, held = max(inUse, m.InUse), max(held, m.Held)
	}
	top = max(inUse, held, 1)
	return memoryChart{
		InUse:     area(steps(use, end, top, func(m *MemoryUse) int64 { return m.InUse }), column(use[0].At, end)),
		Held:      steps(use, end, top, func(m *MemoryUse) int64 { return m.Held }),
		PeakInUse: bytesText(inUse), PeakHeld: bytesText(held), Top: bytesText(top),
		From: "0", To: timeText(end), Samples: len(use),
	}
}

// steps draws a step function. Of the samples within one unit of width only the largest
// is drawn, so that no peak is lost.
func steps(use []MemoryUse, end time.Duration, top int64, value func(*MemoryUse) int64) string {
	var b strings.Builder
	y := func(v int64) float64 { return chartHeight * (1 - float64(v)/float64(top)) }
	for i := 0; i < len(use); {
		x := column(use[i].At, end)
		most, final := int64(0), int64(0)
		for ; i < len(use) && column(use[i].At, end) == x; i++ {
			final = value(&use[i])
			most = max(most, final)
		}
		if b.Len() == 0 {
			fmt.Fprintf(&b, "M%d %.1f", x, y(most)) // the value before the first sample is unknown
		} else {
			fmt.Fprintf(&b, "H%dV%.1f", x, y(most))
		}
		if final != most {
			fmt.Fprintf(&b, "V%.1f", y(final))
		}
	}
	fmt.Fprintf(&b, "H%d", chartWidth)
	return b.String()
}

func column(at, end time.Duration) int {
	return int(float64(chartWidth) * float64(at) / float64(end))
}

// area closes a path along the axis, back to the column of its beginning.
func area(path string, begin int) string {
	return fmt.Sprintf("%sV%dH%dZ", path, chartHeight, begin)
}
