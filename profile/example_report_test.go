package profile_test

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/gpk-go/gpk/profile"
)

// exampleRun returns a run of three operations, each called ten times.
func exampleRun(product time.Duration) *profile.Report {
	r := &profile.Report{
		Name: "inference", Duration: 2 * time.Second,
		Devices: []profile.Device{{Name: "cuda:0", Model: "NVIDIA H200", MemoryBytes: 141 << 30}},
	}
	at := time.Duration(0)
	for i := range 10 {
		spread := time.Duration(i) * 100 * time.Microsecond
		for _, o := range []profile.Operation{
			{Name: "MatMul", Site: "model.go:21", DType: "bfloat16", Shape: []int{4096, 4096}, Flops: 2 << 36},
			{Name: "Softmax", Site: "model.go:25", DType: "bfloat16", Shape: []int{4096, 4096}},
		} {
			took := 12*time.Millisecond + spread/4
			if o.Name == "MatMul" {
				took = product + spread
			}
			began := at
			o.Device, o.Start, o.Host, o.OnDevice, o.Time = "cuda:0", at, 20*time.Microsecond, &began, &took
			at += took
			r.Operations = append(r.Operations, o)
		}
	}
	took := 10 * time.Millisecond
	r.Transfers = []profile.Transfer{{Kind: profile.HostToDevice, Device: "cuda:0", Bytes: 64_000_000, Host: took, OnDevice: new(time.Duration), Time: &took}}
	return r
}

func ExampleCompare() {
	before, after := exampleRun(98*time.Millisecond), exampleRun(138*time.Millisecond)
	d := profile.Compare(before, after, profile.DefaultThreshold)
	for _, c := range d.Changes {
		fmt.Printf("%s %s: %v to %v, %s (%s)\n", c.Verdict, c.Name, c.Before.Median, c.After.Median, c.ChangeText(), c.Significance())
	}
	// Output:
	// regressed MatMul: 98.45ms to 138.45ms, +40.6% (p<0.001 n=10+10)
	// unchanged Softmax: 12.1125ms to 12.1125ms, +0.0% (not significant, p=1.000 n=10+10)
}

func ExampleReport_Advice() {
	for _, a := range exampleRun(98 * time.Millisecond).Advice() {
		fmt.Printf("%s: %s\n", a.Rule, a.Finding)
		for _, f := range a.Figures {
			fmt.Printf("  %s %s\n", f.Name, f.Value)
		}
	}
	// Output:
	// dominant: MatMul at model.go:21 takes 89.0% of the time of all operations
	//   time 984ms
	//   calls 10
	//   median 98.5ms
	//   clock device
	//   rate 1.4 TFLOP/s
	// pinned: Copies to devices run at 6.4 GB/s, below the 10 GB/s of a link that is used well
	//   bandwidth 6.4 GB/s
	//   bytes 61 MiB
	//   mean size 61 MiB
}

func ExampleReport_WriteText() {
	if err := exampleRun(98 * time.Millisecond).WriteText(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// inference: 2s
	// device cuda:0, NVIDIA H200, 141 GiB
	// launches 20
	// throughput 10 launches/s
	// host time 400µs
	// device time 1.11s
	// transfer time 10ms
	// products 1.24 TFLOP/s
	// busy cuda:0 stream 0 55.3%
	//
	// time by operation
	// operation  calls  host   device  median  share  kind                site
	// MatMul     10     200µs  984ms   98.5ms  89.0%  bfloat16 4096x4096  model.go:21
	// Softmax    10     200µs  121ms   12.1ms  11.0%  bfloat16 4096x4096  model.go:25
	//
	// transfers
	// direction  copies  bytes   device  GB/s
	// h2d        1       61 MiB  10ms    6.4
	//
	// bottlenecks
	// what                 time   of the profile  site         detail
	// MatMul               984ms  49.2%           model.go:21  10 calls of 98.5ms on the device, 1.4 TFLOP/s
	// cuda:0 without work  894ms  44.7%                        its busiest stream, 0, was busy 55.3% of the time
	// Softmax              121ms  6.1%            model.go:25  10 calls of 12.1ms on the device
	// copies to devices    10ms   0.5%                         1 copy, 61 MiB, 6.4 GB/s
	//
	// advice
	// - MatMul at model.go:21 takes 89.0% of the time of all operations (time 984ms, calls 10, median 98.5ms, clock device, rate 1.4 TFLOP/s). Work on this one first. Explain says which kernel computes it and why. A shorter type or a lower precision, where the program allows one, and a larger batch help the most.
	// - Copies to devices run at 6.4 GB/s, below the 10 GB/s of a link that is used well (bandwidth 6.4 GB/s, bytes 61 MiB, mean size 61 MiB). Use memory from gpk.Pinned for the host's side: the device reads and writes it without staging.
}
