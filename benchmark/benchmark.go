// Command benchmark measures gpk and checks every result that it times: correctness and
// speed in one run.
//
//	go run ./benchmark -quick                        every precision once, as a table
//	go run ./benchmark -suite gemm,unaligned         Go benchmark lines, for benchstat
//	go run ./benchmark -sizes 2048,4096 -dtypes fp32,tf32,fp16,bf16
//	go run ./benchmark -suite cpu -count 6 -save old.txt
//	go run ./benchmark -suite cpu -count 6 -compare old.txt -threshold 0.05
//	go run ./benchmark -results old.txt -plot roofline.svg
//
// Names and shapes are those of the programs in folder peers, which measure other
// libraries, so that two files of results line up. Inputs are standard normal, from the
// seed that the report states; suite programs has inputs that its peer makes too. On a
// GPU a second of warm-up comes first, buffers rotate over at least 256 MiB, times are
// device events around back-to-back launches, and a call shorter than 50 us is timed in a
// graph of 48; on the CPU they are wall-clock times. Warming up ends once a call needs no
// new memory. A figure is a median of seven samples, or of three where a call takes
// seconds. Every timed call evaluates into memory that is there, but for suite programs,
// whose calls make their arrays.
//
// A figure is printed only if its result was right: outputs start as NaN, and after the
// timing rows of them are compared with a float64 product of the same rounded inputs,
// computed here. A wrong result prints FAIL.
//
// Exit status: 0; 1 after a wrong result, an error or, with -compare, a significant
// regression; 2 after a mistake on the command line.
//
// What belongs here: suites, their clock, their checks and reports. What does not: tests
// of the library, which are in gpktest.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, realLibrary{})) }

// Exit statuses.
const (
	exitOK = iota
	exitFailure
	exitUsage
)

// run runs the program on the library lib.
func run(args []string, stdout, stderr io.Writer, lib library) int {
	o, err := parseArgs(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil {
		if o.results != "" {
			err = plotSaved(o)
		} else {
			err = measureAll(o, stdout, stderr, lib)
		}
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUsage):
		fmt.Fprintln(stderr, "benchmark:", err)
		return exitUsage
	}
	fmt.Fprintln(stderr, "benchmark:", err)
	return exitFailure
}

// plotSaved draws results that were saved.
func plotSaved(o options) error {
	h, rs, err := readResults(o.results)
	if err != nil {
		return fmt.Errorf("-results: %w", err)
	}
	return writePlot(o.plot, h, rs)
}

// measureAll runs the suites of o, reports, saves and compares.
func measureAll(o options, stdout, stderr io.Writer, lib library) error {
	// The file to compare with is read first: it may also be the file to save to, and a
	// missing file should be reported now, not after an hour.
	var oldHeader header
	var before []result
	if o.compare != "" {
		var err error
		if oldHeader, before, err = readResults(o.compare); err != nil {
			return fmt.Errorf("-compare: %w", err)
		}
	}
	jobs, err := plannedJobs(o)
	if err != nil {
		return err
	}
	// The suites move the default device; afterwards it is as it was.
	defer device.SetDefault(device.SetDefault(nil))

	h := headerOf(o, jobs)
	out := &stickyWriter{w: stdout}
	report := formats[o.format](out)
	var all []benchCase
	for _, j := range jobs {
		all = append(all, j.cases...)
	}
	report.begin(h, all)
	done, failures, err := runJobs(o, lib, jobs, report.add)
	if err != nil {
		return err
	}
	report.end()
	if out.err != nil {
		return out.err
	}
	if o.save != "" {
		if err := save(o.save, h, done); err != nil {
			return fmt.Errorf("-save: %w", err)
		}
	}
	var problems []error
	if o.plot != "" {
		problems = append(problems, writePlot(o.plot, h, done)) // nil does not count
	}
	if failures > 0 {
		problems = append(problems, fmt.Errorf("%d of %d cases failed", failures, len(all)))
	}
	if o.compare != "" {
		// Programs read the results of these two formats: keep them clean.
		w := stdout
		if o.format == "go" || o.format == "json" {
			w = stderr
		}
		if writeComparison(w, o.compare, oldHeader, h, compareResults(before, done, o.threshold), o.threshold) {
			problems = append(problems, fmt.Errorf("slower or less exact than %s", o.compare))
		}
	}
	return errors.Join(problems...)
}

// runJobs measures the cases of all jobs, and calls report after each.
func runJobs(o options, lib library, jobs []job, report func(result)) (done []result, failures int, err error) {
	for _, j := range jobs {
		r, err := newRunner(o, lib, j.dev)
		if err != nil {
			return nil, 0, err
		}
		for _, c := range j.cases {
			for _, one := range c.results(r) {
				if one.Failure != "" {
					failures++
				}
				report(one)
				done = append(done, one)
			}
		}
		r.close()
	}
	return done, failures, nil
}

// job is one suite on its device.
type job struct {
	dev   *device.Device
	cases []benchCase
}

// plannedJobs opens the devices and lists the cases of every suite, so that a mistake in
// -sizes is reported before anything runs.
func plannedJobs(o options) ([]job, error) {
	jobs := make([]job, len(o.suites))
	for i, s := range o.suites {
		name := o.device
		if s.device != "" {
			name = s.device
		}
		dev := device.Default()
		if name != "" {
			var err error
			if dev, err = device.Open(name); err != nil {
				return nil, fmt.Errorf("-device: %w", err)
			}
		}
		if err := dev.Err(); err != nil { // GPK_DEVICE names none that works
			return nil, err
		}
		cases, err := s.cases(o, isGPU(dev))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUsage, err)
		}
		jobs[i] = job{dev, cases}
	}
	return jobs, nil
}

// headerOf describes this machine, and the GPU if a job uses one.
func headerOf(o options, jobs []job) header {
	h := header{
		GOOS: runtime.GOOS, GOARCH: runtime.GOARCH, Pkg: "github.com/gpk-go/gpk/benchmark", Go: runtime.Version(),
		Date: time.Now().UTC().Format(time.RFC3339), Seed: o.seed,
	}
	if d, err := device.Open("cpu"); err == nil {
		h.CPU = d.Info().Name
	}
	for _, j := range jobs {
		if info := j.dev.Info(); isGPU(j.dev) {
			h.GPU, h.Driver = info.Name, info.Driver
			h.notes = []string{fmt.Sprintf("device  %v", info)}
		}
	}
	if h.GPU == "" {
		h.notes = append(h.notes, fmt.Sprintf("simd    %s (float32), %s (float64)", cpu.KernelName(dtype.Float32), cpu.KernelName(dtype.Float64)))
		if _, err := device.Open("cuda"); err != nil && o.device == "" {
			h.notes = append(h.notes, missingGPU(err)...)
		}
	}
	return h
}

// missingGPU returns the reason why no GPU is used, and the command that fixes it or that
// prints more.
func missingGPU(err error) []string {
	command := "go run ./cmd/gpk doctor"
	if strings.Contains(err.Error(), "gpk setup") {
		command = "go run ./cmd/gpk setup"
	}
	return []string{fmt.Sprintf("gpu     none: %s", strings.Join(strings.Fields(err.Error()), " ")), "        to fix it: " + command}
}

// save writes results as JSON or as Go benchmark lines, by the file's name.
func save(path string, h header, rs []result) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := &stickyWriter{w: f}
	report := formats["go"](w)
	if strings.HasSuffix(strings.ToLower(path), ".json") {
		report = formats["json"](w)
	}
	report.begin(h, nil)
	for _, r := range rs {
		report.add(r)
	}
	report.end()
	return w.err
}
