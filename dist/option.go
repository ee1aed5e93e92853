package dist

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// Option is an option of Join: OnDevice, OnDevices, Timeout, Silence, Engine, Environment.
type Option func(*options) error

type options struct {
	devices []*device.Device
	timeout time.Duration
	silence time.Duration
	linger  time.Duration
	engine  EngineName
	get     func(string) string
	version string
}

// EngineName is the name of an engine, which moves data between processes.
type EngineName string

// The engines between processes. NCCL moves data between GPUs. MPI is the library of the launcher;
// TCP moves everything through rank 0, which is meant for few ranks and for machines without MPI.
const (
	NCCL EngineName = "nccl"
	MPI  EngineName = "mpi"
	TCP  EngineName = "tcp"
)

// OnDevice sets the device of the rank. The default is the GPU whose number is the rank's number on its host, or the
// default device if there are no GPUs.
func OnDevice(d *device.Device) Option { return OnDevices(d) }

// OnDevices makes the process hold one rank for each of the devices, of which there must be at least one. All processes
// must have the same number n of devices. The process with number i of the launcher holds the ranks n*i to n*i+n-1;
// GPK_RANK and GPK_SIZE number processes. A device may be listed several times, for example the CPU in tests of
// programs. Data moves by NCCL or over TCP, because MPI needs a process for each rank.
func OnDevices(devices ...*device.Device) Option {
	return func(o *options) error {
		if len(devices) == 0 {
			return fmt.Errorf("%w: OnDevices without a device", gpk.ErrUnsupported)
		}
		for _, d := range devices {
			if err := d.Err(); err != nil {
				return err
			}
		}
		o.devices = slices.Clone(devices)
		return nil
	}
}

// Timeout sets how long Join waits for the other ranks. The default is a minute.
func Timeout(d time.Duration) Option {
	return func(o *options) error {
		o.timeout = d
		return positive("Timeout", d)
	}
}

// Silence sets how long a rank may be silent before it counts as lost. The default is 4 seconds. All ranks use the
// value of rank 0, which rank 0 sends to them when they join.
func Silence(d time.Duration) Option {
	return func(o *options) error {
		o.silence = d
		return positive("Silence", d)
	}
}

func positive(name string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%w: %s of %v; it must be positive", gpk.ErrUnsupported, name, d)
	}
	return nil
}

// Engine chooses the engine between processes. The default is NCCL if all ranks have a GPU and
// the library; else MPI where its launcher started the process and its library is found; else TCP.
// MPI and TCP copy arrays of a GPU through the host. If the option names NCCL and NCCL
// cannot be used, Join returns ErrUnsupported.
func Engine(name EngineName) Option {
	return func(o *options) error {
		if name != NCCL && name != MPI && name != TCP {
			return fmt.Errorf("%w: engine %q; want %q, %q or %q", gpk.ErrUnsupported, name, NCCL, MPI, TCP)
		}
		o.engine = name
		return nil
	}
}

// Environment replaces os.Getenv as the source of the launcher's variables.
func Environment(get func(string) string) Option {
	return func(o *options) error {
		if get == nil {
			return fmt.Errorf("%w: Environment with a nil function", gpk.ErrUnsupported)
		}
		o.get = get
		return nil
	}
}

func optionsOf(given []Option) (*options, error) {
	o := &options{timeout: time.Minute, silence: 4 * time.Second, linger: 2 * time.Second, get: os.Getenv, version: version}
	for _, g := range given {
		if g == nil {
			return nil, fmt.Errorf("%w: a nil option", gpk.ErrUnsupported)
		}
		if err := g(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// version identifies the format of the messages between ranks. It changes when the format does.
const version = "gpk dist 3"
