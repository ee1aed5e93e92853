//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package nccl

import "github.com/gpk-go/gpk/cutlass"

// load returns the reason why this program opens no libraries, as do all functions here.
func load(string) (version int, err error) { return 0, cutlass.Built() }

func bindDriver() error { return cutlass.Built() }

func retain(int) (Context, error) { return 0, cutlass.Built() }

// NewID returns an ID for Init, to be given to all ranks.
func NewID() (id ID, err error) { return id, cutlass.Built() }

func initRank(Context, int, ID, int) (handle uintptr, err error) { return 0, cutlass.Built() }

func (*Comm) split(int, int) (handle uintptr, err error) { return 0, cutlass.Built() }

func (*Comm) run(*Call) error { return cutlass.Built() }

func (*Comm) asyncError() error { return cutlass.Built() }

func (*Comm) abort() error { return cutlass.Built() }

func (*Comm) destroy() error { return cutlass.Built() }
