package device

// Capturing reports whether work on the stream is recorded for a graph instead of run.
func (s *Stream) Capturing() bool {
	d, err := s.owner()
	if err != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return s.capture != nil
}
