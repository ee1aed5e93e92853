package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk/internal/figure"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sweepPoint is a kernel of suite gram-sweep.
type sweepPoint struct {
	circuit, option string
	qubits, n       int
	seconds         float64 // the median over the rounds
}

// sweepOf gathers the kernels of the sweep among results, in the order of qubits,
// samples, circuits and options.
func sweepOf(rs []result) []sweepPoint {
	rates := map[sweepPoint][]float64{}
	for _, r := range rs {
		parts := strings.Split(r.Name, "/")
		ns, ok := r.value("ns/op")
		if parts[0] != "GramSweep" || !ok || !(ns > 0) || r.Failure != "" {
			continue
		}
		var p sweepPoint
		for _, f := range parts[1:] {
			k, v, _ := strings.Cut(f, "=")
			switch k {
			case "circuit":
				p.circuit = v
			case "option":
				p.option = v
			case "qubits":
				p.qubits, _ = strconv.Atoi(v)
			case "n":
				p.n, _ = strconv.Atoi(v)
			}
		}
		if p.qubits > 0 && p.n > 0 {
			rates[p] = append(rates[p], ns/1e9)
		}
	}
	var out []sweepPoint
	for p, s := range rates {
		slices.Sort(s)
		p.seconds = s[len(s)/2]
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b sweepPoint) int {
		return cmp.Or(cmp.Compare(a.qubits, b.qubits), cmp.Compare(a.n, b.n), cmp.Compare(a.circuit, b.circuit), cmp.Compare(a.option, b.option))
	})
	return out
}

// plotSweep plots seconds over samples, a line for each number of qubits, and next to it
// the effect of each option on the time of one kernel.
func plotSweep(path, format string, h header, points []sweepPoint) error {
	var plots []*plot.Plot
	for _, drawn := range []func([]sweepPoint) (*plot.Plot, error){sweepSizes, sweepOptions} {
		p, err := drawn(points)
		if err != nil {
			return fmt.Errorf("-plot: %w", err)
		}
		if p != nil {
			plots = append(plots, p)
		}
	}
	if len(plots) == 0 {
		return errors.New("-plot: no kernel of the sweep was measured without options")
	}
	if on := cmp.Or(h.GPU, h.CPU); on != "" {
		plots[0].Title.Text += " on " + on
	}
	const w, height = 16 * vg.Centimeter, 11 * vg.Centimeter
	canvas, err := draw.NewFormattedCanvas(vg.Length(len(plots))*w, height, format)
	if err != nil {
		return fmt.Errorf("-plot: %w", err)
	}
	all := draw.New(canvas)
	for i, p := range plots {
		p.Draw(draw.Crop(all, vg.Length(i)*w, vg.Length(i+1-len(plots))*w, 0, 0))
	}
	var buf bytes.Buffer
	if _, err := canvas.WriteTo(&buf); err != nil {
		return fmt.Errorf("-plot: %w", err)
	}
	return os.WriteFile(path, buf.Bytes(), 0o644)
}

// sweepSizes plots the kernels without options; it returns nil if there are none.
func sweepSizes(points []sweepPoint) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = "Gram matrices"
	p.X.Label.Text, p.Y.Label.Text = "samples", "seconds"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.Y.Tick.Marker = figure.LogTicks{}
	p.Add(plotter.NewGrid())
	lines := map[int]plotter.XYs{}
	var qubits []int
	var samples []int
	for _, s := range points {
		if s.option != "none" || s.circuit != "ryrz_cz" {
			continue
		}
		if !slices.Contains(qubits, s.qubits) {
			qubits = append(qubits, s.qubits)
		}
		if !slices.Contains(samples, s.n) {
			samples = append(samples, s.n)
		}
		lines[s.qubits] = append(lines[s.qubits], plotter.XY{X: float64(s.n), Y: s.seconds})
	}
	if len(qubits) == 0 {
		return nil, nil // axes of logarithms need a value
	}
	var ticks []plot.Tick
	for _, n := range samples {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	for i, q := range qubits {
		line, marks, err := plotter.NewLinePoints(lines[q])
		if err != nil {
			return nil, err
		}
		line.Color, marks.Color = figure.Color(i), figure.Color(i)
		line.Width, marks.Shape, marks.Radius = vg.Points(1.5), draw.CircleGlyph{}, vg.Points(2.5)
		last := lines[q][len(lines[q])-1]
		label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{last}, Labels: []string{fmt.Sprintf("%d qubits", q)}})
		if err != nil {
			return nil, err
		}
		label.TextStyle[0].Color, label.TextStyle[0].YAlign, label.Offset.X = figure.Color(i), draw.YCenter, vg.Points(6)
		p.Add(line, marks, label)
	}
	p.X.Max = 1.6 * float64(slices.Max(samples)) // room for the labels
	return p, nil
}

// sweepOptions plots the times of the kernels with an option relative to the same kernels
// without; it returns nil if there are none.
func sweepOptions(points []sweepPoint) (*plot.Plot, error) {
	var names []string
	var values plotter.Values
	var size sweepPoint
	most := 0 // the largest number of options measured at one size
	count := map[[2]int]int{}
	for _, s := range points {
		if s.option != "none" {
			at := [2]int{s.qubits, s.n}
			count[at]++
			most = max(most, count[at])
		}
	}
	for _, s := range points {
		if s.option == "none" || count[[2]int{s.qubits, s.n}] < most {
			continue
		}
		i := slices.IndexFunc(points, func(o sweepPoint) bool {
			return o.option == "none" && o.circuit == s.circuit && o.qubits == s.qubits && o.n == s.n
		})
		if i < 0 {
			continue
		}
		names, values, size = append(names, s.option), append(values, s.seconds/points[i].seconds), s
	}
	if len(names) == 0 {
		return nil, nil
	}
	bars, err := plotter.NewBarChart(values, vg.Points(14))
	if err != nil {
		return nil, err
	}
	bars.Horizontal, bars.Color, bars.LineStyle.Width = true, figure.Color(1), 0
	p := plot.New()
	p.Title.Text = fmt.Sprintf("options, %d qubits, %d samples", size.qubits, size.n)
	p.X.Label.Text = "time over that without the option"
	one, err := plotter.NewLine(plotter.XYs{{X: 1, Y: -0.5}, {X: 1, Y: float64(len(names)) - 0.5}})
	if err != nil {
		return nil, err
	}
	one.Color = color.Gray{Y: 0x60}
	labels := plotter.XYLabels{}
	for i, v := range values {
		labels.XYs = append(labels.XYs, plotter.XY{X: v, Y: float64(i)})
		labels.Labels = append(labels.Labels, fmt.Sprintf(" %.2f", v))
	}
	text, err := plotter.NewLabels(labels)
	if err != nil {
		return nil, err
	}
	p.Add(bars, one, text)
	p.NominalY(names...)
	p.X.Min, p.X.Max = 0, math.Max(1, slices.Max(values))*1.15
	return p, nil
}
