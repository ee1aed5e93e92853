package dynlib

import (
	"errors"
	"fmt"
	"sync"
)

// Opened is an optional library that a process opens at most once, when it is first needed.
type Opened struct {
	Library
	// Bind binds the library's functions. It returns the version that the library states, or 0, and the
	// name of a function that the library lacks, or "".
	Bind func(handle uintptr) (version int, missing string)
	// BindDriver binds the functions of CUDA's driver that are used besides the library. It returns the name
	// of a missing one, or "".
	BindDriver func(driver uintptr) (missing string)
	Major      int            // the version is Major times its first number: 1000, with 12004 for 12.0.4
	Least      int            // the oldest version that is used; 0: any
	Codes      map[int]string // the names of results

	once    sync.Once
	path    string
	version int
	err     error

	driver struct {
		sync.Mutex
		bound bool
	}
}

// Load finds and opens the library in the first call. The error is a *NotFoundError.
func (o *Opened) Load() error {
	o.once.Do(func() { o.err = o.Find(o.open) })
	return o.err
}

// open opens and binds the library at an absolute path.
func (o *Opened) open(path string) error {
	handle, err := Open(path)
	if err != nil {
		return err
	}
	version, missing := o.Bind(handle)
	switch {
	case missing != "":
		return errors.New("lacks " + missing)
	case version == 0:
		return errors.New("does not say which version it is")
	case version < o.Least:
		return fmt.Errorf("it is %s; %s or newer is needed", o.versionText(version), o.versionText(o.Least))
	}
	o.path, o.version = path, version
	return nil
}

func (o *Opened) versionText(v int) string {
	return fmt.Sprintf("%s %d.%d.%d", o.Name, v/o.Major, v%o.Major/100, v%100)
}

// Version names the library and its version, such as "cuFFT 12.0.0". It is known once Load has returned nil.
func (o *Opened) Version() string { return o.versionText(o.version) }

// Number returns the version as the library states it: 22809 is NCCL 2.28.9.
func (o *Opened) Number() int { return o.version }

// Path returns the file of the library, "" before Load has returned nil.
func (o *Opened) Path() string { return o.path }

// Context returns the primary context of a GPU, which package device has made, for functions that BindDriver
// has bound.
func (o *Opened) Context(ordinal int) (context uintptr, err error) {
	driver, err := Driver()
	if err != nil {
		return 0, err
	}
	o.driver.Lock()
	defer o.driver.Unlock()
	if !o.driver.bound {
		if missing := o.BindDriver(driver); missing != "" {
			return 0, errors.New("the driver lacks " + missing)
		}
		o.driver.bound = true
	}
	return retain(driver, ordinal)
}
