package gpk

import (
	"context"

	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/random"
	"github.com/gpk-go/gpk/internal/userkernel"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// Array is an n-dimensional array of one element type on one device. It behaves as if it
// had been computed on the line that made it. Its methods return new arrays, which carry
// an error to the boundary; `go doc github.com/gpk-go/gpk/array Array.Sum` prints one of
// them. Those that compute are functions of this package too.
//
//   - Element by element: [Array.Add], [Array.Sub], [Array.Mul], [Array.Div],
//     [Array.Pow], [Array.Maximum], [Array.Minimum], [Array.Neg], [Array.Abs],
//     [Array.Sign], [Array.Square], [Array.Sqrt], [Array.Rsqrt], [Array.Exp],
//     [Array.Expm1], [Array.Log], [Array.Log1p], [Array.Sin], [Array.Cos], [Array.Tanh],
//     [Array.Erf], [Array.Floor], [Array.Ceil], [Array.Round], [Array.Clamp],
//     [Array.NextAfter]
//   - Functions: [Array.Tan], [Array.Asin], [Array.Acos], [Array.Atan], [Array.Sinh],
//     [Array.Cosh], [Array.Asinh], [Array.Acosh], [Array.Atanh], [Array.Log2],
//     [Array.Log10], [Array.Exp2], [Array.Cbrt], [Array.Trunc], [Array.Reciprocal],
//     [Array.SignBit], [Array.IsNaN], [Array.IsInf], [Array.IsFinite], [Array.Angle],
//     [Array.Erfc], [Array.Lgamma], [Array.Digamma], [Array.Erfinv], [Array.Atan2],
//     [Array.Hypot], [Array.CopySign], [Array.LogAddExp], [Array.FloorDivide],
//     [Array.Remainder]
//   - Activations: [Array.ReLU], [Array.GELU], [Array.GELUTanh], [Array.SiLU],
//     [Array.Sigmoid], [Array.Softmax], [Array.LogSoftmax]
//   - Comparisons and bits: [Array.Eq], [Array.Ne], [Array.Lt], [Array.Le], [Array.Gt],
//     [Array.Ge], [Array.And], [Array.Or], [Array.Xor], [Array.Not], [Array.Shl],
//     [Array.Shr]
//   - Complex numbers: [Array.Conj], [Array.Real], [Array.Imag], [Array.AbsSquare]
//   - Over axes: [Array.Sum], [Array.Mean], [Array.Prod], [Array.Var], [Array.Max],
//     [Array.Min], [Array.ArgMax], [Array.ArgMin], [Array.Any], [Array.All],
//     [Array.CumSum], [Array.CumProd], [Array.CumMax], [Array.CumMin], [Array.Diff], [Array.Sort], [Array.ArgSort],
//     [Array.TopK], [Array.BottomK], [Array.SearchSorted], [Array.IsIn], [Array.Interp], [Array.Histogram], [Array.HistogramDensity],
//     [Array.HistogramEdges], [Array.Std],
//     [Array.Median], [Array.Quantile], [Array.Quantiles], [Array.Norm], [Array.VectorNorm],
//     [Array.LogSumExp], [Array.CountNonzero]
//   - Over axes, of the elements that are not NaN: [Array.NaNSum], [Array.NaNMean], [Array.NaNVar], [Array.NaNStd], [Array.NaNMax],
//     [Array.NaNMin], [Array.NaNMedian], [Array.NaNQuantile]
//   - Products: [Array.MatMul], [Array.TensorDot], [Array.Outer], [Array.VecDot],
//     [Array.Kron], [Array.Cross]; Einsum is a function
//   - Views, which share the elements: [Array.Reshape], [Array.Transpose], [Array.T],
//     [Array.Slice], [Array.Squeeze], [Array.Unsqueeze], [Array.BroadcastTo], [Array.Flip],
//     [Array.Split], [Array.SplitAt], [Array.Chunk], [Array.MoveAxis], [Array.SwapAxes],
//     [Array.Diag], [Array.Diagonal], [Array.Unstack], [Array.Windows], [Array.AsStrided],
//     [Array.At], [Array.Index]
//   - Copies: [Array.Contiguous], [Array.Clone], [Array.Repeat], [Array.Pad],
//     [Array.Cast], [Array.To], [Array.Flatten], [Array.Tile], [Array.Roll], [Array.RollAxes], [Array.Tril],
//     [Array.Triu], [Array.Take], [Array.TakeAlongAxis], [Array.PutAlongAxis], [Array.ScatterAdd],
//     [Array.ScatterMax], [Array.ScatterMin], [Array.IndexSelect]
//   - Of a length that the elements decide, for which they wait: [Array.Nonzero],
//     [Array.MaskedSelect], [Array.Unique], [Array.UniqueAll], [Array.BinCount],
//     [Array.RepeatEach]
//   - In place: [Array.AddInPlace], [Array.SubInPlace], [Array.MulInPlace],
//     [Array.DivInPlace], [Array.CopyFrom], [Array.MaskedSet]
//   - What it is: [Array.Shape], [Array.DType], [Array.NDim], [Array.Size],
//     [Array.NBytes], [Array.Strides], [Array.Offset], [Array.Device], [Array.Stream],
//     [Array.Version]
//   - Evaluation and memory: [Array.Err], [Array.Explain], [Array.On], [Array.Free],
//     [Array.Buffer], [Array.Lend]
//   - Text: [Array.Format], [Array.MarshalJSON], [Array.UnmarshalJSON], [Array.GobEncode],
//     [Array.GobDecode]
type Array = array.Array

// OpError says which operation failed, on what, and on which line of the
// program it stands.
type OpError = array.OpError

// DType is the element type of an array.
type DType = dtype.DType

// Elem is the set of Go types that an array's elements can have.
type Elem = dtype.Elem

// HostElem is the set of Go types that a slice's elements can have when it is copied to or from an
// array: Elem, int and uint. An array stores int as Int64 and uint as Uint64.
type HostElem = dtype.HostElem

// The element types. Invalid is the zero value of DType: an array that carries an error has it, and in options
// it stands for the default.
const (
	Invalid    = dtype.Invalid
	Float32    = dtype.Float32
	Float64    = dtype.Float64
	Float16    = dtype.Float16
	BFloat16   = dtype.BFloat16
	Int8       = dtype.Int8
	Uint8      = dtype.Uint8
	Int32      = dtype.Int32
	Int64      = dtype.Int64
	Bool       = dtype.Bool
	Complex64  = dtype.Complex64
	Complex128 = dtype.Complex128
	Int16      = dtype.Int16
	Uint16     = dtype.Uint16
	Uint32     = dtype.Uint32
	Uint64     = dtype.Uint64
)

// Precisions of a product of float32 or complex64, given as an option of
// MatMul or to SetPrecision.
const (
	TF32          = matmul.TF32          // operands rounded to 11 significant bits
	FullPrecision = matmul.FullPrecision // the error of an IEEE float32 product
)

// MatMulOption is an option of MatMul, Linear and Pack: a precision, WithAbsSquare,
// WithSymmetric or the result of WithOutput. Package matmul has more.
type MatMulOption = matmul.Option

// Options of a product: x.MatMul(x.Conj().T(), gpk.WithAbsSquare, gpk.WithSymmetric)
// computes half of a Gram matrix's squared moduli and writes both halves.
const (
	WithAbsSquare = matmul.AbsSquare // the result is the squared modulus of the product; see matmul.AbsSquare
	WithSymmetric = matmul.Symmetric // the caller promises that the product is symmetric, or Hermitian; see matmul.Symmetric
)

// WithOutput asks for a result of type dt: the operands' own type, or Float32 for operands of
// Float16 or BFloat16, whose sums are float32 in any case.
func WithOutput(dt DType) MatMulOption { return matmul.WithOutput(dt) }

// Options of a reduction, passed among its axes: x.Mean(1, gpk.KeepDims), x.Std(gpk.DDof(1)). Their
// values are never valid axes. If only options are given, the reduction is over all axes.
const (
	KeepDims = layout.KeepDims // the result keeps the axes, with length 1
	AllAxes  = layout.AllAxes  // all axes, where a method takes one: x.ArgMax(gpk.AllAxes)
)

// DDof returns the option of Var and Std that divides by the number of elements minus n. A
// number of 0 or less counts as 0.
func DDof(n int) int { return layout.DDof(n) }

// Modes of Pad, passed in place of a value: x.Pad(widths, gpk.PadEdge). The examples pad a, b, c by two elements on each
// side.
const (
	PadEdge      = layout.PadEdge      // the nearest element: a a|a b c|c c
	PadReflect   = layout.PadReflect   // mirrored at the outermost elements: c b|a b c|b a
	PadSymmetric = layout.PadSymmetric // mirrored beyond the outermost elements: b a|a b c|c b
	PadWrap      = layout.PadWrap      // from the other end: b c|a b c|a b
)

// End is an open end of a Range.
const End = layout.End

// Range returns an index of Index: start, start + step, … before stop, as Python's start:stop:step. No
// step means 1. Negative start and stop count from the end of the axis, and bounds outside the axis are
// clipped. Range(2, End) is 2:, Range(End, End, -1) is ::-1. A call with several steps gives the step
// 0, which Index rejects.
func Range(start, stop int, step ...int) layout.Range {
	r := layout.Range{Start: start, Stop: stop, Step: 1}
	if len(step) > 0 {
		r.Step = step[0]
	}
	if len(step) > 1 {
		r.Step = 0
	}
	return r
}

// The errors that errors.Is finds in the errors that gpk returns.
var (
	ErrShape       = layout.ErrShape
	ErrDType       = dtype.ErrDType
	ErrDevice      = device.ErrDevice
	ErrOutOfMemory = device.ErrOutOfMemory
	ErrNoGPU       = device.ErrNoGPU
	ErrFreed       = device.ErrFreed
	ErrUnsupported = expr.ErrUnsupported
	ErrNonFinite   = array.ErrNonFinite
)

// SetPrecision sets the precision of float32 and complex64 products that name none, and returns the
// previous setting. An option on the call takes precedence over it, and it takes precedence over
// GPK_NO_TF32. If p is not a valid precision, such products are ErrDType.
func SetPrecision(p matmul.Precision) (old matmul.Precision) { return matmul.SetPrecision(p) }

// FromSlice returns an array on the default device with a copy of data, which
// fills shape in row-major order; no shape means one axis. Elements of int become Int64,
// those of uint Uint64.
func FromSlice[T HostElem](data []T, shape ...int) *Array { return array.FromSlice(data, shape...) }

// FromSliceOn is FromSlice on device d.
func FromSliceOn[T HostElem](d *device.Device, data []T, shape ...int) *Array {
	return array.FromSliceOn(d, data, shape...)
}

// ToSlice waits and returns the elements in row-major order. T must be the array's exact element type,
// else ErrDType. The length of the slice is the product of the shape, even for a broadcast array. A
// slice larger than the machine's memory is ErrOutOfMemory.
func ToSlice[T HostElem](a *Array) ([]T, error) { return array.ToSlice[T](a) }

// ToSliceInto waits and writes the elements in row-major order into dst, whose
// length must be the array's size.
func ToSliceInto[T HostElem](dst []T, a *Array) error { return array.ToSliceInto(dst, a) }

// FromSliceInto copies data into the array's memory; the caller may reuse data afterwards.
func FromSliceInto[T HostElem](dst *Array, data []T) error { return array.FromSliceInto(dst, data) }

// Item waits and returns the one element of an array of size 1.
func Item[T HostElem](a *Array) (T, error) { return array.Item[T](a) }

// Into computes src into the memory of dst, which must have src's shape and type, and does not wait.
func Into(dst, src *Array) error { return array.Into(dst, src) }

// Eval starts the computation of arrays and does not wait.
func Eval(as ...*Array) error { return array.Eval(as...) }

// Synchronize waits for everything that was started on any device. It returns the first error of this
// work that has not been returned yet. A nil context is ErrUnsupported.
func Synchronize(ctx context.Context) error { return array.Synchronize(ctx) }

// Pack returns a snapshot of w in the form that products read without a
// prepare pass: MatMul's right operand [k, n], or the weight [out, in] of
// Linear. Any other use of it is ErrUnsupported.
func Pack(w *Array, opts ...MatMulOption) *Array { return array.Pack(w, opts...) }

// MatMul returns the matrix product of a and b; see (*Array).MatMul.
func MatMul(a, b *Array, opts ...MatMulOption) *Array { return a.MatMul(b, opts...) }

// Linear returns x w^T + bias for w [out, in] and bias [out] or nil, rounded
// once.
func Linear(x, w, bias *Array, opts ...MatMulOption) *Array {
	return array.Linear(x, w, bias, matmul.NoActivation, opts...)
}

// LinearBiasGELU returns GELU(Linear(x, w, bias)), with GELU in the erf form.
func LinearBiasGELU(x, w, bias *Array, opts ...MatMulOption) *Array {
	return array.Linear(x, w, bias, matmul.GELU, opts...)
}

// LinearBiasGELUTanh returns GELU(Linear(x, w, bias)), with GELU in the tanh form.
func LinearBiasGELUTanh(x, w, bias *Array, opts ...MatMulOption) *Array {
	return array.Linear(x, w, bias, matmul.GELUTanh, opts...)
}

// LinearBiasReLU returns ReLU(Linear(x, w, bias)).
func LinearBiasReLU(x, w, bias *Array, opts ...MatMulOption) *Array {
	return array.Linear(x, w, bias, matmul.ReLU, opts...)
}

// LinearBiasSiLU returns SiLU(Linear(x, w, bias)).
func LinearBiasSiLU(x, w, bias *Array, opts ...MatMulOption) *Array {
	return array.Linear(x, w, bias, matmul.SiLU, opts...)
}

// BiasAddInPlace adds bias, [n], to every row of a, [..., n].
func BiasAddInPlace(a, bias *Array) error { return array.BiasAddInPlace(a, bias) }

// Clamp returns min(max(a, lo), hi); lo and hi are arrays of a's type or numbers.
func Clamp(a *Array, lo, hi any) *Array { return a.Clamp(lo, hi) }

// Cast returns the elements converted to dt.
func Cast(a *Array, dt DType) *Array { return a.Cast(dt) }

// Reshape returns the elements under another shape; one length may be -1.
func Reshape(a *Array, shape ...int) *Array { return a.Reshape(shape...) }

// Transpose returns a view with the axes permuted; no axes reverses them.
func Transpose(a *Array, axes ...int) *Array { return a.Transpose(axes...) }

// T returns a view with the last two axes swapped.
func T(a *Array) *Array { return a.T() }

// Slice returns a view of the elements start, start+step, … before stop of one
// axis.
func Slice(a *Array, axis, start, stop int, step ...int) *Array {
	return a.Slice(axis, start, stop, step...)
}

// Squeeze returns a view without the given axes, each of length 1; no axes removes all axes of length
// 1.
func Squeeze(a *Array, axes ...int) *Array { return a.Squeeze(axes...) }

// Unsqueeze returns a view with a new axis of length 1.
func Unsqueeze(a *Array, axis int) *Array { return a.Unsqueeze(axis) }

// BroadcastTo returns a view stretched to shape.
func BroadcastTo(a *Array, shape ...int) *Array { return a.BroadcastTo(shape...) }

// Contiguous returns a itself if it is dense, else a dense copy.
func Contiguous(a *Array) *Array { return a.Contiguous() }

// Clone returns a dense copy.
func Clone(a *Array) *Array { return a.Clone() }

// AddInPlace adds b to a's elements.
func AddInPlace(a *Array, b any) error { return a.AddInPlace(b) }

// SubInPlace subtracts b from a's elements.
func SubInPlace(a *Array, b any) error { return a.SubInPlace(b) }

// MulInPlace multiplies a's elements by b's.
func MulInPlace(a *Array, b any) error { return a.MulInPlace(b) }

// DivInPlace divides a's elements by b's.
func DivInPlace(a *Array, b any) error { return a.DivInPlace(b) }

// MaskedSet writes values into a where mask is true; see (*Array).MaskedSet.
func MaskedSet(a, mask *Array, values any) error { return a.MaskedSet(mask, values) }

// RNG makes arrays of random numbers. The numbers depend only on the seed and on the earlier calls, and
// have the same bits on every device. `go doc github.com/gpk-go/gpk/internal/random RNG.Normal` prints
// one of its methods:
//
//   - Real numbers: [RNG.Uniform], [RNG.Normal], [RNG.Exponential], [RNG.Gamma]
//   - Integers: [RNG.Uniform] of an integer type, [RNG.Binomial], [RNG.Poisson]
//   - Bool: [RNG.Bernoulli]
//   - Indices: [RNG.Categorical], [RNG.Choice], [RNG.Permutation]
//   - Numbers for a generator of the program: [RNG.Blocks]
type RNG = random.RNG

// NewRNG returns a random number generator with a seed.
func NewRNG(seed uint64) *RNG { return random.NewRNG(seed) }

// UserKernel is a kernel that the program supplies as CUDA C++ source; see Kernel.
type UserKernel = userkernel.UserKernel

// LaunchOptions are the launch options of a UserKernel. The zero value suits a kernel that computes one
// element a thread.
type LaunchOptions = userkernel.LaunchOptions

// Kernel compiles CUDA C++ source and returns its __global__ function with the given name, which can be
// launched on Arrays. If the source does not compile, the error is a *device.CompileError with the
// compiler's log. Without a GPU it is ErrNoGPU, and without NVRTC ErrUnsupported; both state the
// reasons.
func Kernel(source, name string) (*UserKernel, error) { return userkernel.Kernel(source, name) }

// Graph is a sequence of operations that Capture has recorded. Its methods are [Graph.Replay],
// [Graph.Outputs] and [Graph.Free]; `go doc github.com/gpk-go/gpk/array Graph.Replay` prints one of them.
type Graph = array.Graph

// Capture records the operations of f without running them. f is called once, with arrays that show the
// elements of in. (*Graph).Replay runs the operations on the inputs' current elements. Outputs returns
// the arrays that f returned; each Replay overwrites them.
func Capture(in []*Array, f func(in []*Array) []*Array) (*Graph, error) {
	return array.Capture(in, f)
}

// Scope is a set of arrays that are freed together. Its methods are [Scope.In], [Scope.Own], [Scope.Keep]
// and [Scope.Close]; `go doc github.com/gpk-go/gpk/array Scope.Keep` prints one of them.
type Scope = array.Scope

// NewScope opens a scope; close it when its arrays are no longer needed.
func NewScope() *Scope { return array.NewScope() }

// Scoped calls f with a new scope and closes it, even if f panics. It returns the error of f joined
// with that of Close.
func Scoped(f func(s *Scope) error) error { return array.Scoped(f) }
