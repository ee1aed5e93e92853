package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/cutlass/setup"
	"github.com/gpk-go/gpk/quantum/kernels"
)

// setupCommand downloads the kernel library from a release, or builds it.
func setupCommand(ctx context.Context, args []string, std streams) error {
	fs := flag.NewFlagSet("setup", flag.ContinueOnError)
	arch := fs.String("arch", "", "`targets`, separated by commas: 80, 86, 89, 90a or all (default: those of the GPUs here, else 90a)")
	units := fs.String("unit", "", "compile only these translation `units`, separated by commas, and link no library")
	wheels := fs.String("wheels", "", "`folder` that has every wheel: no network is used")
	jobs := fs.Int("jobs", 0, fmt.Sprintf("compilers at once (default: a core and 6 GB of memory for each: %d here)", setup.DefaultJobs()))
	nvcc := fs.String("nvcc", "", "the `compiler`, of CUDA 12.4 or newer (default: the one found, else NVIDIA's wheels)")
	with := fs.String("with", "", "install these `libraries` of NVIDIA too, separated by commas: "+strings.Join(setup.Extras(), ", "))
	compile := fs.Bool("compile", false, "compile the kernels even where a release has them prebuilt")
	sass := fs.Bool("check-sass", false, "disassemble the wgmma kernels and check that they are what they should be")
	if err := parseFlags(fs, args, std); err != nil {
		return err
	}
	if *jobs < 0 {
		return usageError{fmt.Errorf("-jobs %d: want 1 or more", *jobs)}
	}
	quantum := kernels.Companion()
	if cutlass.CompanionDigest(quantum.Name) != quantum.Digest() { // the kernel set would name other sources than those that are compiled
		return errors.New("cutlass/companions.txt does not match quantum/kernels; run `go generate ./...` in the checkout")
	}
	opt := setup.Options{WheelsDir: *wheels, Jobs: *jobs, NVCC: *nvcc, Compile: *compile, CheckSASS: *sass, Progress: std.err, Companions: []cutlass.Companion{quantum}}
	if *arch != "" {
		archs, err := setup.ParseArchs(*arch)
		if err != nil {
			return usageError{err}
		}
		opt.Archs = archs
	}
	if *units != "" {
		opt.Units = strings.Split(*units, ",")
	}
	if *with != "" {
		opt.With = strings.Split(*with, ",")
	}
	res, err := setup.Run(ctx, opt)
	if err != nil {
		return err
	}
	if len(res.Units) > 0 {
		printUnits(std, res)
	}
	if res.Library == "" {
		fmt.Fprintf(std.out, "%d objects in %s; no library, as -unit leaves parts out\n", len(res.Units), res.Duration.Round(time.Second/10))
		return nil
	}
	what := "built"
	switch {
	case res.Current:
		what = "was there already"
	case res.Module != "":
		what = "taken from " + res.Module
	}
	fmt.Fprintf(std.out, "%s\n%s: %.1f MB for %s, CUDA %s, kernel set %s, in %s\n", res.Library, what,
		float64(res.Sidecar.Size)/1e6, strings.Join(res.Archs, " "), res.CUDA, res.Sidecar.KernelSet, res.Duration.Round(time.Second/10))
	if cutlass.Built() != nil {
		return nil // this gpk cannot load it, but the program that uses it may be able to
	}
	lib, err := cutlass.Open(cutlass.OpenOptions{
		Candidates: []cutlass.Candidate{{Path: res.Library, From: "just built"}}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	return openCompanions(lib)
}

// openCompanions opens all companions of a library and returns the first error.
func openCompanions(lib *cutlass.Library) error {
	for _, name := range cutlass.Companions() {
		if _, err := lib.OpenCompanion(name); err != nil {
			return err
		}
	}
	return nil
}

func printUnits(std streams, res setup.Result) {
	hgmma := map[string]int{}
	for _, s := range res.SASS {
		if s.HGMMA > 0 {
			hgmma[s.Unit]++
		}
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprint(w, "unit\tkernels\tcompiled in")
	if len(res.SASS) > 0 {
		fmt.Fprint(w, "\twith HGMMA")
	}
	fmt.Fprintln(w)
	for _, u := range res.Units {
		took := "cached"
		if !u.Cached {
			took = fmt.Sprintf("%.1f s", u.Duration.Seconds())
		}
		fmt.Fprintf(w, "%s\t%d\t%s", u.Unit.Name, len(u.Unit.Kernels), took)
		if n, ok := hgmma[u.Unit.Name]; ok {
			fmt.Fprintf(w, "\t%d", n)
		}
		fmt.Fprintln(w)
	}
}
