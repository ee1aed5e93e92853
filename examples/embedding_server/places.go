package main

import (
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/serve/batch"
)

// places limits the number of accepted texts: those that are being tokenized, that are
// waiting, and that are being computed. A request takes its places before its texts are
// tokenized, so that a refused request costs no more than reading it.
type places struct {
	mu   sync.Mutex
	free int
}

// take takes n places. leave returns them. If there are fewer than n places, it takes
// none, and the error is batch.ErrQueueFull.
func (p *places) take(n int) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n > p.free {
		return nil, fmt.Errorf("%w: %d texts, and %d places are free", batch.ErrQueueFull, n, p.free)
	}
	p.free -= n
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free += n
	}, nil
}
