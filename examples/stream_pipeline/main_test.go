package main

import (
	"context"
	"log"
)

func Example() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// batch 0: 8000 outliers
	// batch 50: 0 outliers
	// batch 100: 3 outliers
}
