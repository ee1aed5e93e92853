package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
	"github.com/gpk-go/gpk/quantum"
)

// parts parses -shard.
func (f *gramFlags) parts() (s quantum.Shard, err error) {
	if f.shard == "" {
		return s, nil
	}
	if f.plot != "" {
		return s, errors.New("-plot needs all of K, which a -shard does not have")
	}
	index, of, _ := strings.Cut(f.shard, "/")
	i, wrong := strconv.Atoi(index)
	n, wrong2 := strconv.Atoi(of)
	if wrong != nil || wrong2 != nil || n < 1 || i < 0 || i >= n {
		return s, fmt.Errorf("-shard %s: want i/n with i from 0 to n-1", f.shard)
	}
	return quantum.Shard{Index: i, Of: n}, nil
}

// launch computes K with the other ranks that a launcher has started, or alone. With -device cuda each rank uses the
// GPU of its local rank.
func (f *gramFlags) launch(ctx context.Context, std streams, o quantum.Options) error {
	cpu, err := device.Open("cpu")
	if err != nil {
		return err
	}
	if o.Shard.Of > 0 {
		return f.onCPU(ctx, std, o, cpu)
	}
	d := cpu
	if f.device != "" {
		if d, err = device.Open(f.device); err != nil {
			return fmt.Errorf("-device: %w", err)
		}
	}
	var opts []dist.Option
	if f.device == "cuda" { // if the default device is a GPU, Join chooses the GPU of the local rank
		defer device.SetDefault(device.SetDefault(d))
	} else {
		opts = append(opts, dist.OnDevice(d))
	}
	g, err := dist.Join(ctx, opts...)
	if err != nil {
		return err
	}
	if g.Size() == 1 {
		return errors.Join(g.Close(), f.matrix(ctx, std, o))
	}
	err = g.Run(ctx, func(ctx context.Context, c *dist.Comm) error {
		o, std := o, std
		if o.Group = c; c.Rank() > 0 {
			std = streams{io.Discard, io.Discard}
		}
		mine := *f
		mine.device = ""
		defer device.SetDefault(device.SetDefault(c.Device()))
		return mine.matrix(ctx, std, o)
	})
	return errors.Join(err, g.Close())
}

// onCPU runs matrix on the CPU, unless -device names another device.
func (f *gramFlags) onCPU(ctx context.Context, std streams, o quantum.Options, cpu *device.Device) error {
	if f.device == "" {
		defer device.SetDefault(device.SetDefault(cpu))
	}
	return f.matrix(ctx, std, o)
}

// computePart computes the part of a rank. All ranks write one file, which gets its final name
// when all are done.
func (f *gramFlags) computePart(ctx context.Context, std streams, c *quantum.Circuit, x, y *gpk.Array, o quantum.Options) error {
	o.File = f.out
	first := o.Group == nil || o.Group.Rank() == 0
	bar := newBar(std.err, "entries")
	if first {
		columns := 0
		if y != nil {
			columns = y.Shape()[0]
		}
		if err := f.predict(ctx, std.out, c, x.Shape()[0], columns, x.Device(), o); err != nil {
			return err
		}
		o.Progress = func(p quantum.Progress) { bar.update(p.Done, p.Total, p.Elapsed) }
	}
	r, err := quantum.Gram(ctx, c, x, y, o)
	bar.end() // before anything else is printed on the terminal
	if err != nil {
		return f.explain(err)
	}
	fmt.Fprint(std.out, r.Report)
	if !r.Complete {
		fmt.Fprintf(std.out, "shard %s is done; %s is complete when all shards are\n", f.shard, f.out)
		return nil
	}
	fmt.Fprintln(std.out, f.out)
	if !first {
		return nil
	}
	return f.draw(std, o, r, y == nil)
}

// predict prints the plan of a rank. It measures the rates of this process, and prints the seconds
// that they predict.
func (f *gramFlags) predict(ctx context.Context, out io.Writer, c *quantum.Circuit, n, m int, d *device.Device, o quantum.Options) error {
	p, err := quantum.PlanGram(c, n, m, d.Info(), o)
	if err != nil {
		return f.explain(err)
	}
	fmt.Fprint(out, p)
	file, err := beside("out", f.out)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	o.Output = file
	rates, err := quantum.MeasureRates(ctx, c, d, p, o)
	if err != nil {
		return f.explain(err)
	}
	fmt.Fprintf(out, "here a state takes %.3g us and an entry %.3g ns: predicted %.3g s a rank\n", 1e6*rates.State, 1e9*rates.Pair, p.Seconds(rates))
	if p.Ranks.Rebuilt > 0 {
		fmt.Fprintf(out, "receiving the states that are built again would be faster over links of more than %.3g GB/s\n", p.Link(rates)/1e9)
	}
	return nil
}

// planCommand prints the memory and the seconds of a kernel matrix on a number of ranks.
func planCommand(ctx context.Context, args []string, std streams) error {
	f := gramFlags{out: filepath.Join(os.TempDir(), "K.npy")}
	fs := flag.NewFlagSet("plan", flag.ContinueOnError)
	samples := fs.Int("samples", 0, "samples, the rows of K")
	columns := fs.Int("columns", 0, "samples of the columns of K; 0: those of the rows, so that K is symmetric")
	features := fs.Int("features", 0, "features of a sample; each is a qubit")
	ranks := fs.Int("ranks", 1, "how many ranks share the work, each as fast as this process")
	fs.StringVar(&f.device, "device", "cpu", "the device of each rank: cpu, cuda or cuda:1")
	f.kernelFlags(fs)
	if err := parseFlags(fs, args, std); err != nil {
		return err
	}
	o, err := f.options(fs)
	if err == nil && (*samples < 1 || *features < 1 || *columns < 0 || *ranks < 1) {
		err = fmt.Errorf("-samples %d -columns %d -features %d -ranks %d: all but -columns must be at least 1", *samples, *columns, *features, *ranks)
	}
	if err != nil {
		return usageError{err}
	}
	d, err := device.Open(f.device)
	if err != nil {
		return fmt.Errorf("-device: %w", err)
	}
	f.subject = fmt.Sprint("-features ", *features)
	c, err := f.build(ctx, *features)
	if err != nil {
		return err
	}
	o.File, o.Shard = f.out, quantum.Shard{Of: *ranks}
	return f.predict(ctx, std.out, c, *samples, *columns, d, o)
}
