package bert

// SetLimits has small inputs take several batches and windows.
func (e *Encoder) SetLimits(batchTokens, windowTexts int) {
	e.batchTokens, e.windowTexts = batchTokens, windowTexts
}

// UseGraphs makes an encoder use graphs, on a CPU too: at most `most` graphs, of at most the given
// number of bytes together.
func (e *Encoder) UseGraphs(most int, bytes int64) {
	e.graphs.on, e.graphs.most, e.graphs.bytes = true, most, bytes
}

// Graphs returns the number of an encoder's graphs, and whether it makes graphs.
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
