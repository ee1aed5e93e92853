package matmul

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/internal/atomicfile"
)

// tuneChoice is the kernel that was fastest for a problem, and its time.
type tuneChoice struct {
	Kernel       string  `json:"kernel"`
	Microseconds float64 `json:"us"`
}

// tuneFile holds the measured choices for one device, driver and set of kernels, in memory
// and in a file of the cache folder. Several processes may read and write the file at the
// same time. A damaged file, or one of another device, driver or kernel set, is ignored and
// replaced.
type tuneFile struct {
	path   string // empty: no file
	header tuneHeader

	mu      sync.RWMutex
	choices map[string]tuneChoice
}

type tuneHeader struct {
	Version int    `json:"version"`
	Device  string `json:"device"`
	Driver  string `json:"driver"`
	Kernels string `json:"kernels"`
}

type tuneDocument struct {
	tuneHeader
	Choices map[string]tuneChoice `json:"choices"`
}

// Limits of a valid file.
const (
	tuneVersion = 1
	tuneBytes   = 4 << 20
	tuneEntries = 10_000
	tuneKeyLen  = 512
)

// openTuneFile reads the choices for a device, driver and kernel set.
func openTuneFile(dev, driver, kernels string) *tuneFile {
	f := &tuneFile{header: tuneHeader{tuneVersion, dev, driver, kernels}, choices: map[string]tuneChoice{}}
	dir, err := cutlass.CacheDir()
	if err != nil {
		return f
	}
	hash := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", dev, driver, kernels))
	f.path = filepath.Join(dir, "autotune", hex.EncodeToString(hash[:8])+".json")
	if found, err := f.read(); err == nil {
		f.choices = found
	}
	return f
}

func (f *tuneFile) lookup(key string) (tuneChoice, bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	c, ok := f.choices[key]
	return c, ok
}

// store adds a choice, and writes the file with the choices that other processes have
// added to it. A choice that another process writes at the same moment may be lost,
// and is measured again.
func (f *tuneFile) store(key string, c tuneChoice) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.choices) >= tuneEntries {
		clear(f.choices)
	}
	f.choices[key] = c
	if f.path == "" {
		return nil
	}
	all := maps.Clone(f.choices)
	if found, err := f.read(); err == nil && len(found)+len(all) <= tuneEntries {
		for k, v := range found {
			if _, ok := all[k]; !ok {
				all[k] = v
			}
		}
	}
	text, err := json.MarshalIndent(tuneDocument{f.header, all}, "", " ")
	if err != nil {
		return err
	}
	return writeAtomic(f.path, text)
}

// read returns the choices of the file, and an error if the file is not valid.
func (f *tuneFile) read() (map[string]tuneChoice, error) {
	text, err := atomicfile.Read(f.path, tuneBytes)
	if err != nil {
		return nil, err
	}
	var d tuneDocument
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	if d.tuneHeader != f.header || len(d.Choices) > tuneEntries {
		return nil, fmt.Errorf("%s was measured on another device, driver or kernel set, or has too many choices", f.path)
	}
	for key, c := range d.Choices {
		name, _, _ := kernelNamed(c.Kernel)
		known := slices.ContainsFunc(manifest, func(k cutlass.Kernel) bool { return k.Name == name })
		if !known || key == "" || len(key) > tuneKeyLen || !(c.Microseconds > 0) || math.IsInf(c.Microseconds, 0) {
			return nil, fmt.Errorf("%s: %q: %v is not a valid choice", f.path, key, c)
		}
	}
	if d.Choices == nil {
		d.Choices = map[string]tuneChoice{}
	}
	return d.Choices, nil
}

// writeAtomic replaces a file, so that a reader sees either the old or the new
// content.
func writeAtomic(path string, text []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
