package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/gpk-go/gpk/profile"
)

// profileFlags holds the flags of the command.
type profileFlags struct {
	report, out, against string
	threshold            float64
}

// profileCommand prints a profile's report, or writes it as a page of HTML.
func profileCommand(_ context.Context, args []string, std streams) error {
	f, err := parseProfile(args, std)
	if err != nil {
		return err
	}
	r, err := readReport(f.report)
	if err != nil {
		return err
	}
	var before *profile.Report
	if f.against != "" {
		if before, err = readReport(f.against); err != nil {
			return err
		}
	}
	if f.out != "" {
		return f.writePage(r, before, std)
	}
	if err := r.WriteText(std.out); err != nil || before == nil {
		return err
	}
	fmt.Fprintln(std.out)
	return profile.Compare(before, r, f.threshold).WriteText(std.out)
}

// parseProfile reads the command line; flags may follow the report's name.
func parseProfile(args []string, std streams) (f profileFlags, err error) {
	fs := flag.NewFlagSet("profile", flag.ContinueOnError)
	fs.StringVar(&f.out, "o", "", "write a page of HTML to this `file`; without it the report is printed")
	fs.StringVar(&f.against, "against", "", "compare with an earlier report, a `file`")
	fs.Float64Var(&f.threshold, "threshold", profile.DefaultThreshold, "with -against, the relative change of a median from which an operation is improved or regressed")
	if err := parse(fs, args, std); err != nil {
		return f, err
	}
	if fs.NArg() > 0 {
		f.report = fs.Arg(0)
		if err := parse(fs, fs.Args()[1:], std); err != nil {
			return f, err
		}
	}
	switch {
	case f.report == "":
		return f, usageError{errors.New("want one report, a file that profile.Report.WriteJSON wrote")}
	case !(f.threshold >= 0):
		return f, usageError{fmt.Errorf("-threshold %v is below 0", f.threshold)}
	}
	return f, noArguments(fs)
}

func readReport(name string) (*profile.Report, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := profile.ReadJSON(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// writePage writes the page to a temporary file and renames it when it is complete.
func (f *profileFlags) writePage(r, before *profile.Report, std streams) error {
	if err := f.replaceable(); err != nil {
		return err
	}
	var opts []profile.HTMLOption
	if before != nil {
		opts = append(opts, profile.Against(before, f.threshold))
	}
	file, err := beside("o", f.out)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // it no longer exists after the rename
	defer file.Close()
	if err := r.WriteHTML(file, opts...); err != nil {
		return err
	}
	if err := errors.Join(file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", f.out, err)
	}
	if err := os.Rename(file.Name(), f.out); err != nil {
		return err
	}
	fmt.Fprintln(std.out, f.out)
	return nil
}

// replaceable returns an error for an output that is not a regular file, or that is one
// of the inputs.
func (f *profileFlags) replaceable() error {
	out, err := os.Stat(f.out)
	if err != nil {
		return nil // it does not exist, or creating it will report the error
	}
	if !out.Mode().IsRegular() {
		return fmt.Errorf("-o %s: it exists and is not a regular file", f.out)
	}
	for _, name := range []string{f.report, f.against} {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, out) {
			return fmt.Errorf("-o %s would overwrite a report that is an input", f.out)
		}
	}
	return nil
}
