//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

import "unsafe"

func loadKernelLibrary(string) (*KernelLibrary, error) { return nil, Built() }

// Entry returns ErrNotBuilt.
func (*KernelLibrary) Entry(string) (KernelEntry, error) { return KernelEntry{}, Built() }

// Call returns ErrNotBuilt.
func (KernelEntry) Call(int, uint64, unsafe.Pointer, uintptr) error { return Built() }
