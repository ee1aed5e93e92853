// Package atomicfile replaces files atomically: a name refers to the old file or to the
// complete new one, even after a crash. Read reads a file of bounded size.
//
// What belongs here: how a file gets its name. What does not: its contents.
package atomicfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Write creates the file path with the data that fill writes. It writes a temporary file in
// path's folder, and renames it when all data are on the disk. If there is an error, or fill
// panics, it removes the temporary file. If path exists, the new file gets its mode; if it
// is a link, the file that it names is replaced. A new file has the mode of os.Create.
func Write(path string, fill func(io.Writer) error) error { return write(path, 0, fill) }

// WritePrivate is Write with the mode 0600, even if the file exists with another mode.
func WritePrivate(path string, fill func(io.Writer) error) error { return write(path, 0o600, fill) }

// Read returns the text of a regular file of at most `most` bytes.
func Read(path string, most int) ([]byte, error) {
	// Checked before the file is opened, because opening a pipe waits for its writer.
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	return text, err
}

// write is Write with a mode; 0 stands for that of an existing file or of os.Create.
func write(path string, mode fs.FileMode, fill func(io.Writer) error) (err error) {
	target, err := follow(path)
	if err != nil {
		return err
	}
	old, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !old.Mode().IsRegular(): // it would be removed
		return fmt.Errorf("%s: %w: it is not a regular file", path, fs.ErrInvalid)
	}
	f, err := create(target, cmp.Or(mode, 0o666))
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // an error, or a panic
			f.Close()
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	if err == nil && old != nil && mode == 0 {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err = os.Rename(f.Name(), target); err == nil {
		done = true
	}
	return err
}

// maxLinks is the maximum number of consecutive links that are followed, as on Linux.
const maxLinks = 40

// follow returns the file that path names, with links followed.
func follow(path string) (string, error) {
	for at, links := path, 0; ; links++ {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return at, nil
		}
		if err != nil {
			return "", err
		}
		if links == maxLinks {
			return "", fmt.Errorf("%s: %w: more than %d links", path, fs.ErrInvalid, maxLinks)
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Not Join, which removes a/.. although a may be a link.
			to = filepath.Dir(at) + string(filepath.Separator) + to
		}
		at = to
	}
}

// create makes a file in path's folder. It does not use os.CreateTemp, whose files have the
// mode 0600, whatever the umask allows.
func create(path string, mode fs.FileMode) (*os.File, error) {
	for try := 0; ; try++ {
		name := ".new-" + strconv.FormatUint(rand.Uint64(), 36)
		f, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		var at *fs.PathError
		if errors.As(err, &at) {
			at.Path = path // the caller knows this path
		}
		return f, err
	}
}
