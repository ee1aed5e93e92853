package cutlass

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/expr"
)

// ABI is the version of src/gpk.h that this program uses: GPK_ABI.
const ABI = 5

// LibraryName is the file name of the kernel library.
const LibraryName = "libgpk.so"

// Codes of Error beyond CUDA's own (GPK_ERR_* of src/gpk.h).
const (
	CodeUnsupported = 10001 // no kernel for this operation, type or kernel number
	CodeArgument    = 10002 // a size, stride or alignment that the kernel does not support
	CodeWorkspace   = 10003 // the workspace is too small
	CodeKernel      = 10004 // CUTLASS failed to initialize or launch the kernel

	cudaErrorMemoryAllocation = 2
)

// Error is the failure of one call of the library.
type Error struct {
	Code    int    // a Code constant, or below 10000 a cudaError_t
	Entry   string // the C entry point that failed: gpk_gemm
	Message string // the library's text for the code
}

func (e *Error) Error() string {
	if e.Code < 10000 {
		return fmt.Sprintf("%s: CUDA error %d: %s", e.Entry, e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s (code %d)", e.Entry, e.Message, e.Code)
}

// Is makes an error with CodeUnsupported match expr.ErrUnsupported.
func (e *Error) Is(target error) bool {
	return e.Code == CodeUnsupported && target == expr.ErrUnsupported
}

// OutOfMemory reports whether the device had too little memory.
func (e *Error) OutOfMemory() bool { return e.Code == cudaErrorMemoryAllocation }

// The reasons why a library can be unusable, for errors.Is.
var (
	ErrNoLibrary = errors.New("no usable kernel library")          // no usable library was found
	ErrForeign   = errors.New("not a library for this machine")    // no shared library, or another architecture's
	ErrSidecar   = errors.New("no description of the library")     // its description is missing or unreadable
	ErrDamaged   = errors.New("damaged library")                   // size or SHA-256 differ from the description
	ErrABI       = errors.New("library of another gpk version")    // built for another ABI
	ErrLoad      = errors.New("the library could not be loaded")   // the dynamic linker rejected it, or an entry point is missing
	ErrNotBuilt  = errors.New("this program lacks its CUDA parts") // compiled without them; Built returns the reason
)

// LibraryError reports why a library that exists cannot be used. It wraps one of
// ErrForeign, ErrSidecar, ErrDamaged, ErrABI and ErrLoad, or an error of the file system.
type LibraryError struct {
	Path   string
	Reason string // explanation and remedy
	Err    error
}

func (e *LibraryError) Error() string { return e.Path + ": " + e.Reason }

func (e *LibraryError) Unwrap() error { return e.Err }

// MinDriver returns the first NVIDIA driver branch that runs a library built with the given
// CUDA version (CUDART_VERSION: 13000 is 13.0): 580 for CUDA 13, 525 for 12. It returns 0
// for older versions, with which gpk is not built.
func MinDriver(cudaVersion int) int {
	switch {
	case cudaVersion >= 13000:
		return 580
	case cudaVersion >= 12000:
		return 525
	}
	return 0
}

// CUDAVersion returns the CUDA version with which the library was built, as CUDART_VERSION:
// 13000 is 13.0. MinDriver returns the driver that it needs.
func (l *Library) CUDAVersion() int { return l.cuda }

// Path returns the file from which the library was loaded, with links resolved.
func (l *Library) Path() string { return l.path }

// KernelSet returns the hash of the sources from which the library was built. KernelSetHash
// is that of this program.
func (l *Library) KernelSet() string { return l.kernelSet }

// Describe returns the description that setup wrote beside the library.
func (l *Library) Describe() Sidecar { return l.sidecar }

// Tried returns the places where Open looked, in order. The last attempt has no error: it
// is this library.
func (l *Library) Tried() []Attempt { return l.tried }

// KernelIndex returns the index of the kernel with a name (Kernel.Name), for Gemm, and
// false if the library was built without it.
func (l *Library) KernelIndex(name string) (int, bool) {
	i, ok := l.kernels[name]
	return i, ok
}

// Library is a loaded libgpk.so. It is safe for use by several goroutines and is never
// unloaded. Its methods enqueue work and do not wait. Addresses are device addresses and
// streams CUstream handles; strides and leading dimensions count elements.
type Library struct {
	calls
	path      string
	kernelSet string
	cuda      int
	sidecar   Sidecar
	kernels   map[string]int
	tried     []Attempt
	entries   entries   //nolint:unused // empty without CUDA
	prebuilt  *Prebuilt // set if the library is in the program; nil if it is a file

	mu     sync.Mutex
	opened map[string]openedCompanion // by name; guarded by mu
}

// Gemm is a product for Library.Gemm: D[i] = act(alpha·A[i]·B[i] + bias) for i < Batch. A
// is m×k, B k×n, D m×n row-major; the kernel's manifest entry has the majors of A and B.
// Leading dimensions count elements between rows (columns if column-major), strides those
// between members of the batch, 0 if all have the same operand. Bias: address of n elements of
// D's type, or 0; Act: a GPK_ACT number. src/gpk.h describes the other fields.
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
	ScaleA, ScaleB   uint64 // scaled kernels: powers of two for the lines of A and of B
	LowA, LowB       uint64 // split kernels: the second plane of each operand
	Guard            Guard
	GuardA, GuardB   uint64 // GuardWords words each, written by Prepare
	GuardLimit       int
	Workspace        uint64
	WorkspaceBytes   int64
}

// Guard is the condition on which a kernel runs: always, or depending on the guard words of
// its operands on the device.
type Guard int

// The guards. With GuardFits a kernel runs if the sum of A's largest word and B's largest
// word is below the limit; with GuardMisses it runs otherwise.
const (
	GuardNone Guard = iota
	GuardFits
	GuardMisses
)

// GuardWords is the number of guard words per operand.
const GuardWords = 512

// Form is a form into which Prepare converts an operand.
type Form int

// The forms: one plane of scaled float16, or two, whose sum is high + low·2⁻¹¹.
const (
	FormScaled Form = iota + 1
	FormSplit
)

// Prepared is an operand of Library.Prepare: its layout, and the destinations of its
// planes, scales and guard words. src/gpk.h describes each.
type Prepared struct {
	Lines          int // rows of A, columns of B; 0: operand not prepared
	Source         uint64
	Line, Step     int // elements from line to line, and along k
	Stride         int // between batch members
	Conj           bool
	High, Low      uint64
	Pitch, Member  int
	Scales, Guards uint64
}

// Padded is an operand of Library.Pad: the layout of its lines and of the copy's. Extents
// count elements. src/gpk.h describes each.
type Padded struct {
	Source                uint64
	Batch                 int
	Lines, Length         int // per member; no lines: operand not copied
	Pitch, Member         int
	Copy                  uint64
	CopyLines, CopyLength int // including the padding with zeros
	CopyPitch, CopyMember int
}
