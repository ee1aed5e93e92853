package device

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpk-go/gpk/cutlass"
)

// maxCacheBytes bounds the compiled kernels on disk; beyond it the least recently used ones
// are deleted.
const maxCacheBytes = 128 << 20

// kernelCache returns the folder of the kernels that were compiled at run time, or "" if
// there is no cache.
func kernelCache() string {
	dir, err := cutlass.CacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "kernels")
}

// cacheKey identifies a compiled kernel by its source, the options (which include the
// architecture), the compiler, the headers if the source may include them, and the driver.
func cacheKey(c *Code, options []string, headers string, version int, driver string) string {
	key := c.key()
	h := sha256.New()
	h.Write(key[:])
	if c.Headers && headers != "" {
		hashHeaders(h, headers)
	}
	for _, s := range append([]string{fmt.Sprint(version), driver}, options...) {
		fmt.Fprintf(h, "%d\n%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashHeaders identifies a set of headers by the names, sizes and times of its files,
// because there are thousands, and a source may include any of them.
func hashHeaders(h hash.Hash, dir string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a compilation cannot include a file that cannot be read
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			fmt.Fprintf(h, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
}

// cacheFile is a compiled kernel on disk: a header, the SHA-256 of the rest, the lengths of
// name and image, then name and image.
type cacheFile struct{ dir, key string }

const cacheMagic = "gpk kernel 1\n"

func (f cacheFile) path() string { return filepath.Join(f.dir, f.key) }

// read returns the kernel, and false if the file is missing or damaged.
func (f cacheFile) read() (b binaryImage, ok bool) {
	if f.dir == "" {
		return b, false
	}
	if !ownFile(f.path()) {
		return b, false
	}
	data, err := os.ReadFile(f.path())
	if err != nil {
		return b, false
	}
	rest, ok := bytes.CutPrefix(data, []byte(cacheMagic))
	if !ok || len(rest) < sha256.Size+16 {
		return b, false
	}
	sum, rest := rest[:sha256.Size], rest[sha256.Size:]
	if got := sha256.Sum256(rest); !bytes.Equal(got[:], sum) {
		return b, false
	}
	name, image := binary.LittleEndian.Uint64(rest), binary.LittleEndian.Uint64(rest[8:])
	rest = rest[16:]
	if name > uint64(len(rest)) || image != uint64(len(rest))-name {
		return b, false
	}
	now := time.Now()
	_ = os.Chtimes(f.path(), now, now) // marks it as used
	return binaryImage{name: string(rest[:name]), image: rest[name:]}, true
}

// write stores a kernel. The file appears atomically; if it cannot be written, nothing is
// stored.
func (f cacheFile) write(b binaryImage) {
	if f.dir == "" || os.MkdirAll(f.dir, 0o700) != nil {
		return
	}
	body := binary.LittleEndian.AppendUint64(nil, uint64(len(b.name)))
	body = binary.LittleEndian.AppendUint64(body, uint64(len(b.image)))
	body = append(append(body, b.name...), b.image...)
	sum := sha256.Sum256(body)
	data := slices.Concat([]byte(cacheMagic), sum[:], body)

	temp, err := os.CreateTemp(f.dir, cacheTemp+"*") // with mode 0600
	if err != nil {
		return
	}
	_, err = temp.Write(data)
	if e := temp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp.Name(), f.path())
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return
	}
	pruneCache(f.dir, maxCacheBytes)
}

// cacheTemp is the prefix of files that are being written.
const cacheTemp = ".new-"

// pruneCache removes the least recently used files until the folder holds at most limit
// bytes, and files whose writer died.
func pruneCache(dir string, limit int64) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var files []os.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasPrefix(e.Name(), cacheTemp) {
			if time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
			continue
		}
		files = append(files, info)
		total += info.Size()
	}
	slices.SortFunc(files, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		if total <= limit {
			return
		}
		if os.Remove(filepath.Join(dir, info.Name())) == nil {
			total -= info.Size()
		}
	}
}
