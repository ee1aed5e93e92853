package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// shape is the size of a product [m, k] x [k, n].
type shape struct{ m, k, n int }

func cube(n int) shape { return shape{n, n, n} }

func (s shape) square() bool { return s.m == s.k && s.k == s.n }

// volume returns the number of multiply-adds.
func (s shape) volume() float64 { return float64(s.m) * float64(s.k) * float64(s.n) }

// String returns the shape in the form that case names have. parseShape reads another form, MxKxN.
func (s shape) String() string { return fmt.Sprintf("m=%d/k=%d/n=%d", s.m, s.k, s.n) }

// options is the command line.
type options struct {
	suites     []suite
	shapes     []shape     // empty: the suite's own
	precisions []precision // empty: the suite's own
	quick      bool
	device     string // empty: device.Default
	count      int
	warmup     int
	iterations int // 0: from the time budget
	format     string
	save       string
	compare    string
	threshold  float64
	plot       string
	results    string
	seed       uint64
	model      string // a folder
}

// errUsage marks an error of the command line; main exits with 2.
var errUsage = errors.New("usage")

// parseArgs reads the command line. Its errors wrap errUsage, flag.ErrHelp
// included: the usage text has then been written to stderr.
func parseArgs(args []string, stderr io.Writer) (options, error) {
	var o options
	var suites, sizes, dtypes string
	f := flag.NewFlagSet("benchmark", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&suites, "suite", "gemm", "`names` of suites, by commas: "+strings.Join(suiteNames(), ", "))
	f.StringVar(&sizes, "sizes", "", "`list` of sizes instead of the suite's own, by commas or spaces: 2048 or 512x768x3072 (MxKxN)")
	f.StringVar(&dtypes, "dtypes", "", "`list` of precisions instead of the suite's own: bf16, fp16, tf32, fp32, fp64, c64, tc64, c128, i8")
	f.BoolVar(&o.quick, "quick", false, "one product in every precision, checked and timed, as a table; under a minute")
	f.StringVar(&o.device, "device", "", "`device`: cpu, cuda, cuda:1 (default: the best one here)")
	f.IntVar(&o.count, "count", 1, "`rounds` of every case, a line each")
	f.IntVar(&o.warmup, "warmup", 3, "untimed `calls` of every case")
	f.IntVar(&o.iterations, "iterations", 0, "`calls` a sample, 0: as many as fit the time budget")
	f.StringVar(&o.format, "format", "", "`form` of the report: "+strings.Join(formatNames(), ", ")+" (default go, with -quick table)")
	f.StringVar(&o.save, "save", "", "`file` to write the results to: JSON where it ends in .json, else Go benchmark lines")
	f.StringVar(&o.compare, "compare", "", "`file` that -save wrote, or any Go benchmark lines, to compare with; a significant regression exits with 1")
	f.Float64Var(&o.threshold, "threshold", 0.05, "`fraction` of slowdown that -compare lets pass")
	f.StringVar(&o.plot, "plot", "", "`file` to draw the products' rates in, under the device's limits: .svg or .png")
	f.StringVar(&o.results, "results", "", "`file` that -save wrote, to -plot instead of measuring")
	f.Uint64Var(&o.seed, "seed", 1, "`seed` of the random inputs")
	f.StringVar(&o.model, "model", "", "`folder` of all-MiniLM-L6-v2, for -suite embed")
	f.Usage = func() {
		fmt.Fprintln(stderr, "usage: go run ./benchmark [flags]\n\nMeasures gpk and checks what it measures. Suites:")
		for _, s := range suiteTable {
			fmt.Fprintf(stderr, "  %-10s %s\n", s.name, s.about)
		}
		fmt.Fprintln(stderr, "\nFlags:")
		f.PrintDefaults()
	}
	// In "-sizes 2048 4096", 4096 remains as an argument; flags may follow it.
	for rest := args; ; {
		if err := f.Parse(rest); err != nil {
			return o, fmt.Errorf("%w: %w", errUsage, err)
		}
		rest = f.Args()
		if len(rest) == 0 {
			break
		}
		if sizes == "" || !startsWithDigit(rest[0]) {
			return o, fmt.Errorf("%w: unexpected argument %q", errUsage, rest[0])
		}
		sizes += " " + rest[0]
		rest = rest[1:]
		if len(rest) == 0 {
			break
		}
	}
	var err error
	if o.shapes, err = parseList(sizes, parseShape); err == nil {
		o.precisions, err = parseList(dtypes, precisionOf)
	}
	if err == nil {
		o.suites, err = parseSuites(suites)
	}
	if err == nil {
		err = o.complete()
	}
	if err != nil {
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	return o, nil
}

// complete fills the defaults that depend on other flags and checks ranges.
func (o *options) complete() error {
	if o.quick {
		o.suites = []suite{quickSuite}
	}
	if o.format == "" {
		o.format = "go"
		if o.quick {
			o.format = "table"
		}
	}
	if _, ok := formats[o.format]; !ok {
		return fmt.Errorf("-format: %q is not one of %s", o.format, strings.Join(formatNames(), ", "))
	}
	if o.plot != "" {
		if _, err := plotFormat(o.plot); err != nil {
			return err
		}
	}
	needsModel := slices.ContainsFunc(o.suites, func(s suite) bool { return s.name == "embed" })
	switch {
	case needsModel && o.model == "":
		return errors.New("-suite embed needs -model, the folder of all-MiniLM-L6-v2")
	case o.results != "" && o.plot == "":
		return errors.New("-results needs -plot")
	case o.count < 1:
		return fmt.Errorf("-count: %d is not positive", o.count)
	case o.warmup < 0:
		return fmt.Errorf("-warmup: %d is negative", o.warmup)
	case o.iterations < 0:
		return fmt.Errorf("-iterations: %d is negative", o.iterations)
	case !(o.threshold >= 0): // not a number too
		return fmt.Errorf("-threshold: %v is negative", o.threshold)
	}
	return nil
}

func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// words splits a list at commas and white space.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// parseList parses each word of a list.
func parseList[T any](list string, parse func(word string) (T, error)) ([]T, error) {
	var out []T
	for _, w := range words(list) {
		v, err := parse(w)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// parseShape reads N, a cube, or MxKxN.
func parseShape(word string) (shape, error) {
	parts := strings.Split(strings.ToLower(word), "x")
	var v [3]int
	if len(parts) != 1 && len(parts) != 3 {
		return shape{}, fmt.Errorf("-sizes: %q is neither N nor MxKxN", word)
	}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 {
			return shape{}, fmt.Errorf("-sizes: %q in %q is not a positive integer", p, word)
		}
		v[i] = n
	}
	if len(parts) == 1 {
		return cube(v[0]), nil
	}
	return shape{v[0], v[1], v[2]}, nil
}

func parseSuites(list string) ([]suite, error) {
	out, err := parseList(list, suiteNamed)
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("-suite: no name given; there are %s", strings.Join(suiteNames(), ", "))
	}
	return out, err
}
