package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/bytesize"
	"github.com/gpk-go/gpk/quantum"
)

// gramFlags holds the flags of the command.
type gramFlags struct {
	x, y, out, plot    string
	circuit, embedding string
	weights            string
	layers             int
	reupload           bool
	scale              float64
	seed               uint64
	precision, path    string
	normalize          bool
	jitter             float64
	budget             string
	tile               int
	device             string
	seeded             bool // -seed was given
	shard              string
	subject            string // the flag that sets the features, for errors
}

// gram computes a kernel matrix from .npy files.
func gram(ctx context.Context, args []string, std streams) error {
	var f gramFlags
	fs := flag.NewFlagSet("gram", flag.ContinueOnError)
	fs.StringVar(&f.x, "x", "", "samples, a .npy `file` [samples, features] of float32 or float64")
	fs.StringVar(&f.y, "y", "", "samples of the columns, a .npy `file`; without it K is symmetric")
	fs.StringVar(&f.out, "out", "K.npy", "where K goes, a .npy `file`; it need not fit into memory")
	fs.StringVar(&f.plot, "plot", "", "a heat map of K, with the spectrum if K is symmetric: a .png, .svg or .pdf `file`")
	fs.StringVar(&f.shard, "shard", "", "compute part `i/n` of K, i from 0: for job arrays on a shared file system. The same command continues a run that ended early")
	fs.StringVar(&f.device, "device", "", "cpu, cuda or cuda:1; otherwise the first GPU that works, else the CPU; for several ranks, the CPU, and with cuda the GPU of each local rank")
	f.kernelFlags(fs)
	if err := parseFlags(fs, args, std); err != nil {
		return err
	}
	o, err := f.options(fs)
	if err == nil {
		err = f.checkFiles()
	}
	if err == nil {
		err = f.checkOverwrites()
	}
	if err == nil {
		o.Shard, err = f.parts()
	}
	if err != nil {
		return usageError{err}
	}
	f.subject = "-x " + f.x
	return f.launch(ctx, std, o)
}

// kernelFlags defines the flags of a kernel, without those of its samples.
func (f *gramFlags) kernelFlags(fs *flag.FlagSet) {
	fs.StringVar(&f.circuit, "circuit", "basic", "basic, z or zz: a qubit for each feature")
	fs.IntVar(&f.layers, "layers", 2, "layers of circuit basic, or repetitions of z and zz")
	fs.StringVar(&f.embedding, "embedding", "ryrz", "gates by which circuit basic embeds a feature: ry or ryrz")
	fs.BoolVar(&f.reupload, "reupload", false, "embed again before every layer of basic; without it no weight changes K")
	fs.Float64Var(&f.scale, "scale", 1, "features are multiplied by it")
	fs.StringVar(&f.weights, "weights", "", "weights of circuit basic, a .npy `file` [layers, features]; without it they are drawn from -seed")
	fs.Uint64Var(&f.seed, "seed", 42, "seed of the weights of circuit basic, which are uniform in [0, 2 pi) unless -weights gives them")
	fs.StringVar(&f.precision, "precision", "standard", "standard, fast or double: an error of an entry of at most 5e-6, 2e-3 or 1e-12")
	fs.StringVar(&f.path, "path", "auto", "auto, product or general")
	fs.BoolVar(&f.normalize, "normalize", false, "divide each entry by the square roots of its two diagonal entries")
	fs.Float64Var(&f.jitter, "jitter", 0, "added to the diagonal")
	fs.StringVar(&f.budget, "budget", "", "most memory to use, for example 4GiB (default: 0.85 of what is free)")
	fs.IntVar(&f.tile, "tile", 0, "states of a pair of blocks; 0 chooses")
}

// matrix computes K, or this rank's part of it.
func (f *gramFlags) matrix(ctx context.Context, std streams, o quantum.Options) error {
	if f.device != "" {
		d, err := device.Open(f.device)
		if err != nil {
			return fmt.Errorf("-device: %w", err)
		}
		defer device.SetDefault(device.SetDefault(d))
	}
	x, y, err := f.samples(ctx)
	if err != nil {
		return err
	}
	c, err := f.build(ctx, x.Shape()[1])
	if err != nil {
		return err
	}
	return f.compute(ctx, std, c, x, y, o)
}

