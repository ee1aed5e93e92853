package cutlass

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// inMemory writes a library to a sealed file that exists only in memory, and returns its
// path. The file stays open until the process ends: the dynamic linker identifies libraries
// by path, and the path of a closed file could become that of another library.
func inMemory(name string, library []byte) (path string, err error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return "", fmt.Errorf("memfd_create: %w", err)
	}
	for len(library) > 0 && err == nil {
		var n int
		n, err = unix.Write(fd, library)
		library = library[max(n, 0):]
		if errors.Is(err, unix.EINTR) {
			err = nil
		}
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err == nil {
		path = fmt.Sprintf("/proc/self/fd/%d", fd)
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", errors.Join(err, unix.Close(fd))
	}
	return path, nil
}
