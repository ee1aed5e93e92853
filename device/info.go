package device

import (
	"fmt"

	"github.com/gpk-go/gpk/internal/bytesize"
)

// Kind is the kind of a device.
type Kind uint8

// The kinds of devices.
const (
	CPU Kind = iota
	CUDA
)

// String returns "cpu" or "cuda".
func (k Kind) String() string {
	switch k {
	case CPU:
		return "cpu"
	case CUDA:
		return "cuda"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Info describes a device.
type Info struct {
	Name                 string // the vendor's name
	Kind                 Kind
	Index                int   // index among the devices of its kind: 1 in "cuda:1"
	SM                   int   // compute capability of a GPU, 90 for 9.0; 0 for the CPU
	MultiProcessors      int   // multiprocessors of a GPU, hardware threads of a CPU
	TotalMemory          int64 // bytes; 0 if unknown
	L2Bytes              int64 // size of a GPU's L2 cache
	SharedMemoryPerBlock int64 // maximum per block, with opt-in
	Driver               string
	CUDA                 int  // the newest CUDA version that the driver supports: 13000 is 13.0
	ClusterLaunch        bool // the driver supports thread block clusters
	TensorMaps           bool // the driver encodes TMA descriptors
}

// String describes the device in one line.
func (i Info) String() string {
	s := i.label() + ": " + i.Name
	if i.Kind == CUDA {
		s += fmt.Sprintf(", SM %d, %d multiprocessors", i.SM, i.MultiProcessors)
	} else {
		s += fmt.Sprintf(", %d threads", i.MultiProcessors)
	}
	if i.TotalMemory > 0 {
		s += ", " + bytesize.Format(i.TotalMemory)
	}
	if i.Driver != "" {
		s += ", driver " + i.Driver
	}
	return s
}

// label returns the device's name, as Open accepts it.
func (i Info) label() string {
	if i.Kind == CPU {
		return "cpu"
	}
	return fmt.Sprintf("%v:%d", i.Kind, i.Index)
}
