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

	"github.com/gpk-go/gpk/internal/figure"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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

// plotPoint is a case of the plot: its operations per byte that must be moved, and its speed.
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

// machine holds the roofs of a device: peak rates of dense products, and the memory bandwidth in TB/s.
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
	p, err := parseList(fields["dtype"], precisionOf)
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

// writePlot plots the results of gram-sweep if there are no products. Otherwise it draws a
// roofline plot: rates over arithmetic intensity, both logarithmic, below the limits of the
// device if they are known. Williams, Waterman and Patterson, Communications of the ACM 52(4),
// 2009.
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
	p.X.Tick.Marker, p.Y.Tick.Marker = figure.LogTicks{}, figure.LogTicks{}
	p.Add(plotter.NewGrid())
	low, high := math.Inf(1), 0.0
	for _, s := range series {
		low, high = min(low, s.points[0].intensity), max(high, s.points[len(s.points)-1].intensity)
	}
	low, high = low/2, high*1.5
	if err := addRoofs(p, h.GPU, low, high); err != nil {
		return err
	}
	if err := addSeries(p, series, high); err != nil {
		return err
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

// addSeries draws the points, filled or, for a packed operand, as rings, and the name of each
// precision to the right of them.
func addSeries(p *plot.Plot, series []plotSeries, right float64) error {
	colors := map[string]color.Color{}
	ends := map[string]plotPoint{} // the point of the largest intensity
	for _, s := range series {
		precision, _, packed := strings.Cut(s.name, ", ")
		if colors[precision] == nil {
			colors[precision] = plotColor(precision)
		}
		xys := make(plotter.XYs, len(s.points))
		for i, q := range s.points {
			xys[i] = plotter.XY{X: q.intensity, Y: q.rate}
			if end := ends[precision]; q.intensity >= end.intensity {
				ends[precision] = q
			}
		}
		points, err := plotter.NewScatter(xys)
		if err != nil {
			return fmt.Errorf("-plot: %s: %w", s.name, err)
		}
		points.Color = colors[precision]
		points.Radius = vg.Points(3)
		points.Shape = draw.CircleGlyph{}
		if packed {
			points.Shape = draw.RingGlyph{}
			p.X.Label.Text = "FLOP per byte of operands and result (rings: B packed)"
		}
		p.Add(points)
	}
	return addNames(p, ends, colors, right)
}

// plotOrder gives the precisions of tensor cores the colors that differ most.
var plotOrder = []string{"bf16", "tf32", "fp16", "fp32", "fp64", "c64", "c128", "tc64"}

// plotColor returns the color of a precision. Integer precisions share the colors of the first
// ones.
func plotColor(precision string) color.Color {
	i := slices.Index(plotOrder, precision)
	if i < 0 {
		i = len(precision)
	}
	return figure.Color(i)
}

// addNames writes the names one above the other at the right, with a line to a point of
// each. Names whose points are close are moved apart.
func addNames(p *plot.Plot, ends map[string]plotPoint, colors map[string]color.Color, right float64) error {
	names := slices.SortedFunc(maps.Keys(ends), func(a, b string) int {
		return cmp.Or(cmp.Compare(ends[a].rate, ends[b].rate), cmp.Compare(a, b))
	})
	const apart = 1.32 // a name's height
	at := make([]float64, len(names))
	for i, name := range names {
		at[i] = ends[name].rate
	}
	for range 100 { // names that touch push each other apart
		for i := 1; i < len(at); i++ {
			if r := at[i-1] * apart / at[i]; r > 1 {
				at[i-1], at[i] = at[i-1]/math.Sqrt(r), at[i]*math.Sqrt(r)
			}
		}
	}
	x := right * 1.3
	for i, name := range names {
		end := ends[name]
		line, err := plotter.NewLine(plotter.XYs{{X: end.intensity * 1.08, Y: end.rate}, {X: x / 1.05, Y: at[i]}})
		if err != nil {
			return fmt.Errorf("-plot: %w", err)
		}
		line.Color, line.Width = colors[name], vg.Points(0.5)
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: x, Y: at[i]}}, Labels: []string{name}})
		if err != nil {
			return fmt.Errorf("-plot: %w", err)
		}
		label.TextStyle[0].Color, label.TextStyle[0].YAlign = colors[name], draw.YCenter
		p.Add(line, label)
	}
	p.X.Max = max(p.X.Max, x*2)
	p.Y.Max *= 1.3 // room below the title
	return nil
}

// addRoofs draws the limits of a GPU's memory bandwidth and of its arithmetic units.
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
		labels.XYs = append(labels.XYs, plotter.XY{X: from * 0.93, Y: peak}) // left of the ridge, where no point can be
		labels.Labels = append(labels.Labels, fmt.Sprintf("%s: %g", peaks[peak], peak))
	}
	text, err := plotter.NewLabels(labels)
	if err != nil {
		return fmt.Errorf("-plot: %w", err)
	}
	for i := range text.TextStyle {
		text.TextStyle[i].XAlign, text.TextStyle[i].YAlign = draw.XRight, draw.YCenter
	}
	p.Add(text)
	return nil
}
