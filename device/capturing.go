package device

// Capturing reports whether what is put on the stream is recorded for a graph
// instead of run.
func (s *Stream) Capturing() bool {
	s.dev.mu.Lock()
	defer s.dev.mu.Unlock()
	return s.capture != nil
}
