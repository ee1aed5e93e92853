//go:build !linux

package device

import "unsafe"

const canMap = false

func mapMemory(int64) (p unsafe.Pointer, unmap func(), err error) {
	return nil, nil, errorf("memory is not mapped on this system")
}
