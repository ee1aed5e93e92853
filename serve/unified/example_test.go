package unified_test

import (
	"fmt"
	"log"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/serve/unified"
)

func Example() {
	d, err := device.Open("cpu") // nil is the default device
	if err != nil {
		log.Fatal(err)
	}
	b, err := unified.New[float32](4, d, unified.Options{Pinned: true})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()

	fill := func(x []float32) error {
		for i := range x {
			x[i] = float32(i)
		}
		return nil
	}
	if err := b.HostWrite(fill); err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.State())

	x, err := b.Device(unified.ReadWrite) // a GPU gets the elements here
	if err != nil {
		log.Fatal(err)
	}
	if err := gpk.Into(x, x.Mul(10)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.State())

	show := func(x []float32) error {
		fmt.Println(x)
		return nil
	}
	if err := b.HostRead(show); err != nil { // and gives them back here
		log.Fatal(err)
	}
	fmt.Println(b.State())
	// Output:
	// host
	// device
	// [0 10 20 30]
	// both
}
