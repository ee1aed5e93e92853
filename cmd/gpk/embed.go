package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/interop/npy"
	"github.com/gpk-go/gpk/nn/bert"
)

// embedFlags holds the flags of the command.
type embedFlags struct {
	model, dtype, in, out, device string
}

// embed computes embeddings of texts.
func embed(ctx context.Context, args []string, std streams) error {
	var f embedFlags
	fs := flag.NewFlagSet("embed", flag.ContinueOnError)
	fs.StringVar(&f.model, "model", "", "the `folder` of a model as published for sentence-transformers")
	fs.StringVar(&f.dtype, "dtype", "", "element type: fp32, fp16 or bf16 (default: that of the weights)")
	fs.StringVar(&f.in, "in", "", "a `file` with one text on each line; these come before the texts of the command line")
	fs.StringVar(&f.out, "out", "", "write the embeddings to this .npy `file`, [texts, features]; without it they are printed, one on each line")
	fs.StringVar(&f.device, "device", "", "cpu, cuda or cuda:1 (default: the first GPU that works, else the CPU)")
	if err := parse(fs, args, std); err != nil {
		return err
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	texts, err := readLines(f.in)
	if err != nil {
		return err
	}
	lines := len(texts)
	texts = append(texts, fs.Args()...)
	if len(texts) == 0 {
		return usageError{errors.New("no texts: give some, or a file with -in")}
	}
	if f.out != "" { // report an output that cannot be written before the work begins
		file, err := beside("out", f.out)
		if err != nil {
			return err
		}
		file.Close()
		os.Remove(file.Name())
	}
	e, err := bert.Load(f.model, opts...)
	if err != nil {
		return withoutSite(err)
	}
	defer e.Close()
	rows, err := embedAll(ctx, e, texts, newBar(std.err, "texts"))
	if wrong, ok := errors.AsType[*bert.TextError](err); ok {
		if wrong.Index < lines {
			return fmt.Errorf("%s, line %d: %w", f.in, wrong.Index+1, withoutSite(wrong.Err))
		}
		return fmt.Errorf("text %d of the command line: %w", wrong.Index-lines+1, withoutSite(wrong.Err))
	}
	if err != nil {
		return withoutSite(err)
	}
	if f.out == "" {
		return printRows(std, rows, e.Size())
	}
	cpu, err := device.Open(device.CPU.String())
	if err != nil {
		return err
	}
	return npy.WriteFile(f.out, gpk.FromSliceOn(cpu, rows, len(texts), e.Size()))
}

func (f *embedFlags) options() (opts []bert.Option, err error) {
	if f.model == "" {
		return nil, usageError{errors.New("-model names no folder")}
	}
	if f.dtype != "" {
		dt, err := dtype.Parse(f.dtype)
		if err != nil || !dt.IsFloat() || dt == gpk.Float64 {
			return nil, usageError{fmt.Errorf("-dtype %q is not one of fp32, fp16, bf16", f.dtype)}
		}
		opts = append(opts, bert.WithDType(dt))
	}
	if f.device != "" {
		d, err := device.Open(f.device)
		if err != nil {
			return nil, fmt.Errorf("-device: %w", err)
		}
		opts = append(opts, bert.WithDevice(d))
	}
	return opts, nil
}

// longestLine is the maximum length of a line of -in.
const longestLine = 16 << 20

// readLines reads the lines of a file. Without a name it returns no lines.
func readLines(name string) (lines []string, err error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	s.Buffer(nil, longestLine)
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%s, line %d: %w", name, len(lines)+1, err)
	}
	return lines, nil
}

// embedAll embeds texts in parts, and shows its progress.
func embedAll(ctx context.Context, e *bert.Encoder, texts []string, b *bar) ([]float32, error) {
	const part = 1024
	out := make([]float32, 0, len(texts)*e.Size())
	begun := time.Now()
	defer b.end()
	for first := 0; first < len(texts); first += part {
		rows, err := e.Embed(ctx, texts[first:min(first+part, len(texts))])
		if wrong, ok := errors.AsType[*bert.TextError](err); ok {
			return nil, &bert.TextError{Index: first + wrong.Index, Err: wrong.Err}
		}
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out = append(out, r...)
		}
		if len(texts) > part {
			b.update(int64(first+len(rows)), int64(len(texts)), time.Since(begun))
		}
	}
	return out, nil
}

// printRows prints a line of numbers for each row.
func printRows(std streams, rows []float32, width int) error {
	w := bufio.NewWriter(std.out)
	var text []byte
	for i, v := range rows {
		text = strconv.AppendFloat(text[:0], float64(v), 'g', -1, 32)
		if (i+1)%width == 0 {
			text = append(text, '\n')
		} else {
			text = append(text, ' ')
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return w.Flush()
}
