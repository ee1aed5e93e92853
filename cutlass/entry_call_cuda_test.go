//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

import (
	"reflect"
	"testing"
)

// entryCall is a call of an entry that returns a given code, and the arguments that the entry
// receives.
type entryCall struct {
	entry string
	call  func(code int) error
	want  []int64
}

// check calls the entry of the fake library, which stores its arguments in record, and compares these
// with want.
func (c entryCall) check(t *testing.T, record []int64) {
	t.Helper()
	for i := range record {
		record[i] = -1 << 40
	}
	if err := c.call(0); err != nil {
		t.Errorf("%s: %v", c.entry, err)
	}
	if got := record[:len(c.want)]; !reflect.DeepEqual(got, c.want) {
		t.Errorf("%s received %v, want %v", c.entry, got, c.want)
	}
}
