package route

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/atomicfile"
	"github.com/gpk-go/gpk/matmul"
)

// header describes the machine and the settings of a measurement.
type header struct {
	Version   int    `json:"version"`
	CPU       string `json:"cpu"`
	Threads   int    `json:"threads"`
	Arch      string `json:"arch"`
	GPU       string `json:"gpu"` // "": none
	Driver    string `json:"driver"`
	Kernels   string `json:"kernels"`
	Precision string `json:"precision"` // of a float32 product whose call names none
}

// document is the content of a cache file.
type document struct {
	Header header                  `json:"header"`
	Curves map[string][][2]float64 `json:"curves"` // pairs of work and seconds
}

// Limits of a valid file.
const (
	cacheVersion = 4
	cacheBytes   = 1 << 20
	maxWork      = 1 << 62
	leastSeconds = 1e-10
	maxSeconds   = 1e4
)

func headerOf(host, gpu *device.Device) header {
	h := header{Version: cacheVersion, CPU: host.Info().Name, Threads: runtime.GOMAXPROCS(0), Arch: runtime.GOARCH}
	p, _ := matmul.Options{}.Resolve(dtype.Float32) // an invalid precision fails where it is used
	h.Precision = p.String()
	if gpu != nil {
		h.GPU, h.Driver = gpu.Info().Name, gpu.Info().Driver
		if lib := gpu.Library(); lib != nil {
			h.Kernels = lib.KernelSet()
		}
	}
	return h
}

// path returns the path of the file in a cache folder.
func (h header) path(cache string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", h))
	return filepath.Join(cache, "route", hex.EncodeToString(sum[:8])+".json")
}

// cacheFile is a file with the results of a measurement.
type cacheFile struct {
	path   string // "": there is no cache
	header header
}

var errNoCache = errors.New("no cache folder")

// read returns the content of the file, or an error if it is not valid.
func (f cacheFile) read() (tables, error) {
	if f.path == "" {
		return nil, errNoCache
	}
	text, err := atomicfile.Read(f.path, cacheBytes)
	if err != nil {
		return nil, err
	}
	return parse(text, f.header)
}

// parse reads a document. Its header must be h.
func parse(text []byte, h header) (tables, error) {
	var d document
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&d); err != nil {
		return nil, err
	}
	if d.Header != h {
		return nil, errors.New("measured elsewhere")
	}
	t := tables{}
	for name, points := range d.Curves {
		if err := check(points); err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		for _, p := range points {
			t[name] = append(t[name], point{p[0], p[1]})
		}
	}
	for _, name := range wanted(h.GPU != "") {
		if _, ok := d.Curves[name]; !ok {
			return nil, fmt.Errorf("%q is missing", name)
		}
		delete(d.Curves, name)
	}
	for name := range d.Curves {
		return nil, fmt.Errorf("%q is not a curve", name)
	}
	return t, nil
}

// check returns an error if the points of a curve are not within the limits.
func check(points [][2]float64) error {
	if len(points) == 0 || len(points) > maxPoints {
		return fmt.Errorf("%d points", len(points))
	}
	before := 0.0
	for _, p := range points {
		work, seconds := p[0], p[1]
		if !(work >= 1 && work <= maxWork && work > before) || !(seconds >= leastSeconds && seconds <= maxSeconds) {
			return fmt.Errorf("%v is not a point after work %v", p, before)
		}
		before = work
	}
	return nil
}

// wanted returns the names of the curves that a file must have.
func wanted(gpu bool) (names []string) {
	kinds := []device.Kind{device.CPU}
	if gpu {
		kinds = append(kinds, device.CUDA)
		names = append(names, upName, downName)
	}
	for _, k := range kinds {
		for c := range classes {
			for _, dt := range dtype.All {
				if c.measuredOn(k) && meaningful(c, dt) {
					names = append(names, curveName(k, c, dt))
				}
			}
		}
	}
	return names
}

// write stores tables. The file appears atomically, and only its owner can read it.
func (f cacheFile) write(t tables) error {
	if f.path == "" {
		return errNoCache
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	text, err := encode(f.header, t)
	if err != nil {
		return err
	}
	return atomicfile.WritePrivate(f.path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// encode returns the text of a file.
func encode(h header, t tables) ([]byte, error) {
	d := document{h, map[string][][2]float64{}}
	for name, points := range t {
		for _, p := range points {
			d.Curves[name] = append(d.Curves[name], [2]float64{p.Work, p.Seconds})
		}
	}
	return json.MarshalIndent(d, "", "\t")
}
