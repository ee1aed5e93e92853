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
	"github.com/gpk-go/gpk/interop/npy"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// plotFormats are the endings that a plot's name may have.
var plotFormats = []string{".png", ".svg", ".pdf"}

func plotFormat(path string) error {
	if !slices.Contains(plotFormats, strings.ToLower(filepath.Ext(path))) {
		return fmt.Errorf("-plot %s: the name ends in none of %s", path, strings.Join(plotFormats, ", "))
	}
	return nil
}

// Limits of what is drawn: more cannot be seen, or takes minutes.
const (
	maxCells       = 400
	maxEigenvalues = 1000
)

// plotKernel draws the matrix of a .npy file, rows by cols of dt: a heat map,
// whose cells are means where the matrix is large, and, if it is symmetric, its
// spectrum. Of more than 1,000 samples the spectrum is that of 1,000, evenly
// chosen. The matrix is read row by row: it need not fit into memory.
func plotKernel(path, file string, dt gpk.DType, rows, cols int, symmetric bool) error {
	if rows == 0 || cols == 0 {
		return fmt.Errorf("%w: a plot of a matrix of %d x %d", gpk.ErrShape, rows, cols)
	}
	g := newGrid(rows, cols)
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
	heat.Y.Scale = plot.InvertedScale{Normalizer: plot.LinearScale{}} // row 0 on top
	heat.Add(plotter.NewHeatMap(g, blues{}))
	plots := []*plot.Plot{heat}
	if symmetric {
		p, err := spectrum(part, rows)
		if err != nil {
			return err
		}
		plots = append(plots, p)
	}
	w, h := vg.Length(len(plots))*5*vg.Inch, 5*vg.Inch
	canvas, err := draw.NewFormattedCanvas(w, h, strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."))
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	for i, p := range plots {
		part := w / vg.Length(len(plots))
		p.Draw(draw.Crop(all, vg.Length(i)*part, vg.Length(i+1)*part-w, 0, 0))
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

// grid is a matrix as cells; a cell is the mean of its entries.
type grid struct {
	sums, counts []float64
	rows, cols   int
	of           [2]int // rows and columns of the matrix
}

func newGrid(rows, cols int) *grid {
	g := &grid{rows: min(rows, maxCells), cols: min(cols, maxCells), of: [2]int{rows, cols}}
	g.sums, g.counts = make([]float64, g.rows*g.cols), make([]float64, g.rows*g.cols)
	return g
}

func (g *grid) add(i int, row []float64) {
	r := i * g.rows / g.of[0]
	for j, v := range row {
		at := r*g.cols + j*g.cols/g.of[1]
		g.sums[at] += v
		g.counts[at]++
	}
}

// Dims, Z, X and Y are plotter.GridXYZ. A heat map needs two cells each way:
// one is shown twice.
func (g *grid) Dims() (c, r int) { return max(g.cols, 2), max(g.rows, 2) }

func (g *grid) Z(c, r int) float64 {
	at := min(r, g.rows-1)*g.cols + min(c, g.cols-1)
	return g.sums[at] / g.counts[at]
}

func (g *grid) X(c int) float64 { return (float64(c) + 0.5) * float64(g.of[1]) / float64(g.cols) }
func (g *grid) Y(r int) float64 { return (float64(r) + 0.5) * float64(g.of[0]) / float64(g.rows) }

// blues runs from white to dark blue.
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

// chosenSamples are the samples whose eigenvalues are drawn.
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
	// What is below rounding would stretch the axis to nothing.
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
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	p.Add(plotter.NewGrid(), line)
	if p.Y.Min == p.Y.Max { // package plot would widen them to 0
		p.Y.Min, p.Y.Max = p.Y.Min/2, math.Min(2*p.Y.Max, math.MaxFloat64)
	}
	return p, nil
}
