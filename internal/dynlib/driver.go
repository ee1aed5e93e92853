package dynlib

import "errors"

// Driver returns the handle of CUDA's driver, which package device loads. It loads nothing itself.
func Driver() (handle uintptr, err error) {
	if h := Loaded("libcuda.so.1"); h != 0 {
		return h, nil
	}
	return 0, errors.New("the driver is not loaded")
}
