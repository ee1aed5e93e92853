// Command gpk is gpk's command line: it reports what a machine has and what is missing,
// builds the kernels, computes kernel matrices, embeds texts, and shows profiles.
//
//	gpk info              devices, kernel library, kernels
//	gpk doctor            checks what the use of a GPU needs, and says how to fix what is missing
//	gpk setup             takes the kernel library from a release, or builds it on this machine
//	gpk gram -x FILE      the quantum kernel matrix of samples in a .npy file
//	gpk plan -samples N   the memory and the time of a kernel matrix on a number of ranks
//	gpk embed -model DIR  embeddings of texts
//	gpk profile REPORT    a profile's report as text or a page of HTML; a comparison of two
//	gpk dist check        which ranks a launcher has started, where, and how fast they exchange data
//	gpk bundle DIR        a folder of test, benchmark and library for a machine with only a driver
//	gpk help [COMMAND]
//
// Results go to standard output; progress, warnings and errors to standard error.
//
// Exit status: 0; 1 when the command failed or, of doctor, when no GPU can be used; 2
// after a mistake on the command line.
//
// What belongs here: flags and printing. What does not: functions that a program would
// call, which are in the packages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
)

// The exit statuses.
const (
	exitFailed = 1
	exitUsage  = 2
)

// streams are the outputs of a command.
type streams struct{ out, err io.Writer }

// command is one subcommand.
type command struct {
	name, args, does string
	run              func(ctx context.Context, args []string, std streams) error
}

func commands() []command {
	return []command{
		{"info", "[-kernels]", "devices, kernel library, kernels", info},
		{"doctor", "", "checks what the use of a GPU needs, and says how to fix what is missing", doctor},
		{"setup", "[flags]", "takes the kernel library from a release, or builds it on this machine", setupCommand},
		{"gram", "-x FILE [flags]", "the quantum kernel matrix of samples in a .npy file", gram},
		{"plan", "-samples N -features N [flags]", "the memory and the predicted seconds of a kernel matrix on a number of ranks", planCommand},
		{"embed", "-model DIR [flags] [TEXT ...]", "embeddings of texts, by a model of BERT's kind", embed},
		{"profile", "REPORT [flags]", "a profile's report as text or as a page of HTML, and a comparison of two", profileCommand},
		{"dist", "check [flags]", "which ranks a launcher has started, where, and how fast they exchange data", distCommand},
		{"bundle", "[-tar] DIR", "a folder of test, benchmark and library for a machine with only a driver", bundle},
	}
}

// errFailed ends a command with status 1 if it has already printed the reason.
var errFailed = errors.New("failed")

// usageError is the error of an invalid command line.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on, a second signal ends the program
	status := run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr})
	stop()
	os.Exit(status)
}

// run executes a command line and returns the exit status.
func run(ctx context.Context, args []string, std streams) int {
	if len(args) == 0 {
		help(std.err)
		return exitUsage
	}
	name, rest := args[0], args[1:]
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		if len(rest) == 0 {
			help(std.out)
			return 0
		}
		name, rest = rest[0], []string{"-h"}
	}
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		err := c.run(ctx, rest, std)
		usage := usageError{}
		switch {
		case err == nil || errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errFailed):
			return exitFailed
		case errors.As(err, &usage):
			fmt.Fprintf(std.err, "gpk %s: %v (gpk help %s)\n", name, usage.error, name)
			return exitUsage
		}
		fmt.Fprintf(std.err, "gpk %s: %v\n", name, err)
		return exitFailed
	}
	fmt.Fprintf(std.err, "gpk: there is no command %q\n", name)
	help(std.err)
	return exitUsage
}

func help(w io.Writer) {
	fmt.Fprintln(w, "usage: gpk COMMAND")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-20s %s\n", strings.TrimSpace(c.name+" "+c.args), c.does)
	}
	fmt.Fprintf(w, "  %-20s %s\n", "help [COMMAND]", "this, or a command's flags")
}

// parse parses a command's flags. Invalid flags are a usageError, and -h prints the
// flags.
func parse(fs *flag.FlagSet, args []string, std streams) error {
	fs.SetOutput(io.Discard) // run prints the error
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		for _, c := range commands() {
			if c.name == fs.Name() {
				fmt.Fprintf(std.out, "usage: gpk %s\n%s\n", strings.TrimSpace(c.name+" "+c.args), c.does)
			}
		}
		fs.SetOutput(std.out)
		fs.PrintDefaults()
		return err
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

// parseFlags is parse for a command without other arguments.
func parseFlags(fs *flag.FlagSet, args []string, std streams) error {
	if err := parse(fs, args, std); err != nil {
		return err
	}
	return noArguments(fs)
}

// noArguments returns an error if there are arguments after the flags.
func noArguments(fs *flag.FlagSet) error {
	if fs.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", fs.Arg(0))}
	}
	return nil
}

const module = "github.com/gpk-go/gpk"

// invocation returns the way to run a gpk command: from a checkout, or from a module that
// requires a released version.
func invocation(command string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; info.Main.Path == module && strings.HasPrefix(v, "v") && !strings.Contains(v, "+") {
			return fmt.Sprintf("go run %s/cmd/gpk@%s %s", module, v, command)
		}
	}
	return "go run ./cmd/gpk " + command
}
