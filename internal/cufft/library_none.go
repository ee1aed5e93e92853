//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cufft

import "github.com/gpk-go/gpk/cutlass"

func bind(uintptr) (version int, missing string) { return 0, "" }

func bindDriver(uintptr) (missing string) { return "" }

// make returns the reason why this program opens no libraries, like exec.
func (p *Problem) make(uintptr) (plan int, work int64, err error) { return 0, 0, cutlass.Built() }

func destroy(uintptr, int) {}

func (r *run) exec(uintptr) error { return cutlass.Built() }
