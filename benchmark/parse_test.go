package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestParseArgs(t *testing.T) {
	names := func(o options) (out []string) {
		for _, p := range o.precisions {
			out = append(out, p.name)
		}
		return out
	}
	for _, c := range []struct {
		args       string // split at |
		shapes     []shape
		precisions []string
		suites     string
		format     string
	}{
		{args: "", suites: "gemm", format: "go"},
		{args: "-sizes|2048,4096", shapes: cubes(2048, 4096), suites: "gemm", format: "go"},
		{args: "-sizes|2048, 4096 8", shapes: cubes(2048, 4096, 8), suites: "gemm", format: "go"},
		{args: "-sizes|2048|4096|-dtypes|tf32", shapes: cubes(2048, 4096), precisions: []string{"tf32"}, suites: "gemm", format: "go"},
		{args: "-sizes=512x768X3072", shapes: []shape{{512, 768, 3072}}, suites: "gemm", format: "go"},
		{args: "-dtypes|fp32,tf32,fp16,bf16", precisions: []string{"fp32", "tf32", "fp16", "bf16"}, suites: "gemm", format: "go"},
		{args: "-dtypes|float32 Float16,bfloat16,float64,complex64,complex128,int8", precisions: []string{"fp32", "fp16", "bf16", "fp64", "c64", "c128", "i8"}, suites: "gemm", format: "go"},
		{args: "-dtypes|tc64,half,double", precisions: []string{"tc64", "fp16", "fp64"}, suites: "gemm", format: "go"},
		{args: "-suite|unaligned, CPU", suites: "unaligned cpu", format: "go"},
		{args: "-quick", suites: "quick", format: "table"},
		{args: "-quick|-format|json", suites: "quick", format: "json"},
	} {
		o, err := parseArgs(split(c.args), io.Discard)
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		var suites []string
		for _, s := range o.suites {
			suites = append(suites, s.name)
		}
		if !reflect.DeepEqual(o.shapes, c.shapes) || !reflect.DeepEqual(names(o), c.precisions) || strings.Join(suites, " ") != c.suites || o.format != c.format {
			t.Errorf("%q: got shapes %v, precisions %v, suites %v, format %s", c.args, o.shapes, names(o), suites, o.format)
		}
	}
}

func split(args string) []string {
	if args == "" {
		return nil
	}
	return strings.Split(args, "|")
}

func TestParseArgsErrors(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"-sizes|0", "positive"},
		{"-sizes|12x", "neither"},
		{"-sizes|1x2x-3", "positive"},
		{"-sizes|1x2x3x4", "neither"},
		{"-sizes|99999999999999999999", "positive"},
		{"-dtypes|fp8", "is not one of bf16, fp16, tf32"},
		{"-dtypes|bool", "is not one of"},
		{"-suite|nothing", "there are gemm, unaligned"},
		{"-suite|embed", "suite embed needs -model"},
		{"-suite|,", "no name given"},
		{"-format|xml", "is not one of go, json, markdown, table"},
		{"-count|0", "-count"},
		{"-warmup|-1", "-warmup"},
		{"-iterations|-1", "-iterations"},
		{"-threshold|-0.1", "-threshold"},
		{"-threshold|NaN", "-threshold"},
		{"-nonsense", "nonsense"},
		{"2048", "unexpected argument"},
		{"-sizes|2048|fast", "unexpected argument"},
	} {
		_, err := parseArgs(split(c.args), io.Discard)
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one that says %q", c.args, err, c.want)
		}
	}
}

func TestHelp(t *testing.T) {
	var text bytes.Buffer
	if _, err := parseArgs([]string{"-h"}, &text); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error %v, want flag.ErrHelp", err)
	}
	for _, s := range suiteTable {
		if !strings.Contains(text.String(), s.about) {
			t.Errorf("the usage text does not tell of suite %s", s.name)
		}
	}
}
