package profile_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/profile"
)

func Example() {
	cpu, err := device.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(cpu))
	x, w := gpk.Ones(gpk.Float32, 64, 32), gpk.Ones(gpk.Float32, 32, 16)
	if err := gpk.Eval(x, w); err != nil { // they are not part of the profile
		log.Fatal(err)
	}

	p, err := profile.Start(profile.Options{Name: "one layer"})
	if err != nil {
		log.Fatal(err)
	}
	_, end := profile.Span(context.Background(), "layer")
	y := x.MatMul(w).ReLU()
	_, err = gpk.ToSlice[float32](y)
	end()
	if err != nil {
		log.Fatal(err)
	}
	r, err := p.Stop()
	if err != nil {
		log.Fatal(err)
	}

	for _, o := range r.Operations {
		fmt.Printf("%s: %v %s, %d bytes, %d flops, in span %q, took time: %t\n",
			o.Name, o.Shape, o.DType, o.Bytes, o.Flops, r.Spans[o.Span-1].Name, *o.Time > 0)
	}
	for _, t := range r.Transfers {
		fmt.Printf("copy %s: %d bytes\n", t.Kind, t.Bytes)
	}
	// Output:
	// MatMul.ReLU: [64 16] float32, 14336 bytes, 65536 flops, in span "layer", took time: true
	// copy d2h: 4096 bytes
}

func ExampleSpan() {
	p, err := profile.Start(profile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, endStep := profile.Span(context.Background(), "step")
	done := make(chan struct{})
	go func() { // the context tells the goroutine whose part its work is
		defer close(done)
		_, end := profile.Span(ctx, "load")
		defer end()
	}()
	<-done
	_, endForward := profile.Span(ctx, "forward")
	endForward()
	endStep()
	r, err := p.Stop()
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range r.Spans {
		fmt.Println(s.ID, s.Name, "in", s.Parent)
	}
	// Output:
	// 1 step in 0
	// 2 load in 1
	// 3 forward in 1
}
