package device

import "context"

// sequence returns the number of pieces of work that have been put on the stream.
func (s *Stream) sequence() uint64 {
	d, err := s.owner()
	if err != nil {
		return 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return s.seq
}

// waitSequence waits until the first seq pieces of work on the stream are done, or until ctx ends. The event for this
// is recorded by the call that waits. An event after every piece of work would cost one driver call for each.
func (s *Stream) waitSequence(ctx context.Context, seq uint64) error {
	d, err := s.owner()
	if err != nil {
		return err
	}
	if ctx == nil {
		return errNoContext
	}
	d.mu.Lock()
	if s.closed || seq <= s.done {
		d.mu.Unlock()
		return ctx.Err()
	}
	if err := s.markUpTo(seq); err != nil {
		d.mu.Unlock()
		return err
	}
	mark := s.mark
	s.waiters++ // keeps mark valid
	d.mu.Unlock()

	return s.endWait(seq, d.syncEvent(ctx, mark))
}

// follow makes later work on s wait for the first seq pieces of work on another stream of its device.
func (s *Stream) follow(other *Stream, seq uint64) error {
	d, err := s.owner()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := s.check(); err != nil {
		return err
	}
	return d.order(s, use{other, seq})
}
