package main

import "log"

func Example() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// a aᵀ = [14 32 32 77]
	// h v  = [8 17]
	// ReLU(a - 2) = [0 0 1 2 3 4]
}
