package device

// call runs f as a piece of work on s (nil: the default stream) that uses the buffers, with the ordering of
// LaunchWork. f may wait for the device. Unlike LaunchWork, it does not hold the device's mutex while f runs,
// because some libraries iterate on the host. f receives the driver's handle of the stream.
func (d *Device) call(s *Stream, reads, writes []*Buffer, f func(stream uint64) error) error {
	s, err := d.own(s)
	if err != nil {
		return err
	}
	m := d.observe(Computing, s, 0)
	if d.info.Kind == CPU {
		err = d.launchMeasured(m, s, reads, writes, work(func(_ int, stream uint64) error { return f(stream) }))
	} else {
		err = d.transfer(m, s, reads, writes, false, func(s *Stream) error { return f(s.handle) })
	}
	m.done(err)
	return err
}
