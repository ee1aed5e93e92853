package submit

// Error is the error of queued work: it, or work before it, could not be started.
type Error struct{ Err error }

func (e *Error) Error() string {
	const what = "starting work that was queued"
	if err := e.Unwrap(); err != nil {
		return what + ": " + err.Error()
	}
	return what
}

// Unwrap returns the driver's error.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}
