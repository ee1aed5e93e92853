package cutlass

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gpk-go/gpk/expr"
)

// ABI is the version of src/gpk.h that this program speaks: GPK_ABI.
const ABI = 4

// LibraryName is the file name of the kernel library.
const LibraryName = "libgpk.so"

// Codes of Error beyond CUDA's own (GPK_ERR_* of src/gpk.h).
const (
	CodeUnsupported = 10001 // no kernel for this operation, type or kernel number
	CodeArgument    = 10002 // a size, stride or alignment that the kernel cannot take
	CodeWorkspace   = 10003 // the workspace is too small
	CodeKernel      = 10004 // CUTLASS refused to initialise or launch

	cudaErrorMemoryAllocation = 2
)

// Error is the failure of one call into the library.
type Error struct {
	Code    int    // a Code constant, or below 10000 a cudaError_t
	Entry   string // the C entry that failed: gpk_gemm
	Message string // what the library says of the code
}

func (e *Error) Error() string {
	if e.Code < 10000 {
		return fmt.Sprintf("%s: CUDA error %d: %s", e.Entry, e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s (code %d)", e.Entry, e.Message, e.Code)
}

// Is makes errors.Is(err, expr.ErrUnsupported) true of CodeUnsupported.
func (e *Error) Is(target error) bool {
	return e.Code == CodeUnsupported && target == expr.ErrUnsupported
}

// OutOfMemory reports whether the device had too little memory.
func (e *Error) OutOfMemory() bool { return e.Code == cudaErrorMemoryAllocation }

// The ways in which a library can be unusable, for errors.Is.
var (
	ErrNoLibrary = errors.New("no usable kernel library")          // nothing usable anywhere
	ErrForeign   = errors.New("not a library for this machine")    // no shared library, or another architecture's
	ErrSidecar   = errors.New("no description of the library")     // the file beside it is missing or unreadable
	ErrDamaged   = errors.New("damaged library")                   // size or SHA-256 differ from those described
	ErrABI       = errors.New("library of another gpk version")    // built for another ABI
	ErrLoad      = errors.New("the library could not be loaded")   // the dynamic linker refused it, or an entry is missing
	ErrNotBuilt  = errors.New("this program lacks its CUDA parts") // compiled without them; Built says why
)

// LibraryError says why one library that is there cannot be used. It wraps one
// of ErrForeign, ErrSidecar, ErrDamaged, ErrABI and ErrLoad, or the error of
// the file system.
type LibraryError struct {
	Path   string
	Reason string // in words, with what to do
	Err    error
}

func (e *LibraryError) Error() string { return e.Path + ": " + e.Reason }

func (e *LibraryError) Unwrap() error { return e.Err }

// MinDriver returns the first NVIDIA driver branch that runs a library built
// with the given CUDA version (CUDART_VERSION: 13000 is 13.0): 580 for CUDA 13,
// 525 for 12; 0 for versions older than that, which gpk is not built with.
func MinDriver(cudaVersion int) int {
	switch {
	case cudaVersion >= 13000:
		return 580
	case cudaVersion >= 12000:
		return 525
	}
	return 0
}

// CUDAVersion returns the CUDA version that the library was built with, as
// CUDART_VERSION has it: 13000 is 13.0. MinDriver gives the driver it needs.
func (l *Library) CUDAVersion() int { return l.cuda }

// Path returns the file that the library was loaded from, links resolved.
func (l *Library) Path() string { return l.path }

// KernelSet returns the hash of the sources that the library was built from;
// KernelSetHash is the one of this program.
func (l *Library) KernelSet() string { return l.kernelSet }

// Describe returns what setup wrote beside the library.
func (l *Library) Describe() Sidecar { return l.sidecar }

// Tried returns where Open looked, in order. The last attempt has no error: it
// is this library.
func (l *Library) Tried() []Attempt { return l.tried }

// KernelIndex returns the number by which Gemm knows the kernel of that name
// (Kernel.Name), and false where the library was built without it.
func (l *Library) KernelIndex(name string) (int, bool) {
	i, ok := l.kernels[name]
	return i, ok
}

// Library is a loaded libgpk.so. It is safe for use by several goroutines and
// is never unloaded. Its methods enqueue work and do not wait; addresses are
// device addresses, streams CUstream handles, strides and leading dimensions
// count elements.
type Library struct {
	path      string
	kernelSet string
	cuda      int
	sidecar   Sidecar
	kernels   map[string]int
	tried     []Attempt
	entries   entries           //nolint:unused // only the CUDA build has any
	grams     [64]atomic.Uint32 //nolint:unused // what HasQuantumGram knows of each device: 0 nothing, 1 no, 2 yes
}

// Gemm is a product for Library.Gemm: D[i] = act(alpha·A[i]·B[i] + bias) for
// i < Batch. A is m×k, B k×n, D m×n row-major; the kernel's manifest entry says
// how A and B are stored. Leading dimensions count elements between rows (or
// columns, where column-major), strides those between members of the batch, 0
// for one operand used by all. Bias: n elements of D's type at that address, or
// 0; Act: a GPK_ACT number. src/gpk.h says what the rest means.
type Gemm struct {
	M, N, K, Batch   int
	A                uint64
	LDA, StrideA     int
	B                uint64
	LDB, StrideB     int
	D                uint64
	LDD, StrideD     int
	Bias             uint64
	Act              int
	AlphaRe, AlphaIm float64
	ScaleA, ScaleB   uint64 // scaled kernels: a power of two for each line of A and of B
	LowA, LowB       uint64 // split kernels: the second plane of each operand
	Guard            Guard
	GuardA, GuardB   uint64 // GuardWords words each, by Prepare
	GuardLimit       int
	Workspace        uint64
	WorkspaceBytes   int64
}

// Guard says when a kernel runs: always, or as the guard words of its operands
// decide on the device.
type Guard int

// The guards. GuardFits runs where the largest word of A and the largest of B
// add up to less than the limit, GuardMisses where they do not.
const (
	GuardNone Guard = iota
	GuardFits
	GuardMisses
)

// GuardWords is the number of words of an operand's guard.
const GuardWords = 512

// Form is what Prepare makes of an operand.
type Form int

// The forms: one plane of scaled float16, or two, whose sum is high + low·2⁻¹¹.
const (
	FormScaled Form = iota + 1
	FormSplit
)

// Prepared is one operand of Library.Prepare: where it lies and where its
// planes, scales and guard words go. src/gpk.h says what each means.
type Prepared struct {
	Lines          int // rows of A, columns of B; 0: nothing to prepare
	Source         uint64
	Line, Step     int // elements from line to line, and along k
	Stride         int // between members of the batch
	Conj           bool
	High, Low      uint64
	Pitch, Member  int
	Scales, Guards uint64
}

// Padded is one operand of Library.Pad: where its lines lie, and where the copy's
// go. Extents count elements. src/gpk.h says what each means.
type Padded struct {
	Source                uint64
	Batch                 int
	Lines, Length         int // of a member; no lines: nothing to copy
	Pitch, Member         int
	Copy                  uint64
	CopyLines, CopyLength int // with what is filled with zeros
	CopyPitch, CopyMember int
}
