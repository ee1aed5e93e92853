package route

import (
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/enum"
)

// Op describes an operation. A field whose value is not known may be 0.
type Op struct {
	// Name is the name of the Array's method or of the function: "Add", "Exp", "Sum",
	// "MatMul", "LinearBiasGELU". An operation with any other name is a product if Flops is
	// set, else element-wise.
	Name string
	// Elements is the number of elements of the largest operand or result.
	Elements int64
	// Bytes is the total size of operands and result: the bytes that the operation reads
	// and writes, and that are copied if it runs on the other device. 0 stands for two
	// operands and a result of Elements each.
	Bytes int64
	// Flops is set for products only: 2 m n k, whatever the type, times the batch.
	Flops int64
	// Resident is the device of the operands. nil, like the CPU, is the host's memory.
	Resident *device.Device
	// DType is the element type of the operands.
	DType dtype.DType
}

// Decision says where an operation runs.
type Decision struct {
	Device *device.Device
	Reason Reason
	// OnCPU and OnGPU are the predicted times of the operation without copies. They are 0
	// if there is no such device or nothing was measured.
	OnCPU, OnGPU time.Duration
	// Copy is the predicted time of the copies that are needed if the operation does not
	// run on Op.Resident.
	Copy time.Duration
}

// Reason is the reason for the choice of a device.
type Reason uint8

// The reasons.
const (
	Unmeasured  Reason = iota // nothing was measured for the type and class: the data stay on their device
	NoGPU                     // there is no GPU: the CPU
	FasterOnCPU               // the data are on the host, and the CPU is at least as fast as the GPU with the copies
	FasterOnGPU               // the data are on the host, and the GPU is faster, the copies included
	Resident                  // the data are on the GPU, and the CPU is not more than 2 times as fast
	MovedToCPU                // the data are on the GPU, and the CPU is more than 2 times as fast, the copy included
	NoMemory                  // the operation needs more than 0.8 of the GPU's free memory: the CPU
	Tiles                     // the operation needs more than 0.8 of the GPU's free memory: the GPU, in tiles that the program makes
	Elsewhere                 // the data are on another GPU than the model's: they stay there
)

var reasons = [...]string{
	Unmeasured:  "not measured",
	NoGPU:       "no GPU",
	FasterOnCPU: "faster on the CPU",
	FasterOnGPU: "faster on the GPU, copies included",
	Resident:    "the data are on the GPU",
	MovedToCPU:  "over 2 times as fast on the CPU, copy included",
	NoMemory:    "too large for the GPU's free memory",
	Tiles:       "too large for the GPU's free memory but in tiles",
	Elsewhere:   "the data are on another GPU",
}

// String returns the reason in a few words.
func (r Reason) String() string { return enum.Name(r, "Reason", reasons[:]...) }
