package cutlass

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// SidecarName is the file beside libgpk.so that describes it.
const SidecarName = LibraryName + ".json"

// Sidecar is the description of a library, in the file that setup writes beside it last: if
// the file is missing, the library is incomplete.
type Sidecar struct {
	Size      int64    `json:"size"`       // bytes of the library
	SHA256    string   `json:"sha256"`     // of the library, in lower-case hex
	ABI       int      `json:"abi"`        // GPK_ABI; of a companion, KernelsABI
	KernelSet string   `json:"kernel_set"` // hash of the sources
	CUDA      int      `json:"cuda"`       // CUDART_VERSION: 13000 is 13.0
	Archs     []string `json:"archs"`      // 90a, 80, …
	Units     []string `json:"units"`      // the translation units that it contains
	Inputs    string   `json:"inputs"`     // hash of setup's link inputs, to detect that nothing changed
}

// SameBuild reports whether two libraries are of one kernel set, CUDA version and list of
// targets, as libgpk.so and its companions have to be.
func (s Sidecar) SameBuild(o Sidecar) bool {
	return s.KernelSet == o.KernelSet && s.CUDA == o.CUDA && slices.Equal(s.Archs, o.Archs)
}

// maxSidecar bounds the number of bytes that are read of a description: a real one has some
// kilobytes.
const maxSidecar = 1 << 20

// ReadSidecar reads the description beside the library.
func ReadSidecar(library string) (Sidecar, error) {
	return readSidecar(filepath.Join(filepath.Dir(library), SidecarName))
}

func readSidecar(path string) (Sidecar, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Sidecar{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSidecar {
		return Sidecar{}, fmt.Errorf("%s is not a description of a library", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Sidecar{}, err
	}
	var s Sidecar
	if err := json.Unmarshal(text, &s); err != nil {
		return Sidecar{}, fmt.Errorf("%s: %w", path, err)
	}
	if err := s.valid(); err != nil {
		return Sidecar{}, fmt.Errorf("%s %w", path, err)
	}
	return s, nil
}

func (s *Sidecar) valid() error {
	if s.Size <= 0 || len(s.SHA256) != 2*sha256.Size || s.ABI <= 0 {
		return errors.New("lacks size, SHA-256 or ABI")
	}
	return nil
}

// Measure sets size and SHA-256 from the library's file.
func (s *Sidecar) Measure(library string) error {
	file, err := os.Open(library)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	s.Size = info.Size()
	s.SHA256, err = hash(file)
	return err
}

func hash(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
