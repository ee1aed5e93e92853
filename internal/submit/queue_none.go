//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package submit

// Queue is always nil in a program built without CUDA.
type Queue struct {
	row         row
	Stream, Seq uint64 // stream and sequence number of the next records
}

// New returns nil.
func New(Mode) *Queue { return nil }

// Ready reports false.
func (q *Queue) Ready() bool { return q != nil && q.row.next(0) }

// Next must not be called, because Ready reports false.
func (q *Queue) Next() *Record { return new(Record) }

// Push must not be called, because Ready reports false.
func (q *Queue) Push() {}

// Drain does nothing.
func (q *Queue) Drain() {}

// Flush does nothing.
func (q *Queue) Flush() {}

// Calls returns 0.
func (q *Queue) Calls() uint64 { return 0 }

// Failed reports false.
func (q *Queue) Failed() bool { return false }

// Take returns nil.
func (q *Queue) Take() *Failure { return nil }

// Close does nothing.
func (q *Queue) Close() {}
