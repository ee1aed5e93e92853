//go:build !linux && !darwin && !windows

package device

import "runtime"

// hostMemory returns 0: unknown on this system.
func hostMemory() (free, total int64) { return 0, 0 }

// hostName returns the architecture.
func hostName() string { return runtime.GOARCH }
