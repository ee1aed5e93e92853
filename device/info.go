package device

import (
	"fmt"

	"github.com/gpk-go/gpk/internal/bytesize"
)

// Kind is what a device is.
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
	Name                 string // as its maker calls it
	Kind                 Kind
	Index                int   // among the devices of its kind: 1 in "cuda:1"
	SM                   int   // compute capability of a GPU, 90 for 9.0; 0 for the CPU
	MultiProcessors      int   // of a GPU; hardware threads of a CPU
	TotalMemory          int64 // bytes; 0 where unknown
	L2Bytes              int64 // of a GPU's L2 cache
	SharedMemoryPerBlock int64 // bytes that one block can have at most, opted in
	Driver               string
	CUDA                 int  // the newest CUDA version that the driver runs: 13000 is 13.0
	ClusterLaunch        bool // the driver launches clusters of blocks
	TensorMaps           bool // the driver encodes TMA descriptors
}

// String is one line, for a person.
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

// label is the name by which Open knows the device.
func (i Info) label() string {
	if i.Kind == CPU {
		return "cpu"
	}
	return fmt.Sprintf("%v:%d", i.Kind, i.Index)
}
