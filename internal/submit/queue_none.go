//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package submit

// Queue is nil in a program without its CUDA parts.
type Queue struct {
	row         row
	Stream, Seq uint64 // of the records to come
}

// New returns nil.
func New(Mode) *Queue { return nil }

// Ready reports false.
func (q *Queue) Ready() bool { return q != nil && q.row.next(0) }

// Next is not called where Ready is false.
func (q *Queue) Next() *Record { return new(Record) }

// Push is not called where Ready is false.
func (q *Queue) Push() {}

// Drain has nothing to wait for.
func (q *Queue) Drain() {}

// Flush has nothing to wait for.
func (q *Queue) Flush() {}

// Calls returns 0.
func (q *Queue) Calls() uint64 { return 0 }

// Failed reports false.
func (q *Queue) Failed() bool { return false }

// Take returns nil.
func (q *Queue) Take() *Failure { return nil }

// Close does nothing.
func (q *Queue) Close() {}
