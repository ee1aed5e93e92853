package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestNamesAreThePeers compares the names of every suite with those that the
// programs measuring PyTorch and NumPy print.
func TestNamesAreThePeers(t *testing.T) {
	text, err := os.ReadFile("testdata/peer_names.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func(f func() int) { gpusHere = f }(gpusHere)
	gpusHere = func() int { return 2 }
	want := strings.Fields(string(text))
	var got []string
	for _, s := range suiteTable {
		cases, err := s.cases(options{}, true)
		if err != nil {
			t.Fatal(err)
		}
		if s.name == "gram-sweep" || s.name == "training" { // gpk's alone
			continue
		}
		for _, c := range cases {
			got = append(got, c.name)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("no suite has %s", name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("the peers do not have %s", name)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d cases, the peers have %d", len(got), len(want))
	}
}

// TestSuitesObeyFlags checks that -sizes and -dtypes replace a suite's own lists, and
// that a value that the suite does not support is an error.
func TestSuitesObeyFlags(t *testing.T) {
	for _, c := range []struct{ suite, sizes, dtypes, want string }{
		{"gemm", "64,8x9x10", "fp64", "MatMul/dtype=fp64/m=64/k=64/n=64 MatMul/dtype=fp64/m=8/k=9/n=10"},
		{"unaligned", "7", "tf32", "MatMul/dtype=tf32/m=7/k=7/n=7 MatMul/dtype=tf32/b=packed/m=7/k=7/n=7"},
		{"gemm", "9000", "fp64", "MatMul/dtype=fp64/m=9000/k=9000/n=9000"},
		{"linear", "1x2x3", "bf16", "LinearGELU/dtype=bf16/m=1/k=2/n=3"},
		{"bmm", "128", "fp16", "BatchedMatMul/dtype=fp16/b=256/n=128"},
		{"attention", "9", "fp16", "Attention/dtype=fp16/b=4/h=32/s=9/d=128/causal=true Attention/dtype=fp16/b=16/h=12/s=9/d=64/causal=false Attention/dtype=fp16/b=1/h=32/s=9/d=128/causal=true Attention/dtype=fp16/b=1/h=32/kv=8/s=1/keys=9/d=128/causal=false Attention/dtype=fp16/b=64/h=32/kv=8/s=1/keys=9/d=128/causal=false"},
		{"attention", "", "c64", "error"},
		{"attention", "1x2x3", "", "error"},
		{"accuracy", "32", "bf16", "Accuracy/data=normal/dtype=bf16/n=32 Accuracy/data=uniform/dtype=bf16/n=32 Accuracy/data=spread/dtype=bf16/n=32"},
		{"transfer", "4096", "", "Transfer/dir=h2d/mem=pageable/bytes=4096 Transfer/dir=d2h/mem=pageable/bytes=4096"},
		{"ops", "64", "i8", "error"},
		{"ops", "64", "tf32", "error"},
		{"ops", "64", "fp64", "error"},
		{"ops", "1x2x3", "", "error"},
		{"cpu", "3x4x5", "c64", "CPUMatMul/dtype=c64/m=3/k=4/n=5"},
		{"bmm", "100", "", "error"},
		{"bmm", "1x2x3", "", "error"},
		{"accuracy", "1x2x3", "", "error"},
		{"accuracy", "", "c64", "error"},
		{"linear", "", "c64", "error"},
		{"transfer", "", "fp32", "error"},
		{"host", "64", "", "error"},
		{"training", "64", "", "error"},
		{"collective", "4", "", "Collective/op=all_reduce/bytes=4 Collective/op=broadcast/bytes=4"},
		{"collective", "64", "fp32", "error"},
		{"parallel", "1x2x4", "bf16", "ParallelMLP/dtype=bf16/m=1/d=2/h=4/ranks=1 ParallelMLP/dtype=bf16/m=1/d=2/h=4/ranks=2"},
		{"parallel", "", "i8", "error"},
		{"einsum", "", "fp32", "error"},
		{"index", "1x2x3", "", "error"},
		{"programs", "", "tf32", "error"},
		{"programs", "1x2x3", "", "error"},
	} {
		s, err := suiteNamed(c.suite)
		if err != nil {
			t.Fatal(err)
		}
		var o options
		if o.shapes, err = parseList(c.sizes, parseShape); err != nil {
			t.Fatal(err)
		}
		if o.precisions, err = parseList(c.dtypes, precisionOf); err != nil {
			t.Fatal(err)
		}
		cases, err := s.cases(o, false)
		var names []string
		for _, one := range cases {
			names = append(names, one.name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s %s %s:\n got %s (%v)\nwant %s", c.suite, c.sizes, c.dtypes, got, err, c.want)
		}
	}
}

func TestBytesFrom(t *testing.T) {
	a, b := bytesFrom(1, 2, 1000), bytesFrom(1, 3, 1000)
	if !slices.Equal(a, bytesFrom(1, 2, 1000)) || slices.Equal(a, b) || slices.Equal(a, bytesFrom(2, 2, 1000)) {
		t.Error("bytes do not follow from seed and stream")
	}
}
