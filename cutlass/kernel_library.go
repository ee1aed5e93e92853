package cutlass

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// KernelsABI is the version of the interface between gpk and other kernel libraries:
// GPK_KERNELS_ABI of device/kernels/gpk_kernels.h, which describes it.
const KernelsABI = 1

// KernelLibrary is a loaded library of kernels outside libgpk.so: a program's own, or a
// companion. It is safe for use by several goroutines and is never unloaded. Package
// device/kernels launches its entry points.
type KernelLibrary struct {
	path    string
	handle  uintptr //nolint:unused // only the CUDA build has one
	message uintptr //nolint:unused // gpk_kernels_error_string, 0 if the library lacks it
}

// Path returns the file from which the library was loaded, with links resolved.
func (k *KernelLibrary) Path() string { return k.path }

// KernelEntry is an entry point of a KernelLibrary.
type KernelEntry struct {
	of   *KernelLibrary //nolint:unused // only the CUDA build has one
	name string
	at   uintptr //nolint:unused // its address
}

// Name returns the C name of the entry point.
func (e KernelEntry) Name() string { return e.name }

// KernelLibrarySidecar returns the name of the file that describes the library at path.
func KernelLibrarySidecar(path string) string { return path + ".json" }

// OpenKernelLibrary loads the library at path if it matches its description by
// DescribeKernelLibrary: a shared library for this machine, of the same size and SHA-256,
// and of this KernelsABI. Its errors are *LibraryError; in a program without CUDA parts,
// ErrNotBuilt.
func OpenKernelLibrary(path string) (*KernelLibrary, error) {
	if err := Built(); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(path) // dlopen would search the system's folders for a name without a slash
	if err != nil {
		return nil, err
	}
	const build = "build the library again and describe it (kernels.Describe)"
	resolved, _, err := check(path, described{at: KernelLibrarySidecar, abi: KernelsABI, remedy: build, copy: build})
	if err != nil {
		return nil, err
	}
	return loadKernelLibrary(resolved)
}

// DescribeKernelLibrary writes the description of the library at path that
// OpenKernelLibrary compares with it. A build calls it last.
func DescribeKernelLibrary(path string) error {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	s := Sidecar{ABI: KernelsABI}
	if err := s.Measure(resolved); err != nil {
		return err
	}
	text, err := json.MarshalIndent(struct {
		Size   int64  `json:"size"`
		SHA256 string `json:"sha256"`
		ABI    int    `json:"abi"`
	}{s.Size, s.SHA256, s.ABI}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(KernelLibrarySidecar(resolved), append(text, '\n'), 0o644); err != nil { //nolint:gosec // other users run the library too
		return fmt.Errorf("describe %s: %w", path, err)
	}
	return nil
}
