package main

import (
	"bytes"
	"context"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/interop/npy"
	"github.com/gpk-go/gpk/quantum"
)

// gramFolder has samples and weights in .npy files.
func gramFolder(t *testing.T) string {
	t.Helper()
	devicetest.DefaultCPU(t)
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	write := func(name string, n, m int) {
		v := make([]float64, n*m)
		for i := range v {
			v[i] = rng.Float64() * math.Pi
		}
		if err := npy.WriteFile(filepath.Join(dir, name), gpk.FromSlice(v, n, m)); err != nil {
			t.Fatal(err)
		}
	}
	write("x.npy", 60, 4)
	write("y.npy", 7, 4)
	write("w.npy", 3, 4)
	write("wide.npy", 5, 9)
	write("empty.npy", 0, 4)
	for name, a := range map[string]*gpk.Array{
		"int.npy": gpk.Ones(gpk.Int32, 2, 2), "vector.npy": gpk.Ones(gpk.Float32, 4),
		"nan.npy": gpk.FromSlice([]float64{1, 2, 3, math.NaN()}, 1, 4), "large.npy": gpk.FromSlice([]float64{1e300, 2, 3, 4}, 1, 4),
	} {
		if err := npy.WriteFile(filepath.Join(dir, name), a); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "x.npy"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cut.npy"), text[:len(text)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestGram(t *testing.T) {
	dir := gramFolder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	x, err := npy.ReadFile(in("x.npy"))
	if err != nil {
		t.Fatal(err)
	}
	weights := func(v []float64, err error) (rows [][]float64) {
		if err != nil {
			t.Fatal(err)
		}
		for ; len(v) > 0; v = v[4:] {
			rows = append(rows, v[:4])
		}
		return rows
	}
	w, err := npy.ReadFile(in("w.npy"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want *quantum.Circuit
		o    quantum.Options
	}{
		{"-circuit zz -layers 1", quantum.ZZFeatureMap(4, 1), quantum.Options{}},
		{"-circuit z", quantum.ZFeatureMap(4, 2), quantum.Options{}},
		{"-reupload -precision double -weights " + in("w.npy"), quantum.BasicEntangler(weights(gpk.ToSlice[float64](w)), quantum.EntanglerOptions{Embedding: quantum.RYRZ, Reupload: true}), quantum.Options{Precision: quantum.Double}},
		{"-embedding ry -scale 0.5 -normalize -jitter 0.25", quantum.BasicEntangler([][]float64{make([]float64, 4)}, quantum.EntanglerOptions{Scale: 0.5}), quantum.Options{Normalize: true, Jitter: 0.25}},
	} {
		for _, rectangular := range []bool{false, true} {
			args := append([]string{"gram", "-x", in("x.npy"), "-out", in("k.npy")}, strings.Fields(c.args)...)
			var y *gpk.Array
			if rectangular {
				args = append(args, "-y", in("y.npy"))
				if y, err = npy.ReadFile(in("y.npy")); err != nil {
					t.Fatal(err)
				}
			}
			var out, errs bytes.Buffer
			if status := run(context.Background(), args, streams{&out, &errs}); status != 0 {
				t.Fatalf("%v: status %d\n%s", args, status, &errs)
			}
			r, err := quantum.Gram(context.Background(), c.want, x, y, c.o)
			if err != nil {
				t.Fatal(err)
			}
			k, err := npy.ReadFile(in("k.npy"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := gpk.ToSlice[float64](k.Cast(gpk.Float64))
			if err != nil {
				t.Fatal(err)
			}
			want, err := gpk.ToSlice[float64](r.K.Cast(gpk.Float64))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(k.Shape(), r.K.Shape()) || !slices.Equal(got, want) {
				t.Errorf("%v: K differs from what the package computes", args)
			}
			for _, text := range []string{"path ", "pairs", in("k.npy")} {
				if !strings.Contains(out.String(), text) {
					t.Errorf("%v: the output lacks %q:\n%s", args, text, &out)
				}
			}
			if !strings.Contains(errs.String(), "100 % of") {
				t.Errorf("%v: no progress:\n%s", args, &errs)
			}
		}
	}
}

func TestGramPlot(t *testing.T) {
	dir := gramFolder(t)
	for _, y := range []string{"", "y.npy"} {
		for _, name := range []string{"k.png", "k.svg", "k.pdf"} {
			args := []string{"gram", "-x", filepath.Join(dir, "x.npy"), "-out", filepath.Join(dir, "k.npy"), "-plot", filepath.Join(dir, name)}
			if y != "" {
				args = append(args, "-y", filepath.Join(dir, y))
			}
			var out, errs bytes.Buffer
			if status := run(context.Background(), args, streams{&out, &errs}); status != 0 {
				t.Fatalf("%v: %s", args, &errs)
			}
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if name != "k.png" {
				continue
			}
			picture, err := png.Decode(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			// Blue of the heat map and its bar, and twice as wide with a spectrum.
			b, blue := picture.Bounds(), 0
			for x := range b.Dx() {
				for y := range b.Dy() {
					if r, _, bl, _ := picture.At(x, y).RGBA(); bl > r+0x2000 {
						blue++
					}
				}
			}
			if wide := 2*b.Dx() > 3*b.Dy(); wide != (y == "") || blue < 1000 {
				t.Errorf("-y %q: %v, %d blue points", y, b, blue)
			}
		}
	}
}

// TestGramPlotFlat: one sample, and samples that are one another's equal or orthogonal,
// have spectra of one value.
func TestGramPlotFlat(t *testing.T) {
	dir := gramFolder(t)
	for name, x := range map[string][]float64{"one": {1}, "orthogonal": {0, math.Pi}} {
		in := filepath.Join(dir, name+".npy")
		if err := npy.WriteFile(in, gpk.FromSlice(x, len(x), 1)); err != nil {
			t.Fatal(err)
		}
		for _, jitter := range []string{"0", "1e308"} {
			plot := filepath.Join(dir, name+".png")
			var out, errs bytes.Buffer
			args := []string{"gram", "-x", in, "-embedding", "ry", "-precision", "double", "-jitter", jitter, "-out", filepath.Join(dir, "k.npy"), "-plot", plot}
			if status := run(context.Background(), args, streams{&out, &errs}); status != 0 {
				t.Fatalf("%v: %s", args, &errs)
			}
			text, err := os.ReadFile(plot)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := png.Decode(bytes.NewReader(text)); err != nil {
				t.Errorf("%s: %v", plot, err)
			}
		}
	}
}

// TestGramOverwrites checks that no input file is overwritten under any of its names.
func TestGramOverwrites(t *testing.T) {
	dir := gramFolder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	linked := os.Link(in("x.npy"), in("link.npy"))
	if err := os.Rename(in("y.npy"), in("y.png")); err != nil {
		t.Fatal(err)
	}
	before := map[string][]byte{}
	for _, name := range []string{"x.npy", "y.png", "w.npy"} {
		text, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		before[name] = text
	}
	cases := map[string]string{
		"-out " + in("x.npy"):       "-x ",
		"-out " + dir + "/./x.npy":  "-x ",
		"-out " + in("y.png"):       "-y ",
		"-out " + in("w.npy"):       "-weights ",
		"-plot " + in("y.png"):      "-y ",
		"-out k.png -plot ./k.png":  "-out ",
		"-out " + dir + "/no/x.npy": "-out ",
	}
	if linked == nil { // some file systems have no links
		cases["-out "+in("link.npy")] = "-x "
	}
	for args, want := range cases {
		var out, errs bytes.Buffer
		all := append([]string{"gram", "-x", in("x.npy"), "-y", in("y.png"), "-weights", in("w.npy")}, strings.Fields(args)...)
		if status := run(context.Background(), all, streams{&out, &errs}); status == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: status %d, %s", args, status, &errs)
		}
	}
	for name, text := range before {
		if now, err := os.ReadFile(in(name)); err != nil || !bytes.Equal(now, text) {
			t.Errorf("%s was written, %v", name, err)
		}
	}
}

// TestGramErrors checks that each error is one sentence with the right exit status, and that
// no file is written.
func TestGramErrors(t *testing.T) {
	dir := gramFolder(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"", 2, "-x is missing"},
		{"-x " + in("x.npy") + " extra", 2, "extra"},
		{"-x " + in("x.npy") + " -circuit qft", 2, `"qft" is not one of basic, z, zz`},
		{"-x " + in("x.npy") + " -precision half", 2, `"half"`},
		{"-x " + in("x.npy") + " -path shortest", 2, `"shortest"`},
		{"-x " + in("x.npy") + " -embedding rx", 2, `"rx"`},
		{"-x " + in("x.npy") + " -layers 0", 2, "-layers 0"},
		{"-x " + in("x.npy") + " -scale 0", 2, "-scale 0"},
		{"-x " + in("x.npy") + " -weights a.npy -seed 1", 2, "exclude each other"},
		{"-x " + in("x.npy") + " -weights a.npy -circuit zz", 2, "-circuit basic"},
		{"-x " + in("x.npy") + " -plot k.bmp", 2, "k.bmp"},
		{"-x " + in("x.npy") + " -budget much", 2, "-budget: "},
		{"-x " + in("absent.npy"), 1, "absent.npy"},
		{"-x " + in("cut.npy"), 1, "cut.npy: npy: not a .npy file, or damaged"},
		{"-x " + in("int.npy"), 1, "int32"},
		{"-x " + in("vector.npy"), 1, "[samples, features]"},
		{"-x " + in("nan.npy"), 1, "gpk gram: -x " + in("nan.npy") + ": "},
		{"-x " + in("nan.npy"), 1, "x[0, 3] is NaN"},
		{"-x " + in("x.npy") + " -y " + in("nan.npy"), 1, "-y " + in("nan.npy") + ": "},
		{"-x " + in("x.npy") + " -y " + in("nan.npy"), 1, "y[0, 3] is NaN"},
		{"-x " + in("large.npy") + " -scale 1e300", 1, "overflows for row 0"},
		{"-x " + in("x.npy") + " -weights " + in("nan.npy"), 1, "gpk gram: -weights " + in("nan.npy") + ": "},
		{"-x " + in("x.npy") + " -weights " + in("wide.npy"), 1, "[layers, 4]"},
		{"-x " + in("wide.npy") + " -y " + in("x.npy"), 1, in("x.npy") + ": "},
		{"-x " + in("x.npy") + " -y " + in("wide.npy"), 1, "9 features, " + in("x.npy") + " has 4"},
		{"-x " + in("x.npy") + " -budget 256 -circuit zz", 1, "gpk gram: -budget 256: "},
		{"-x " + in("x.npy") + " -budget 256 -circuit zz", 1, "the budget is 256"},
		{"-x " + in("x.npy") + " -circuit zz -path product", 1, "gpk gram: -path product -circuit zz: "},
		{"-x " + in("x.npy") + " -tile -4", 2, "-tile -4"},
		{"-x " + in("x.npy") + " -jitter -1", 2, "-jitter -1"},
		{"-x " + in("x.npy") + " -jitter NaN", 2, "-jitter NaN"},
		{"-x " + in("x.npy") + " -jitter 1e300", 1, "a float32 K cannot hold"},
		{"-x " + in("x.npy") + " -layers 99999999999", 1, "gpk gram: -layers 99999999999: "},
		{"-x " + in("x.npy") + " -layers 1000000 -circuit basic", 1, "-layers 1000000: "},
		{"-x " + in("x.npy") + " -layers 99999999999 -circuit zz", 1, "-layers 99999999999: "},
		{"-x " + in("x.npy") + " -plot " + in("no/k.png"), 1, "gpk gram: -plot " + in("no/k.png") + ": "},
		{"-x " + in("empty.npy") + " -plot " + in("k.png"), 1, "gpk gram: -plot " + in("k.png") + ": "},
	} {
		var out, errs bytes.Buffer
		args := append([]string{"gram", "-out", in("k.npy")}, strings.Fields(c.args)...)
		if status := run(context.Background(), args, streams{&out, &errs}); status != c.status || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: status %d, want %d: %s\nwant %q", c.args, status, c.status, &errs, c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%s: it was computed first: %s", c.args, &out)
		}
		if strings.Contains(errs.String(), ".go:") {
			t.Errorf("%s: names a line of gpk: %s", c.args, &errs)
		}
	}
	var out, errs bytes.Buffer
	if status := run(context.Background(), []string{"gram", "-x", in("x.npy"), "-out", filepath.Join(dir, "no", "k.npy")}, streams{&out, &errs}); status != 1 || !strings.Contains(errs.String(), "-out "+filepath.Join(dir, "no", "k.npy")+": ") {
		t.Errorf("written into no folder: %s", &errs)
	}
	for _, name := range []string{os.DevNull, dir} {
		errs.Reset()
		if status := run(context.Background(), []string{"gram", "-x", in("x.npy"), "-out", name}, streams{&out, &errs}); status != 1 || !strings.Contains(errs.String(), "not a regular file") {
			t.Errorf("-out %s: status %d, %s", name, status, &errs)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if status := run(ctx, []string{"gram", "-x", in("x.npy"), "-out", in("k.npy")}, streams{&out, &errs}); status != 1 {
		t.Error("a context that has ended changes nothing")
	}
	if after, _ := os.ReadDir(dir); len(after) != len(before) {
		t.Errorf("left behind: %v", after)
	}
	// What is there stays.
	if err := os.WriteFile(in("k.npy"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(context.Background(), []string{"gram", "-x", in("nan.npy"), "-out", in("k.npy")}, streams{&out, &errs})
	if text, err := os.ReadFile(in("k.npy")); err != nil || string(text) != "old" {
		t.Errorf("the old file is %q, %v", text, err)
	}
}

func TestBar(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&out, "entries")
	b.terminal = true
	for i := range int64(11) {
		b.last = time.Time{}
		b.update(i*10, 100, time.Duration(i)*time.Second)
	}
	b.end()
	for _, want := range []string{"[...", "50 %, 5s, about 5s left", "[##############################] 100 %", "\r\x1b[K"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the bar lacks %q: %q", want, out.String())
		}
	}
	out.Reset()
	newBar(&out, "entries").update(0, 0, 0)
	if out.Len() > 0 {
		t.Errorf("nothing to do, and %q", &out)
	}
	if err := plotFormat("k.PNG"); err != nil {
		t.Error(err)
	}
}

// TestGramPlotScale: the colors of a symmetric matrix span what is off the diagonal, cells of
// several entries too; those of another matrix all of it.
func TestGramPlotScale(t *testing.T) {
	for _, n := range []int{3, 2 * maxCells} {
		for _, symmetric := range []bool{true, false} {
			g := newGrid(n, n, symmetric)
			row := make([]float64, n)
			for i := range n {
				for j := range n {
					row[j] = 0.002
					if (i+j)%2 == 1 || n > 3 {
						row[j] = 0.006
					}
					if i == j {
						row[j] = 1
					}
				}
				g.add(i, row)
			}
			low, high := g.limits()
			want := 0.006
			if !symmetric {
				want = map[bool]float64{true: 1, false: (2 + 2*0.006) / 4}[n == 3]
			}
			if n > 3 && symmetric { // all cells are equal, and the scale has room around them
				if !(low < want && want < high && high < 0.01) {
					t.Errorf("n = %d: from %v to %v", n, low, high)
				}
				continue
			}
			if math.Abs(high-want) > 1e-12 || low >= high {
				t.Errorf("n = %d, symmetric %v: from %v to %v, want up to %v", n, symmetric, low, high, want)
			}
		}
	}
}
