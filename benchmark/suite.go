package main

import (
	"fmt"
	"strings"
)

// suite is a named list of cases. To add one is to add an entry to
// suiteTable.
type suite struct {
	name, about string
	peer        string // the script in folder peers that prints its names
	device      string // the only device that it measures, whatever -device says; empty: any
	// cases lists the cases that o asks for, on a GPU or not.
	cases func(o options, gpu bool) ([]benchCase, error)
}

// suiteTable lists the suites under the names that the peers have for them.
// It is filled by init because flags, which suites read, name the suites.
var suiteTable []suite

func init() {
	suiteTable = []suite{
		{name: "gemm", peer: "torch_bench.py", about: "aligned products", cases: matMulCases(gemmShapes, "bf16", "fp16", "tf32", "fp32", "fp64")},
		{name: "unaligned", peer: "torch_bench.py", about: "products whose rows are not multiples of 16 bytes", cases: matMulCases(unalignedShapes, "bf16", "fp16", "tf32")},
		{name: "skinny", peer: "torch_bench.py", about: "products of few rows", cases: matMulCases(skinnyShapes, "bf16", "tf32")},
		{name: "complex", peer: "torch_bench.py", about: "complex products", cases: matMulCases(complexShapes, "c64", "tc64", "c128")},
		{name: "accuracy", peer: "torch_bench.py", about: "errors against float64, on easy and hard data", cases: accuracyCases},
		{name: "linear", peer: "torch_bench.py", about: "x wT + b through GELU, fused", cases: linearCases},
		{name: "bmm", peer: "torch_bench.py", about: "batched products", cases: bmmCases},
		{name: "attention", peer: "torch_bench.py", about: "attention, causal or not", cases: attentionCases},
		{name: "ops", peer: "torch_bench.py", about: "operations at the speed of memory", cases: opCases},
		{name: "gram", peer: "torch_bench.py", about: "kernel matrices of quantum circuits", cases: gramCases},
		{name: "gram-sweep", about: "these over qubits, samples and options", cases: sweepCases},
		{name: "transfer", peer: "torch_bench.py", about: "copies between host and device", cases: transferCases},
		{name: "host", peer: "torch_bench.py", about: "host time of small operations", cases: hostCases},
		{name: "training", about: "a training step in a scope and without, a product read by three lines", cases: trainingCases},
		{name: "cpu", peer: "numpy_bench.py", about: "products and operations on the CPU, beside NumPy's", device: "cpu", cases: cpuCases},
		{name: "embed", peer: "st_bench.py", about: "embeddings of texts, by the model in -model", cases: embedCases},
		{name: "collective", peer: "nccl_bench.py", about: "collective functions, on all GPUs, or on two ranks on the CPU", cases: collectiveCases},
		{name: "parallel", peer: "nccl_bench.py", about: "a layer in tensor parallel, on one GPU and on all, or on one rank and on two on the CPU", cases: parallelCases},
		{name: "fft", peer: "linalg_bench.py", about: "Fourier transforms", cases: fourierCases},
		{name: "linalg", peer: "linalg_bench.py", about: "factorizations and systems of equations", cases: factorCases},
		{name: "index", peer: "index_bench.py", about: "selections, additions and sorts by random indices, cumulative sums", cases: indexCases},
		{name: "einsum", peer: "index_bench.py", about: "contractions of 16-bit arrays", cases: einsumCases},
		{name: "programs", peer: "programs.py", about: "whole programs, beside their twins in NumPy", cases: programCases},
	}
}

func suiteNames() []string {
	names := make([]string, len(suiteTable))
	for i, s := range suiteTable {
		names[i] = s.name
	}
	return names
}

func suiteNamed(name string) (suite, error) {
	for _, s := range suiteTable {
		if s.name == strings.ToLower(name) {
			return s, nil
		}
	}
	return suite{}, fmt.Errorf("-suite: no %q; there are %s", name, strings.Join(suiteNames(), ", "))
}

// precisionsOr returns the precisions of -dtypes, or else the given ones.
func (o options) precisionsOr(names ...string) []precision {
	if len(o.precisions) > 0 {
		return o.precisions
	}
	ps := make([]precision, len(names))
	for i, n := range names {
		ps[i] = mustPrecision(n)
	}
	return ps
}

// shapesOr returns the shapes of -sizes, or else the given ones.
func (o options) shapesOr(own []shape) []shape {
	if len(o.shapes) > 0 {
		return o.shapes
	}
	return own
}

// cubesOr returns the sides of -sizes, or else the given ones. The suite takes only
// cubes.
func (o options) cubesOr(suite string, own ...int) ([]int, error) {
	if len(o.shapes) == 0 {
		return own, nil
	}
	var ns []int
	for _, s := range o.shapes {
		if !s.square() {
			return nil, fmt.Errorf("-sizes: suite %s takes sizes N, not %dx%dx%d", suite, s.m, s.k, s.n)
		}
		ns = append(ns, s.m)
	}
	return ns, nil
}
