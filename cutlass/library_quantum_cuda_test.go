//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

import (
	"errors"
	"math"
	"runtime"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// TestQuantumEntries checks that every argument arrives at its place.
func TestQuantumEntries(t *testing.T) {
	lib := openFake(t)
	record := make([]int64, 32)
	stream := uint64(uintptr(unsafe.Pointer(&record[0])))
	defer runtime.KeepAlive(record)
	f := func(x float64) int64 { return int64(math.Float64bits(x)) }
	for _, c := range []entryCall{
		{"gpk_quantum_angles", func(code int) error {
			return lib.QuantumAngles(code, stream, QuantumAngles{dtype.Float64, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13})
		}, []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}},
		{"gpk_quantum_slots", func(code int) error {
			return lib.QuantumSlots(code, stream, QuantumSlots{dtype.Float64, 3, 4, 5, 6, 7, 8, 9, 10, 11})
		}, []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		{"gpk_quantum_pass", func(code int) error {
			return lib.QuantumPass(code, stream, QuantumPass{dtype.Complex64, 3, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, []int32{14, 15}})
		}, []int64{10, 3, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
		{"gpk_quantum_norms", func(code int) error {
			return lib.QuantumNorms(code, stream, QuantumNorms{dtype.Float64, 3, 4, 5, 6, true})
		}, []int64{2, 3, 4, 5, 6, 1}},
		{"gpk_quantum_closed", func(code int) error {
			return lib.QuantumClosed(code, stream, QuantumClosed{QuantumPairs{3, 4, 5, 6, 7, 8, 9, 10, true}, dtype.Float64, false, true, 11, 12})
		}, []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 0, 1, 11, 12}},
		{"gpk_quantum_finish", func(code int) error {
			return lib.QuantumFinish(code, stream, QuantumFinish{dtype.Float64, 3, 4, 5, 6, 7, 8, true, false, 9.5, 10, 11, 12.5, 13, 14, 15})
		}, []int64{2, 3, 4, 5, 6, 7, 8, 1, 0, f(9.5), 10, 11, f(12.5), 13, 14, 15}},
		{"gpk_quantum_closed_whole", func(code int) error {
			_, err := lib.QuantumClosedWhole(code, stream, QuantumClosedWhole{dtype.Float64, 3, 4, 5, 6, 7, 8, 9, []byte{1, 2, 77}, 11, 12, 13, 14, 15, 16, 1.5, 17, 18, 19, 20, 21})
			return err
		}, []int64{2, 3, 4, 5, 6, 7, 8, 9, 77, 3, 11, 12, 13, 14, 15, 16, f(1.5), 17, 18, 19, 20, 21}},
		{"gpk_quantum_closed_gram", func(code int) error {
			return lib.QuantumClosedGram(code, stream, QuantumClosedGram{QuantumPairs{2, 3, 4, 5, 6, 7, 8, 9, true}, 11, 12, 13, 14, true, 15.5, 16, 17, 18})
		}, []int64{2, 3, 4, 5, 6, 7, 8, 9, 1, 11, 12, 13, 14, 1, f(15.5), 16, 17, 18}},
		{"gpk_quantum_gram", func(code int) error {
			return lib.QuantumGram(code, stream, QuantumGram{false, true, true, 3, 4, 5, true, 6, 7, 8, 9, 10, 11, 12.5, 13, 14, 15.5, 16, 17, 18})
		}, []int64{0, 1, 1, 3, 4, 5, 1, 6, 7, 8, 9, 10, 11, f(12.5), 13, 14, f(15.5), 16, 17, 18}},
	} {
		c.check(t, record)
		var e *Error
		if err := c.call(2); !errors.As(err, &e) || e.Entry != c.entry || !e.OutOfMemory() {
			t.Errorf("%s: %v, want out of memory", c.entry, err)
		}
	}
	if n, err := lib.QuantumFinishWorkspace(12, 34); n != 1234 || err != nil {
		t.Errorf("QuantumFinishWorkspace: %d, %v", n, err)
	}
	var e *Error
	q := QuantumGram{Real: true, Factor: true, Rows: 4, Cols: 5, Width: 6, Triangle: true}
	if n, err := lib.QuantumGramWorkspace(0, q); n != 11045061 || err != nil {
		t.Errorf("QuantumGramWorkspace: %d, %v", n, err)
	}
	if _, err := lib.QuantumGramWorkspace(2, q); !errors.As(err, &e) || !e.OutOfMemory() {
		t.Errorf("QuantumGramWorkspace: %v, want out of memory", err)
	}
	for range 2 { // what is known of a device, and what is not, where it could not be asked
		if has, err := lib.HasQuantumGram(0); !has || err != nil {
			t.Errorf("HasQuantumGram: %v, %v", has, err)
		}
		if has, err := lib.HasQuantumGram(2); has || !errors.As(err, &e) || !e.OutOfMemory() {
			t.Errorf("HasQuantumGram: %v, %v, want out of memory", has, err)
		}
	}
	lib.grams[0].Store(1)
	if has, err := lib.HasQuantumGram(0); has || err != nil {
		t.Errorf("HasQuantumGram: %v, %v of a device that is known to have none", has, err)
	}
	if err := lib.QuantumPass(0, 0, QuantumPass{Qubits: 3, At: []int32{0}}); !errors.As(err, &e) || e.Code != CodeArgument {
		t.Errorf("one position for three qubits: %v", err)
	}
}
