package control

// Signal wakes goroutines that wait for a change of some state. The mutex of that state must be
// held when a method is called. The zero value is ready for use.
type Signal struct{ sent chan struct{} }

// Wait returns a channel that the next Send closes.
func (s *Signal) Wait() <-chan struct{} {
	if s.sent == nil {
		s.sent = make(chan struct{})
	}
	return s.sent
}

// Send wakes all waiting goroutines.
func (s *Signal) Send() {
	if s.sent != nil {
		close(s.sent)
		s.sent = nil
	}
}
