package quantum

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/interop/npy"
)

// A K that several ranks write into File is in the folder File.parts until it is complete:
//
//	run      a description of the run, as JSON; another run is refused
//	K.npy    K, with its header and whole length from the beginning
//	rank-3   a byte for each tile of rank 3, 1 once the tile is on the disk
//
// The folder appears by a rename, with run and K.npy in it. Every rank writes its own tiles and
// its own record, so no two ranks write the same bytes. Two processes that compute the same
// shard write the same values. The rank that finds all records complete renames K.npy to File.

// record is a rank's record of finished tiles in the folder of a run.
type record struct {
	file, folder string
	run          runFile
	loads        []load   // the loads of every rank
	data         *os.File // K.npy, opened for writing only: a network file system then writes the bytes of this rank, not whole pages
	log          *os.File
	done         []byte
	pending      []int         // finished tiles that are not recorded yet
	synced       time.Time     // when tiles were last recorded
	took         time.Duration // how long that took
}

// runFile describes a run.
type runFile struct {
	Format, Ranks, Side, Rows, Columns int
	Type, Circuit, X, Y, Options       string // the last four are digests
}

const runFormat = 2

// maxRunBytes bounds the file run.
const maxRunBytes = 1 << 16

// After the first tile, finished tiles are recorded at most this often, and at most in this
// fraction of the time. If a process is killed, the tiles that it has computed since then are
// computed again.
const (
	syncEvery = 50 * time.Millisecond
	syncShare = 20
)

// errComplete means that another rank has already completed the file.
var errComplete = errors.New("complete")

// openRecord opens the folder of a run, or makes it. The error is errComplete if other ranks have
// already completed the run.
func openRecord(file string, run runFile, p *share, replace bool) (_ *record, err error) {
	r := &record{file: file, folder: file + ".parts", run: run, loads: p.loads}
	begun, err := r.begun()
	if err == nil && !begun {
		if info, wrong := os.Stat(file); wrong == nil && (!replace || !info.Mode().IsRegular()) {
			return nil, fmt.Errorf("%w: %s already exists; a shard does not replace it, so remove it first", gpk.ErrUnsupported, file)
		}
		err = r.create()
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.data, err = os.OpenFile(filepath.Join(r.folder, "K.npy"), os.O_WRONLY, 0); errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Stat(file); there == nil && r.allDone() {
			return nil, errors.Join(r.retire(), errComplete) // a rank died after the rename of K.npy
		}
		return nil, fmt.Errorf("%s: K.npy is missing; remove the folder to begin anew", r.folder)
	} else if err != nil {
		return nil, err
	}
	if info, err := r.data.Stat(); err != nil || info.Size() != run.size() {
		return nil, errors.Join(err, fmt.Errorf("%s: K.npy does not have %d bytes; remove the folder to begin anew", r.folder, run.size()))
	}
	return r, r.openLog(p)
}

// begun reports whether there is a folder of this run. A folder of another run is an error.
func (r *record) begun() (bool, error) {
	f, err := os.Open(filepath.Join(r.folder, "run"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Stat(r.folder); there == nil {
			return false, fmt.Errorf("%w: %s exists and is not the folder of a run; remove it", gpk.ErrUnsupported, r.folder)
		}
		return false, nil
	} else if err != nil {
		return false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRunBytes))
	if err != nil {
		return false, err
	}
	var old runFile
	if err := json.Unmarshal(text, &old); err != nil {
		return false, fmt.Errorf("%w: %s/run: %w; remove the folder to begin anew", gpk.ErrUnsupported, r.folder, err)
	}
	if what := old.differs(r.run); what != "" {
		return false, fmt.Errorf("%w: %s was begun with %s; remove the folder to begin anew", gpk.ErrUnsupported, r.folder, what)
	}
	return true, nil
}

// differs describes the first property in which this run differs from r, or returns "".
func (o runFile) differs(r runFile) string {
	switch {
	case o.Format != r.Format:
		return "another version of gpk"
	case o.Ranks != r.Ranks:
		return fmt.Sprintf("%d ranks, not %d", o.Ranks, r.Ranks)
	case o.Rows != r.Rows || o.Columns != r.Columns:
		return fmt.Sprintf("a K of %d x %d, not %d x %d", o.Rows, o.Columns, r.Rows, r.Columns)
	case o.Circuit != r.Circuit:
		return "another circuit"
	case o.X != r.X:
		return "other samples x"
	case o.Y != r.Y:
		return "other samples y"
	case o.Side != r.Side:
		return fmt.Sprintf("tiles of %d samples, not %d", o.Side, r.Side)
	case o != r:
		return "other options (precision, path, normalize or jitter)"
	}
	return ""
}

// header returns the beginning of K's file.
func (o runFile) header() []byte {
	h, _ := npy.Header(o.dtype(), o.Rows, o.Columns) // the plan has checked the shape
	return h
}

