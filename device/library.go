package device

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk/cutlass"
)

// openLibrary opens the kernel library of a system.
func openLibrary() (*cutlass.Library, error) { return cutlass.Open(cutlass.OpenOptions{}) }

// usable returns the reason why a GPU cannot use a kernel library, or nil.
func usable(lib *cutlass.Library, gpu Info) error {
	// Within a major version of CUDA, a newer library runs on an older driver.
	if cuda := lib.CUDAVersion(); gpu.CUDA/1000 < cuda/1000 {
		return fmt.Errorf("the kernel library %s was built with CUDA %d.%d and needs NVIDIA driver %d or newer; this is driver %s: install a newer one, or build with an older CUDA (`gpk doctor` says how)",
			lib.Path(), cuda/1000, cuda%1000/10, cutlass.MinDriver(cuda), gpu.Driver)
	}
	archs := lib.Describe().Archs
	for _, a := range archs {
		if archServes(a, gpu.SM) {
			return nil
		}
	}
	return fmt.Errorf("the kernel library %s was built for %s and has no code for SM %d; `gpk setup` builds it for the GPUs of this machine",
		lib.Path(), strings.Join(archs, ", "), gpu.SM)
}

// archServes reports whether kernels that were built for arch are meant for a GPU. 90a runs
// only on SM 90. Others run on their own SM and, by PTX, on all later ones except 90, which
// has its own kernels.
func archServes(arch string, sm int) bool {
	number, own := strings.CutSuffix(arch, "a")
	a, err := strconv.Atoi(number)
	if err != nil {
		return false
	}
	if own || sm == 90 {
		return a == sm
	}
	return a <= sm
}
