package main

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	_ "gonum.org/v1/plot/vg/vgimg" // PNG
	_ "gonum.org/v1/plot/vg/vgsvg" // SVG
)

// plotFormats are the kinds of file that -plot draws.
var plotFormats = []string{"svg", "png"}

func plotFormat(path string) (string, error) {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")
	if !slices.Contains(plotFormats, format) {
		return "", fmt.Errorf("-plot: %q ends in none of .%s", path, strings.Join(plotFormats, ", ."))
	}
	return format, nil
}

// plotPoint is a case of the plot: what it computes per byte that it cannot
// avoid to move, and how fast.
type plotPoint struct {
	intensity, rate float64 // FLOP per byte, TFLOP/s
}

// plotSeries is the points of one precision.
type plotSeries struct {
	name   string // bf16, or bf16, B packed
	points []plotPoint
}

// roof is a machine's limit for a precision, in TFLOP/s.
type roof struct {
	name string
	peak float64
}

// machine is the roofs of a device: dense peaks, and memory in TB/s.
type machine struct {
	gpu    string // a part of the name that reports give
	memory float64
	roofs  []roof
}

// machines are the devices whose data sheets gpk has figures of.
var machines = []machine{
	{"H200", 4.8, []roof{{"bf16, fp16", 989.4}, {"tf32", 494.7}, {"fp64, fp32", 66.9}}},
	{"H100", 3.35, []roof{{"bf16, fp16", 989.4}, {"tf32", 494.7}, {"fp64, fp32", 66.9}}},
}

// plotOf gathers the products among results, medians over their rounds, by
// precision.
func plotOf(rs []result) []plotSeries {
	rates := map[string][]float64{}
	for _, r := range rs {
		if v, ok := r.value("ns/op"); ok && v > 0 && r.Failure == "" {
			rates[r.Name] = append(rates[r.Name], v)
		}
	}
	series := map[string]*plotSeries{}
	for name, ns := range rates {
		key, flops, bytes, ok := productOf(name)
		if !ok {
			continue
		}
		s := series[key]
		if s == nil {
			s = &plotSeries{name: key}
			series[key] = s
		}
		slices.Sort(ns)
		s.points = append(s.points, plotPoint{flops / bytes, flops / ns[len(ns)/2] / 1e3})
	}
	out := make([]plotSeries, 0, len(series))
	for _, s := range series {
		slices.SortFunc(s.points, func(a, b plotPoint) int {
			return cmp.Or(cmp.Compare(a.intensity, b.intensity), cmp.Compare(a.rate, b.rate))
		})
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b plotSeries) int { return cmp.Compare(a.name, b.name) })
	return out
}

// productOf reads the name of a case that is a product: its series, floating
// point operations, and the bytes of operands and result, each moved once.
func productOf(name string) (series string, flops, bytes float64, ok bool) {
	parts := strings.Split(name, "/")
	if parts[0] != "MatMul" && parts[0] != "BatchedMatMul" && parts[0] != "CPUMatMul" {
		return "", 0, 0, false
	}
	fields := map[string]string{}
	for _, p := range parts[1:] {
		k, v, _ := strings.Cut(p, "=")
		fields[k] = v
	}
	p, err := parsePrecisions(fields["dtype"])
	if err != nil || len(p) != 1 {
		return "", 0, 0, false
	}
	number := func(key string, other float64) float64 {
		v, err := strconv.ParseFloat(fields[key], 64)
		if err != nil || !(v >= 1) {
			return other
		}
		return v
	}
	series = p[0].name
	batch := 1.0
	if fields["b"] == "packed" {
		series += ", B packed"
	} else {
		batch = number("b", 1)
	}
	n := number("n", math.NaN())
	m, k := number("m", n), number("k", n)
	flops = p[0].flops() * batch * m * k * n
	bytes = batch * (float64(p[0].dtype.Size())*(m*k+k*n) + float64(p[0].out.Size())*m*n)
	return series, flops, bytes, !math.IsNaN(flops)
}

