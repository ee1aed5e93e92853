//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cusolver

import "github.com/gpk-go/gpk/cutlass"

type context = uintptr

// session is cuSOLVER's own state of a handle.
type session struct{}

// load answers why this program opens no libraries, as all functions here do.
func load(string) (version int, err error) { return 0, cutlass.Built() }

// Supported reports whether the library has a function.
func Supported(Kind) bool { return false }

func bindDriver() error { return cutlass.Built() }

func retain(int) (context, error) { return 0, cutlass.Built() }

func newSession(context) (*session, error) { return nil, cutlass.Built() }

func (*session) size(context, *Call) (work, host int64, err error) { return 0, 0, cutlass.Built() }

func (*session) run(context, *Call, *request) error { return cutlass.Built() }
