package bert

// SetLimits has small inputs take several batches and windows.
func (e *Encoder) SetLimits(batchTokens, windowTexts int) {
	e.batchTokens, e.windowTexts = batchTokens, windowTexts
}

// UseGraphs has an encoder make graphs, so many at most and of so many bytes together, on a CPU too.
func (e *Encoder) UseGraphs(most int, bytes int64) {
	e.graphs.on, e.graphs.most, e.graphs.bytes = true, most, bytes
}

// Graphs returns how many graphs an encoder has, and whether it makes any.
func (e *Encoder) Graphs() (n int, on bool) {
	e.graphs.mu.Lock()
	defer e.graphs.mu.Unlock()
	for _, r := range e.graphs.made {
		if r.graph != nil {
			n++
		}
	}
	return n, e.graphs.on
}
