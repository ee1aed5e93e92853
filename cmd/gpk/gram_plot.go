package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/atomicfile"
	"github.com/gpk-go/gpk/internal/figure"
	"github.com/gpk-go/gpk/interop/npy"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// plotFormats are the possible extensions of a plot's file name.
var plotFormats = []string{".png", ".svg", ".pdf"}

func plotFormat(path string) error {
	if !slices.Contains(plotFormats, strings.ToLower(filepath.Ext(path))) {
		return fmt.Errorf("-plot %s: the name ends in none of %s", path, strings.Join(plotFormats, ", "))
	}
	return nil
}

// The limits of a plot. Larger plots show no more, or take minutes.
const (
	maxCells       = 400
	maxEigenvalues = 1000
)

// plotKernel draws the matrix of a .npy file, which has rows rows and cols columns of type dt: a heat
// map and, if the matrix is symmetric, its spectrum. For a large matrix, a cell of the heat map is a
// mean. For more than 1,000 samples, the spectrum is that of 1,000 evenly spaced ones. The matrix is
// read row by row, so it need not fit into memory.
func plotKernel(path, file string, dt gpk.DType, rows, cols int, symmetric bool) error {
	if rows == 0 || cols == 0 {
		return fmt.Errorf("%w: a plot of a matrix of %d x %d", gpk.ErrShape, rows, cols)
	}
	g := newGrid(rows, cols, symmetric)
	chosen := chosenSamples(rows)
	part := mat.NewSymDense(len(chosen), nil)
	err := eachRow(file, dt, rows, cols, func(i int, row []float64) {
		g.add(i, row)
		if at, ok := slices.BinarySearch(chosen, i); symmetric && ok {
			for k := at; k < len(chosen); k++ {
				part.SetSym(at, k, row[chosen[k]])
			}
		}
	})
	if err != nil {
		return err
	}
	heat := plot.New()
	heat.Title.Text = fmt.Sprintf("K, %d x %d", rows, cols)
	heat.X.Label.Text, heat.Y.Label.Text = "column", "row"
	heat.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}} // row 0 at the top
	heat.Add(g.heatMap())
	plots := []*plot.Plot{heat}
	if symmetric {
		p, err := spectrum(part, rows)
		if err != nil {
			return err
		}
		plots = append(plots, p)
	}
	const side, bar = 5 * vg.Inch, 1.1 * vg.Inch
	canvas, err := draw.NewFormattedCanvas(vg.Length(len(plots))*side+bar, side, strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."))
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	at := func(from, to vg.Length) draw.Canvas { return draw.Crop(all, from, to-all.Max.X, 0, 0) }
	heat.Draw(at(0, side))
	g.colorBar().Draw(at(side, side+bar-0.2*vg.Inch))
	if symmetric {
		plots[1].Draw(at(side+bar, 2*side+bar))
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

// eachRow reads the rows of a .npy file whose header is known.
func eachRow(file string, dt gpk.DType, rows, cols int, f func(i int, row []float64)) error {
	header, err := npy.Header(dt, rows, cols)
	if err != nil {
		return err
	}
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	r := bufio.NewReaderSize(in, 1<<20)
	if _, err := r.Discard(len(header)); err != nil {
		return err
	}
	row, single := make([]float64, cols), make([]float32, cols)
	for i := range rows {
		if dt == gpk.Float64 {
			err = binary.Read(r, binary.LittleEndian, row)
		} else {
			err = binary.Read(r, binary.LittleEndian, single)
			for c, v := range single {
				row[c] = float64(v)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: row %d: %w", file, i, err)
		}
		f(i, row)
	}
	return nil
}

// grid is a matrix reduced to at most maxCells x maxCells cells. A cell shows the mean of its
// entries. In a symmetric matrix, the mean leaves out diagonal entries unless the cell has no others.
type grid struct {
	sums, counts []float64
	diagonal     []bool // the cell contains only diagonal entries
	rows, cols   int
	of           [2]int // numbers of rows and columns of the matrix
}

func newGrid(rows, cols int, symmetric bool) *grid {
	g := &grid{rows: min(rows, maxCells), cols: min(cols, maxCells), of: [2]int{rows, cols}}
	g.sums, g.counts = make([]float64, g.rows*g.cols), make([]float64, g.rows*g.cols)
	if symmetric {
		g.diagonal = make([]bool, g.rows*g.cols)
	}
	return g
}

func (g *grid) add(i int, row []float64) {
	r := i * g.rows / g.of[0]
	for j, v := range row {
		at := r*g.cols + j*g.cols/g.of[1]
		if g.diagonal != nil {
			switch {
			case i == j && g.counts[at] > 0 && !g.diagonal[at]:
				continue
			case i == j:
				g.diagonal[at] = true
			case g.diagonal[at]:
				g.sums[at], g.counts[at], g.diagonal[at] = 0, 0, false
			}
		}
		g.sums[at] += v
		g.counts[at]++
	}
}

// limits returns the least and the largest cell. For a symmetric matrix it ignores cells with only
// diagonal entries.
func (g *grid) limits() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range g.sums {
		if g.diagonal == nil || !g.diagonal[i] {
			v := g.sums[i] / g.counts[i]
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	switch {
	case !(low <= high): // there are no cells, or a cell is NaN
		return 0, 1
	case low == high:
		return low - math.Abs(low)/2 - 1e-300, high + math.Abs(high)/2 + 1e-300
	}
	return low, high
}

// onDiagonal is the color of the diagonal, whose values exceed those of all other cells.
var onDiagonal = color.Gray{Y: 0x40}

// heatMap draws the cells, with colors for those off the diagonal.
func (g *grid) heatMap() *plotter.HeatMap {
	h := plotter.NewHeatMap(g, blues{})
	h.Min, h.Max = g.limits()
	h.Overflow, h.NaN = onDiagonal, color.White
	return h
}

// colorBar draws the scale of the colors.
func (g *grid) colorBar() *plot.Plot {
	p := plot.New()
	low, high := g.limits()
	scale := ramp{low, high}
	h := plotter.NewHeatMap(scale, blues{})
	h.Rasterized = true // avoids hairlines between cells
	h.Min, h.Max = low, high
	p.Title.Text = "off the\ndiagonal"
	if g.diagonal == nil {
		p.Title.Text = "entry"
	}
	p.Title.TextStyle.Font.Size = vg.Points(9)
	p.HideX()
	p.Add(h) // package plot draws only cells within the range of the axes, so the heat map has to set this range
	return p
}

// ramp is a plotter.GridXYZ of the numbers from low to high.
type ramp struct{ low, high float64 }

func (ramp) Dims() (c, r int)     { return 2, 256 }
func (ramp) X(c int) float64      { return float64(c) }
func (s ramp) Y(r int) float64    { return s.low + (s.high-s.low)*float64(r)/255 }
func (s ramp) Z(_, r int) float64 { return s.Y(r) }

// Dims, Z, X and Y implement plotter.GridXYZ. A heat map needs at least two cells in each direction,
// so a single cell is drawn twice.
func (g *grid) Dims() (c, r int) { return max(g.cols, 2), max(g.rows, 2) }

func (g *grid) Z(c, r int) float64 {
	at := min(r, g.rows-1)*g.cols + min(c, g.cols-1)
	return g.sums[at] / g.counts[at]
}

func (g *grid) X(c int) float64 { return (float64(c) + 0.5) * float64(g.of[1]) / float64(g.cols) }
func (g *grid) Y(r int) float64 { return (float64(r) + 0.5) * float64(g.of[0]) / float64(g.rows) }

// blues is the color map from white to dark blue.
type blues struct{}

func (blues) Colors() []color.Color {
	colors := make([]color.Color, 256)
	for i := range colors {
		t := float64(i) / 255
		colors[i] = color.RGBA{uint8(255 * (1 - t)), uint8(255 * (1 - 0.8*t)), uint8(255 * (1 - 0.45*t)), 255}
	}
	return colors
}

var _ palette.Palette = blues{}

// chosenSamples returns the samples whose eigenvalues are drawn.
func chosenSamples(n int) []int {
	chosen := make([]int, min(n, maxEigenvalues))
	for i := range chosen {
		chosen[i] = i * n / len(chosen)
	}
	return chosen
}

// spectrum draws the eigenvalues, the largest first, on a logarithmic axis.
func spectrum(part *mat.SymDense, n int) (*plot.Plot, error) {
	m := part.SymmetricDim()
	var e mat.EigenSym
	if !e.Factorize(part, false) {
		return nil, fmt.Errorf("the eigenvalues of K did not converge")
	}
	values := e.Values(nil)
	slices.Reverse(values)
	// Values below the rounding error would dominate the range of the axis.
	floor := max(values[0], 1e-300) * 1e-12
	points := make(plotter.XYs, m)
	for i, l := range values {
		points[i] = plotter.XY{X: float64(i + 1), Y: math.Max(l, floor)}
	}
	p := plot.New()
	p.Title.Text = "eigenvalues"
	if m < n {
		p.Title.Text = fmt.Sprintf("eigenvalues of %d of the samples", m)
	}
	p.X.Label.Text = "number"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, figure.LogTicks{}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = figure.Color(1), vg.Points(1.5)
	p.Add(plotter.NewGrid(), line)
	p.X.Min = 0
	// If both ends are equal, package plot extends the range to 0, which has no logarithm.
	p.Y.Min, p.Y.Max = figure.LogRange(p.Y.Min, math.Min(p.Y.Max, 1e300))
	if p.Y.Min == p.Y.Max {
		p.Y.Min, p.Y.Max = p.Y.Min/2, 2*p.Y.Max
	}
	return p, nil
}