// writePlot draws the results of gram-sweep where there are no products, else a
// roofline plot: rates over arithmetic intensity, both
// logarithmic, under the limits of the device, where they are known.
// Williams, Waterman and Patterson, Communications of the ACM 52(4), 2009.
func writePlot(path string, h header, rs []result) error {
	format, err := plotFormat(path)
	if err != nil {
		return err
	}
	series := plotOf(rs)
	if len(series) == 0 {
		if sweep := sweepOf(rs); len(sweep) > 0 {
			return plotSweep(path, format, h, sweep)
		}
		return fmt.Errorf("-plot: no product and no kernel of gram-sweep among the results")
	}
	p := plot.New()
	p.Title.Text = "Matrix products"
	if on := cmp.Or(h.GPU, h.CPU); on != "" {
		p.Title.Text += " on " + on
	}
	p.X.Label.Text, p.Y.Label.Text = "FLOP per byte of operands and result", "TFLOP/s"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Padding = vg.Points(3) // at the right, below: where no point lies
	p.Add(plotter.NewGrid())
	low, high := math.Inf(1), 0.0
	for _, s := range series {
		low, high = min(low, s.points[0].intensity), max(high, s.points[len(s.points)-1].intensity)
	}
	low, high = low/2, high*2
	if err := addRoofs(p, h.GPU, low, high); err != nil {
		return err
	}
	colors := map[string]int{}
	for _, s := range series {
		precision, _, packed := strings.Cut(s.name, ", ")
		if _, ok := colors[precision]; !ok {
			colors[precision] = len(colors)
		}
		xys := make(plotter.XYs, len(s.points))
		for i, q := range s.points {
			xys[i] = plotter.XY{X: q.intensity, Y: q.rate}
		}
		points, err := plotter.NewScatter(xys)
		if err != nil {
			return fmt.Errorf("-plot: %s: %w", s.name, err)
		}
		points.Color = plotutil.Color(colors[precision])
		points.Radius = vg.Points(3)
		points.Shape = draw.CircleGlyph{}
		if packed {
			points.Shape = draw.RingGlyph{}
		}
		p.Add(points)
		p.Legend.Add(s.name, points)
	}
	var buf bytes.Buffer
	w, err := p.WriterTo(20*vg.Centimeter, 13*vg.Centimeter, format)
	if err == nil {
		_, err = w.WriteTo(&buf)
	}
	if err != nil {
		return fmt.Errorf("-plot: %w", err)
	}
	return os.WriteFile(path, buf.Bytes(), 0o644)
}

// addRoofs draws what memory and the units of a GPU allow.
func addRoofs(p *plot.Plot, gpu string, low, high float64) error {
	i := slices.IndexFunc(machines, func(m machine) bool { return gpu != "" && strings.Contains(gpu, m.gpu) })
	if i < 0 {
		return nil
	}
	m := machines[i]
	labels := plotter.XYLabels{}
	add := func(xys plotter.XYs) error {
		l, err := plotter.NewLine(xys)
		if err != nil {
			return fmt.Errorf("-plot: %w", err)
		}
		l.Color, l.Width = color.Gray{Y: 0x60}, vg.Points(1)
		p.Add(l)
		return nil
	}
	peaks := map[float64]string{}
	top := 0.0
	for _, r := range m.roofs {
		peaks[r.peak] = r.name
		top = max(top, r.peak)
	}
	if ridge := min(high, top/m.memory); low < ridge {
		if err := add(plotter.XYs{{X: low, Y: low * m.memory}, {X: ridge, Y: ridge * m.memory}}); err != nil {
			return err
		}
	}
	for _, peak := range slices.Sorted(maps.Keys(peaks)) {
		from := max(low, peak/m.memory)
		if from >= high {
			continue
		}
		if err := add(plotter.XYs{{X: from, Y: peak}, {X: high, Y: peak}}); err != nil {
			return err
		}
		labels.XYs = append(labels.XYs, plotter.XY{X: from, Y: peak * 1.04})
		labels.Labels = append(labels.Labels, fmt.Sprintf("%s: %g", peaks[peak], peak))
	}
	text, err := plotter.NewLabels(labels)
	if err != nil {
		return fmt.Errorf("-plot: %w", err)
	}
	p.Add(text)
	return nil
}
