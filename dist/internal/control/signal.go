package control

// Signal tells goroutines that what they wait for may have changed. The mutex of what changes is
// held when its methods are called. The zero value is ready.
type Signal struct{ sent chan struct{} }

// Wait returns a channel that the next Send closes.
func (s *Signal) Wait() <-chan struct{} {
	if s.sent == nil {
		s.sent = make(chan struct{})
	}
	return s.sent
}

// Send wakes all who wait.
func (s *Signal) Send() {
	if s.sent != nil {
		close(s.sent)
		s.sent = nil
	}
}