// options returns the options of quantum.Gram. It checks all flags except the names of files.
func (f *gramFlags) options(fs *flag.FlagSet) (o quantum.Options, err error) {
	fs.Visit(func(g *flag.Flag) { f.seeded = f.seeded || g.Name == "seed" })
	o.Normalize, o.Jitter, o.Tile = f.normalize, f.jitter, f.tile
	pick := func(flag, value string, names []string, set func(int)) {
		for i, n := range names {
			if strings.EqualFold(n, value) {
				set(i)
				return
			}
		}
		if err == nil {
			err = fmt.Errorf("-%s %q is not one of %s", flag, value, strings.Join(names, ", "))
		}
	}
	pick("precision", f.precision, []string{"standard", "fast", "double"}, func(i int) {
		o.Precision = []quantum.Precision{quantum.Standard, quantum.Fast, quantum.Double}[i]
	})
	pick("path", f.path, []string{"auto", "product", "general"}, func(i int) {
		o.Path = []quantum.Path{quantum.Auto, quantum.Product, quantum.General}[i]
	})
	pick("circuit", f.circuit, []string{"basic", "z", "zz"}, func(int) {})
	pick("embedding", f.embedding, []string{"ry", "ryrz"}, func(int) {})
	if err == nil {
		err = f.checkValues()
	}
	if err == nil && f.budget != "" {
		if o.MemoryBudget, err = bytesize.Parse(f.budget); err != nil {
			err = fmt.Errorf("-budget: %w", err)
		}
	}
	return o, err
}

// checkValues checks the flags that are not one of a list of names.
func (f *gramFlags) checkValues() error {
	switch {
	case f.layers < 1:
		return fmt.Errorf("-layers %d: want 1 or more", f.layers)
	case f.scale == 0 || math.IsNaN(f.scale) || math.IsInf(f.scale, 0):
		return fmt.Errorf("-scale %v: want a finite number other than 0", f.scale)
	case f.tile < 0:
		return fmt.Errorf("-tile %d: want a number of states for a pair of blocks, or 0 for the default", f.tile)
	case !(f.jitter >= 0) || math.IsInf(f.jitter, 1):
		return fmt.Errorf("-jitter %v: want a finite number of at least 0; it is added to the diagonal of K", f.jitter)
	}
	return f.checkWeights()
}

// checkFiles checks the names of files.
func (f *gramFlags) checkFiles() error {
	switch {
	case f.x == "":
		return errors.New("-x is missing: name the file of the samples")
	case f.out == "":
		return errors.New("-out is missing: name the file for K")
	case f.plot != "":
		return plotFormat(f.plot)
	}
	return nil
}

// checkWeights checks that the weights fit the other flags.
func (f *gramFlags) checkWeights() error {
	switch {
	case f.weights != "" && f.seeded:
		return errors.New("-weights and -seed exclude each other")
	case f.weights != "" && !strings.EqualFold(f.circuit, "basic"):
		return fmt.Errorf("-weights are for -circuit basic, not %s", f.circuit)
	}
	return nil
}

// checkOverwrites returns an error if -out or -plot names a file that is read, or both name the same file.
func (f *gramFlags) checkOverwrites() error {
	type file struct{ flag, path string }
	others := []file{{"x", f.x}, {"y", f.y}, {"weights", f.weights}}
	for _, w := range []file{{"out", f.out}, {"plot", f.plot}} {
		for _, r := range others {
			if sameFile(w.path, r.path) {
				return fmt.Errorf("-%s %s would overwrite -%s %s", w.flag, w.path, r.flag, r.path)
			}
		}
		others = append(others, w)
	}
	return nil
}

// sameFile reports whether two names denote the same file, which need not exist.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	s, errS := os.Stat(a)
	t, errT := os.Stat(b)
	if errS == nil && errT == nil {
		return os.SameFile(s, t)
	}
	a, errS = filepath.Abs(a)
	b, errT = filepath.Abs(b)
	return errS == nil && errT == nil && a == b
}

// withoutSite removes every outer *gpk.OpError from an error of the library, because it names a source
// line of this program.
func withoutSite(err error) error {
	for {
		op, ok := err.(*gpk.OpError) //nolint:errorlint // an error that wraps an OpError adds its own text
		if !ok {
			return err
		}
		err = op.Err
	}
}

