//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package nccl

import (
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/submit"
)

func bind(uintptr) (version int, missing string) { return 0, "" }

func bindDriver(uintptr) (missing string) { return "" }

// NewID returns an ID for Init, to be given to all ranks. Here it returns the reason why this program opens no
// libraries, as do all functions below.
func NewID() (id ID, err error) { return id, cutlass.Built() }

func initRank(Context, int, ID, int) (handle uintptr, err error) { return 0, cutlass.Built() }

func (*Comm) split(int, int) (handle uintptr, err error) { return 0, cutlass.Built() }

func (*Comm) run(*Call) error { return cutlass.Built() }

func (*Comm) asyncError() error { return cutlass.Built() }

func (*Comm) abort() error { return cutlass.Built() }

func (*Comm) destroy() error { return cutlass.Built() }

type queuedCalls struct{}

func newQueuedCalls(Context, uintptr) queuedCalls { return queuedCalls{} }

func (queuedCalls) write(*submit.Record, *Call) bool { return false }

func (queuedCalls) failure() error { return nil }

func (queuedCalls) end() {}

func (queuedCalls) running() bool { return false }

func (queuedCalls) release() {}
