//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cusolver

import "github.com/gpk-go/gpk/cutlass"

// session is cuSOLVER's own state of a handle.
type session struct{}

func bind(uintptr) (version int, missing string) { return 0, "" }

func bindDriver(uintptr) (missing string) { return "" }

// Supported reports whether the library has a function.
func Supported(Kind) bool { return false }

// newSession returns the reason why this program opens no libraries, like the methods.
func newSession(uintptr) (*session, error) { return nil, cutlass.Built() }

func (*session) end(uintptr) {}

func (*session) size(uintptr, *Call) (work, host int64, err error) { return 0, 0, cutlass.Built() }

func (*session) run(uintptr, *Call, *request) error { return cutlass.Built() }