// explain adds to an error of quantum.Gram the flags of the command line that caused it.
func (f *gramFlags) explain(err error) error {
	err = withoutSite(err)
	var path *os.PathError
	switch {
	case errors.As(err, &path): // path names a temporary file, so name the user's file
		return fmt.Errorf("%s: writing K: %w", f.out, path.Err)
	case errors.Is(err, gpk.ErrOutOfMemory) && f.budget != "":
		return fmt.Errorf("-budget %s: %w", f.budget, err)
	case errors.Is(err, gpk.ErrUnsupported) && strings.EqualFold(f.path, "product"):
		return fmt.Errorf("-path %s -circuit %s: %w", f.path, f.circuit, err)
	case errors.Is(err, gpk.ErrUnsupported):
		return fmt.Errorf("%s -circuit %s: %w", f.subject, f.circuit, err)
	case errors.Is(err, gpk.ErrNonFinite) && f.y != "":
		return fmt.Errorf("-x %s -y %s: %w", f.x, f.y, err)
	case errors.Is(err, gpk.ErrNonFinite):
		return fmt.Errorf("-x %s: %w", f.x, err)
	}
	return err
}

// replaceable returns an error if -out or -plot names an existing folder or device.
func (f *gramFlags) replaceable() error {
	for _, name := range []string{f.out, f.plot} {
		if info, err := os.Stat(name); name != "" && err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: it exists and is not a regular file", name)
		}
	}
	return nil
}

// compute writes K to a temporary file and renames the file when it is complete.
func (f *gramFlags) compute(ctx context.Context, std streams, c *quantum.Circuit, x, y *gpk.Array, o quantum.Options) (err error) {
	// The z and zz circuits have no scale, so -scale multiplies the samples.
	if !strings.EqualFold(f.circuit, "basic") && f.scale != 1 {
		x = scaled(x, f.scale)
		if y != nil {
			y = scaled(y, f.scale)
		}
	}
	if err := f.replaceable(); err != nil {
		return err
	}
	if f.plot != "" {
		if err := f.plottable(x, y); err != nil {
			return err
		}
	}
	if o.Group != nil || o.Shard.Of > 0 {
		return f.computePart(ctx, std, c, x, y, o)
	}
	file, err := beside("out", f.out)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // it no longer exists after the rename
	defer file.Close()
	o.Output = file
	bar := newBar(std.err, "entries")
	o.Progress = func(p quantum.Progress) { bar.update(p.Done, p.Total, p.Elapsed) }
	r, err := quantum.Gram(ctx, c, x, y, o)
	bar.end()
	if err != nil {
		return f.explain(err)
	}
	fmt.Fprint(std.out, r.Plan)
	fmt.Fprint(std.out, r.Report)
	if err := errors.Join(file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", f.out, err)
	}
	if err := os.Rename(file.Name(), f.out); err != nil {
		return err
	}
	fmt.Fprintln(std.out, f.out)
	return f.draw(std, o, r, y == nil)
}

// draw plots K. It reads K from its file.
func (f *gramFlags) draw(std streams, o quantum.Options, r *quantum.Result, symmetric bool) error {
	if f.plot == "" {
		return nil
	}
	// K is kept even if the plot cannot be made.
	if err := plotKernel(f.plot, f.out, kernelType(o.Precision), r.Plan.Samples[0], r.Plan.Samples[1], symmetric); err != nil {
		var path *os.PathError
		if errors.As(err, &path) { // its path is a temporary file
			err = path.Err
		}
		return fmt.Errorf("-plot %s: %w", f.plot, err)
	}
	fmt.Fprintln(std.out, f.plot)
	return nil
}

// beside creates a file in the folder of the file that a flag names.
func beside(flag, name string) (*os.File, error) {
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-")
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) { // its path is a temporary file
			err = path.Err
		}
		return nil, fmt.Errorf("-%s %s: %w", flag, name, err)
	}
	return file, nil
}

// plottable returns, before K is computed, the error with which a plot of K would fail.
func (f *gramFlags) plottable(x, y *gpk.Array) error {
	if y == nil {
		y = x
	}
	if rows, cols := x.Shape()[0], y.Shape()[0]; rows == 0 || cols == 0 {
		return fmt.Errorf("-plot %s: %w: a plot of a matrix of %d x %d", f.plot, gpk.ErrShape, rows, cols)
	}
	probe, err := beside("plot", f.plot)
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// kernelType returns the element type of a kernel matrix.
func kernelType(p quantum.Precision) gpk.DType {
	if p == quantum.Double {
		return gpk.Float64
	}
	return gpk.Float32
}
