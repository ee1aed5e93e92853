package bert

// SetLimits has small inputs take several batches and windows.
func (e *Encoder) SetLimits(batchTokens, windowTexts int) {
	e.batchTokens, e.windowTexts = batchTokens, windowTexts
}
