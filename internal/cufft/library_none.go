//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cufft

import "github.com/gpk-go/gpk/cutlass"

type context = uintptr

// load answers why this program opens no libraries, as all functions here do.
func load(string) (version int, err error) { return 0, cutlass.Built() }

func bindDriver() error { return cutlass.Built() }

func retain(int) (context, error) { return 0, cutlass.Built() }

func (p *Problem) make(context) (plan int, work int64, err error) { return 0, 0, cutlass.Built() }

func destroy(context, int) {}

func (r *run) exec(context) error { return cutlass.Built() }
