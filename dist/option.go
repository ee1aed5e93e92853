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

// EngineName names what moves data between processes.
type EngineName string

// The engines between processes. NCCL moves data between GPUs. MPI is the library of the launcher;
// TCP moves everything through rank 0, which is meant for few ranks and for machines without MPI.
const (
	NCCL EngineName = "nccl"
	MPI  EngineName = "mpi"
	TCP  EngineName = "tcp"
)

// OnDevice sets the device of the rank. Otherwise it is GPU number "local rank" where there are
// GPUs, else the default device.
func OnDevice(d *device.Device) Option { return OnDevices(d) }

// OnDevices makes the process hold one rank for each of the devices, of which there is at least one. All processes give
// the same number n of devices: the ranks of process i of the launcher are n*i to n*i+n-1, and GPK_RANK and GPK_SIZE are
// about processes. A device may be listed several times: ranks on the CPU are for tests of programs. Data moves by NCCL or
// over TCP, since MPI needs a process for each rank.
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

// Silence sets how long a rank may be silent before it counts as lost. The default is 4 seconds.
// The value of rank 0 holds for all ranks. Rank 0 sends it to the others when they join.
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
			return fmt.Errorf("%w: Environment of a nil function", gpk.ErrUnsupported)
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

// version is that of the messages between ranks. It changes when they do.
const version = "gpk dist 3"
