package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/nvrtc"
	sources "github.com/gpk-go/gpk/quantum/kernels"
)

// defaultDevice returns the name of the device that programs use by default, or the error
// that they get.
func defaultDevice() (string, error) {
	old := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the reasons are printed elsewhere
	defer slog.SetDefault(old)
	d := device.Default()
	return d.String(), d.Err()
}

// info prints the devices, the kernel library and the kernels.
func info(_ context.Context, args []string, std streams) error {
	fs := flag.NewFlagSet("info", flag.ContinueOnError)
	kernels := fs.Bool("kernels", false, "list every kernel")
	if err := parseFlags(fs, args, std); err != nil {
		return err
	}
	cuda := "with CUDA parts"
	if err := cutlass.Built(); err != nil {
		cuda = err.Error()
	}
	fmt.Fprintf(std.out, "program\n  %s, %s/%s, %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, cuda)
	fmt.Fprintln(std.out, "devices")
	for _, d := range device.List() {
		fmt.Fprintf(std.out, "  %v\n", d)
	}
	name, err := defaultDevice()
	if err != nil {
		name = fmt.Sprintf("none, and programs fail: %v", err)
	}
	fmt.Fprintf(std.out, "default device\n  %s\n", name)
	cache, err := cutlass.CacheDir()
	if err != nil {
		cache = err.Error()
	}
	fmt.Fprintf(std.out, "cache\n  %s\n", cache)
	lib, err := cutlass.Open(cutlass.OpenOptions{Logger: slog.New(slog.DiscardHandler)}) // errors are printed below
	fmt.Fprintln(std.out, "kernel library")
	printLibrary(std.out, lib, err)
	fmt.Fprintln(std.out, "run-time compiler")
	printCompiler(std.out)
	fmt.Fprintln(std.out, "kernels")
	printKernels(std.out, lib, *kernels)
	return nil
}

func printLibrary(out io.Writer, lib *cutlass.Library, err error) {
	if err != nil {
		missing, ok := errors.AsType[*cutlass.NotFoundError](err)
		if !ok {
			fmt.Fprintf(out, "  none: %v\n", err)
			return
		}
		fmt.Fprintf(out, "  none; to build it: %s\n", invocation("setup"))
		for _, a := range missing.Tried {
			fmt.Fprintf(out, "  %v\n", a)
		}
		return
	}
	s := lib.Describe()
	fmt.Fprintf(out, "  %s\n  ABI %d, kernel set %s, CUDA %s (driver %d or newer), for %s, %.1f MB\n", lib.Path(), s.ABI, lib.KernelSet(),
		cudaVersion(lib.CUDAVersion()), cutlass.MinDriver(lib.CUDAVersion()), strings.Join(s.Archs, " "), float64(s.Size)/1e6)
	if lib.KernelSet() != cutlass.KernelSetHash() {
		fmt.Fprintf(out, "  this program's kernel set is %s: %s builds it\n", cutlass.KernelSetHash(), invocation("setup"))
	}
	for _, name := range cutlass.Companions() {
		if _, err := lib.OpenCompanion(name); err != nil { //nolint:staticcheck // in a build without CUDA it always fails
			fmt.Fprintf(out, "  %s cannot be used: %v\n", cutlass.CompanionLibrary(name), err)
		} else {
			fmt.Fprintf(out, "  with %s\n", cutlass.CompanionLibrary(name))
		}
	}
	for _, a := range lib.Tried()[:len(lib.Tried())-1] {
		fmt.Fprintf(out, "  passed over: %v\n", a)
	}
}

// printCompiler prints the library that compiles chains of operations and users' kernels.
func printCompiler(out io.Writer) {
	path, version, err := deviceapi.RuntimeCompiler()
	missing, ok := errors.AsType[*nvrtc.Error](err)
	switch {
	case err == nil:
		fmt.Fprintf(out, "  NVRTC %s, %s\n", version, path)
	case ok && missing.Err == nil:
		fmt.Fprintln(out, "  none; on a GPU, chains of operations run one operation at a time")
		for _, a := range missing.Tried {
			fmt.Fprintf(out, "  %v\n", a)
		}
	default:
		fmt.Fprintf(out, "  none: %v\n", err)
	}
}

// cudaVersion formats CUDART_VERSION in the usual form: 13.0.
func cudaVersion(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// printKernels prints the manifest, one unit or kernel a line, and whether the library
// contains it. lib may be nil.
func printKernels(out io.Writer, lib *cutlass.Library, each bool) {
	has := func(k cutlass.Kernel) bool {
		if lib == nil {
			return false
		}
		_, ok := lib.KernelIndex(k.Name)
		return ok
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer w.Flush()
	if each {
		fmt.Fprintln(w, "  kernel\tunit\ttensor cores\there")
	} else {
		fmt.Fprintln(w, "  unit\tfor\tkernels\there\tmath\ttile\tschedule")
	}
	for _, u := range slices.Concat(cutlass.Units(), sources.Companion().Units()) {
		here := 0
		var math, tile, schedule []string
		for _, k := range u.Kernels {
			if has(k) {
				here++
			}
			math, schedule = appendNew(math, k.Math), appendNew(schedule, k.Schedule)
			tile = appendNew(tile, fmt.Sprintf("%dx%dx%d", k.Tile[0], k.Tile[1], k.Tile[2]))
			if each {
				fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", k.Name, u.Name, yes(k.TensorCore), yes(has(k)))
			}
		}
		if !each {
			target := map[int]string{0: "all", 80: "80 86 89", 90: "90a"}[u.SM]
			fmt.Fprintf(w, "  %s\t%s\t%d\t%d\t%s\t%s\t%s\n", u.Name, target, len(u.Kernels), here,
				strings.Join(math, " "), strings.Join(tile, " "), strings.Join(schedule, " "))
		}
	}
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