func (o runFile) dtype() gpk.DType {
	if o.Type == gpk.Float64.String() {
		return gpk.Float64
	}
	return gpk.Float32
}

// size returns the length of K's file.
func (o runFile) size() int64 {
	return int64(len(o.header())) + int64(o.Rows)*int64(o.Columns)*int64(o.dtype().Size())
}

// create makes the folder unless another rank has just made it.
func (r *record) create() error {
	temp, err := os.MkdirTemp(filepath.Dir(r.file), "."+filepath.Base(r.folder)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	text, err := json.MarshalIndent(r.run, "", "\t")
	if err != nil {
		return err
	}
	err = errors.Join(os.Chmod(temp, 0o755), writeSynced(filepath.Join(temp, "run"), text, int64(len(text))),
		writeSynced(filepath.Join(temp, "K.npy"), r.run.header(), r.run.size()))
	if err != nil {
		return err
	}
	if err = os.Rename(temp, r.folder); err == nil {
		return nil
	}
	if begun, wrong := r.begun(); begun || wrong != nil {
		return wrong
	}
	return err
}

// writeSynced writes a new file of size bytes, which begins with text and is zero after it, and
// syncs it.
func writeSynced(name string, text []byte, size int64) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Truncate(size), f.Sync(), f.Close())
}

// openLog reads which tiles the rank has finished.
func (r *record) openLog(p *share) (err error) {
	if r.log, err = os.OpenFile(r.logName(p.rank), os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return err
	}
	r.done = make([]byte, len(p.index))
	info, err := r.log.Stat()
	if err == nil && info.Size() == 0 {
		err = r.log.Truncate(int64(len(r.done)))
	} else if err == nil && info.Size() != int64(len(r.done)) {
		return r.damaged(p.rank)
	}
	if err != nil {
		return err
	}
	if _, err := r.log.ReadAt(r.done, 0); err != nil && len(r.done) > 0 {
		return err
	}
	if slices.ContainsFunc(r.done, func(b byte) bool { return b > 1 }) {
		return r.damaged(p.rank)
	}
	return nil
}

func (r *record) damaged(rank int) error {
	return fmt.Errorf("%w: %s is damaged; remove it to compute the tiles of rank %d again", gpk.ErrUnsupported, r.logName(rank), rank)
}

func (r *record) logName(rank int) string { return filepath.Join(r.folder, "rank-"+strconv.Itoa(rank)) }

// has reports whether a tile is finished.
func (r *record) has(tile int) bool { return r != nil && r.done[tile] == 1 }

// mark adds a written tile to the pending ones, and flushes them when it is time.
func (r *record) mark(tile int) error {
	r.pending = append(r.pending, tile)
	if time.Since(r.synced) < max(syncEvery, syncShare*r.took) {
		return nil
	}
	return r.flush()
}

// flush records the pending tiles: it syncs K.npy, and then writes the record. If the first Sync
// fails, the tiles are never recorded, because a later Sync may succeed although they are lost.
func (r *record) flush() error {
	if len(r.pending) == 0 {
		return nil
	}
	begun, pending := time.Now(), r.pending
	r.pending = nil
	if err := r.data.Sync(); err != nil {
		return err
	}
	for _, tile := range pending {
		r.done[tile] = 1
		if _, err := r.log.WriteAt(r.done[tile:tile+1], int64(tile)); err != nil {
			return err
		}
	}
	err := r.log.Sync()
	r.synced, r.took = time.Now(), time.Since(begun)
	return err
}

// allDone reports whether all ranks have recorded all tiles.
func (r *record) allDone() bool {
	for rank, l := range r.loads {
		if done, err := readLog(r.logName(rank), l.tiles); err != nil || bytes.Count(done, []byte{1}) != l.tiles {
			return false
		}
	}
	return true
}

// readLog reads a record of `tiles` tiles. If the file is longer, it reads only this part.
func readLog(name string, tiles int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(tiles)))
}

// complete gives K its final name if all ranks are done, and reports whether it has it.
func (r *record) complete() (bool, error) {
	if r.allDone() {
		err := os.Rename(filepath.Join(r.folder, "K.npy"), r.file)
		if err == nil {
			return true, r.retire()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	} else if _, err := os.Stat(r.folder); !errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	_, err := os.Stat(r.file)
	return err == nil, nil // if K exists, another rank has completed it; otherwise the folder was removed
}

// retire removes the folder. It first renames the folder, so that it disappears as a whole.
func (r *record) retire() error {
	temp, err := os.MkdirTemp(filepath.Dir(r.file), "."+filepath.Base(r.folder)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	if err := os.Rename(r.folder, filepath.Join(temp, "parts")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (r *record) close() {
	if r == nil {
		return
	}
	if r.data != nil {
		r.data.Close()
	}
	if r.log != nil {
		r.log.Close()
	}
}
