package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist"
)

// distCommand implements "gpk dist check", which a launcher starts like a program: every rank
// calls each collective function, and rank 0 prints the results.
func distCommand(ctx context.Context, args []string, std streams) error {
	fs := flag.NewFlagSet("dist", flag.ContinueOnError)
	engine := fs.String("engine", "", "nccl, mpi or tcp; otherwise the first of these that the ranks have")
	timeout := fs.Duration("timeout", time.Minute, "how long to wait for the other ranks")
	most := fs.Int("bytes", 4<<20, "the longest array, in bytes")
	if len(args) > 0 && args[0] == "check" {
		args = args[1:]
	} else if len(args) == 0 || args[0][0] != '-' {
		return usageError{errors.New("the only use is: gpk dist check")}
	}
	if err := parseFlags(fs, args, std); err != nil {
		return err
	}
	if *most < 8 {
		return usageError{fmt.Errorf("-bytes %d: want at least 8", *most)}
	}
	options := []dist.Option{dist.Timeout(*timeout)}
	if *engine != "" {
		options = append(options, dist.Engine(dist.EngineName(*engine)))
	}
	g, err := dist.Join(ctx, options...)
	if err != nil {
		return err
	}
	err = g.Run(ctx, func(ctx context.Context, c *dist.Comm) error { return checkRank(ctx, c, g.Explain(), *most, std.out) })
	return errors.Join(err, g.Close())
}

// checkRank runs the check of one rank.
func checkRank(ctx context.Context, c *dist.Comm, how string, most int, out io.Writer) error {
	if c.Rank() > 0 {
		out = io.Discard
	}
	fmt.Fprintln(out, how)
	if err := listRanks(c, out); err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tbytes\tmicroseconds\tGB/s\t")
	for size := 8; size <= most; size *= 64 {
		if err := timeRanks(ctx, c, size, w); err != nil {
			return err
		}
	}
	return w.Flush()
}

// listRanks prints the host, process and device of every rank.
func listRanks(c *dist.Comm, out io.Writer) error {
	host, err := os.Hostname()
	if err != nil {
		host = err.Error()
	}
	const width = 200
	line := fmt.Sprintf("rank %d  %s, process %d, %v", c.Rank(), host, os.Getpid(), c.Device().Info())
	text := make([]uint8, width)
	copy(text, line)
	all, err := gpk.ToSlice[uint8](c.AllGather(gpk.FromSlice(text).To(c.Device()), 0))
	if err != nil {
		return err
	}
	hosts := map[string]bool{}
	for rank := range c.Size() {
		line := all[rank*width:][:width]
		if end := slices.Index(line, 0); end >= 0 {
			line = line[:end]
		}
		fmt.Fprintf(out, "%s\n", line)
		if fields := strings.Fields(string(line)); len(fields) > 2 {
			hosts[fields[2]] = true
		}
	}
	if len(hosts) > 1 {
		fmt.Fprintf(out, "links: the network between %d hosts\n", len(hosts))
	} else {
		fmt.Fprintln(out, "links: within one host; nvidia-smi topo -m shows those between its GPUs")
	}
	return nil
}

// timeRanks checks the result of each function for an array of size bytes. It prints the
// median time of a call, and the bytes of a rank's array divided by that time.
func timeRanks(ctx context.Context, c *dist.Comm, size int, w io.Writer) error {
	n := (size/4 + c.Size() - 1) / c.Size() * c.Size()
	x := gpk.Full(gpk.Float32, c.Rank()+1, n).To(c.Device())
	sum := float64(c.Size()*(c.Size()+1)) / 2
	for _, f := range []struct {
		name string
		call func() *gpk.Array
		mean float64 // mean of the result's elements
	}{
		{"AllReduce", func() *gpk.Array { return c.AllReduce(x, dist.Sum) }, sum},
		{"AllGather", func() *gpk.Array { return c.AllGather(x, 0) }, sum / float64(c.Size())},
		{"ReduceScatter", func() *gpk.Array { return c.ReduceScatter(x, dist.Sum, 0) }, sum},
		{"Broadcast", func() *gpk.Array { return c.Broadcast(x, 0) }, 1},
		{"AllToAll", func() *gpk.Array { return c.AllToAll(x, 0) }, sum / float64(c.Size())},
	} {
		var took []time.Duration
		for range 9 {
			if err := c.Barrier(ctx); err != nil {
				return err
			}
			began := time.Now()
			y := f.call()
			if err := errors.Join(gpk.Eval(y), gpk.Synchronize(ctx)); err != nil {
				return err
			}
			took = append(took, time.Since(began))
			got, err := gpk.Item[float64](y.Cast(gpk.Float64).Mean())
			if err != nil {
				return err
			}
			if got < f.mean*(1-1e-9) || got > f.mean*(1+1e-9) {
				return fmt.Errorf("%s of %d bytes is wrong: its elements' mean is %v, not %v", f.name, 4*n, got, f.mean)
			}
		}
		slices.Sort(took)
		t := took[len(took)/2]
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.3g\t\n", f.name, 4*n, float64(t)/1e3, float64(4*n)/float64(t))
	}
	return nil
}
