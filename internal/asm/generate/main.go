// Command generate writes gpk's amd64 assembly. It runs in the root of module internal/asm.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpk-go/gpk/internal/asm"
	"github.com/gpk-go/gpk/internal/asm/cpu"
	"github.com/gpk-go/gpk/internal/asm/fft"
	"github.com/gpk-go/gpk/internal/asm/quantum"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	flags := flag.NewFlagSet("generate", flag.ExitOnError) // flag.CommandLine contains avo's flags
	out := flags.String("out", ".", "the absolute path of a folder to write to instead of the repository's root")
	_ = flags.Parse(os.Args[1:])                                // exits on an error
	if err := os.Chdir(filepath.Join("..", "..")); err != nil { // to the module whose packages declare the functions
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
	for folder, files := range map[string][]asm.File{"internal/cpu": cpu.Files, "quantum": quantum.Files, "fft": fft.Files} {
		for _, f := range files {
			if err := write(*out, folder, f); err != nil {
				fmt.Fprintln(os.Stderr, "generate:", err)
				os.Exit(1)
			}
		}
	}
}

// write writes one file below out. The package in folder declares its functions.
func write(out, folder string, f asm.File) error {
	c := build.NewContext()
	c.ConstraintExpr("!noasm")
	c.Package("github.com/gpk-go/gpk/" + folder)
	f.Write(c)
	file, err := c.Result()
	if err != nil {
		return fmt.Errorf("%s/%s: %w", folder, f.Name, err)
	}
	if err := pass.Compile.Execute(file); err != nil {
		return fmt.Errorf("%s/%s: %w", folder, f.Name, err)
	}
	for _, function := range file.Functions() {
		if err := checkRegisters(function); err != nil {
			return fmt.Errorf("%s/%s: %w", folder, f.Name, err)
		}
	}
	text, err := printer.NewGoAsm(printer.Config{Name: "internal/asm", Pkg: filepath.Base(folder)}).Print(file)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", folder, f.Name, err)
	}
	name := filepath.Join(out, folder, f.Name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
