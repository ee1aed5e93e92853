// Other programs compile against these names and signatures: a change that
// breaks this file breaks them.
package gpk_test

import (
	"context"
	"fmt"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/matmul"
	"github.com/x448/float16"
)

type A = *gpk.Array

// Constructors, the boundary, element types.
var (
	_ func([]float32, ...int) A                = gpk.FromSlice[float32]
	_ func([]float16.Float16, ...int) A        = gpk.FromSlice[float16.Float16]
	_ func([]bfloat16.BFloat16, ...int) A      = gpk.FromSlice[bfloat16.BFloat16]
	_ func([]bool, ...int) A                   = gpk.FromSlice[bool]
	_ func([]complex128, ...int) A             = gpk.FromSlice[complex128]
	_ func(gpk.DType, ...int) A                = gpk.Zeros
	_ func(gpk.DType, ...int) A                = gpk.Ones
	_ func(gpk.DType, any, ...int) A           = gpk.Full
	_ func(gpk.DType, int) A                   = gpk.Eye
	_ func(gpk.DType, int) A                   = gpk.Arange
	_ func(gpk.DType, float64, float64, int) A = gpk.Linspace
	_ func(int, ...A) A                        = gpk.Concat
	_ func(A, A) error                         = gpk.Into
	_ func(A) ([]int64, error)                 = gpk.ToSlice[int64]
	_ func([]float64, A) error                 = gpk.ToSliceInto[float64]
	_ func(A, []float64) error                 = gpk.FromSliceInto[float64]
	_ func(A) (float32, error)                 = gpk.Item[float32]
	_ func(...A) error                         = gpk.Eval
	_ func(context.Context) error              = gpk.Synchronize
	_ []gpk.DType                              = []dtype.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16, gpk.Int8, gpk.Uint8, gpk.Int32, gpk.Int64, gpk.Bool, gpk.Complex64, gpk.Complex128}
	_ func(float32) bfloat16.BFloat16          = bfloat16.FromFloat32
	_ func(bfloat16.BFloat16) float32          = bfloat16.BFloat16.Float32
	_ func(uint16) bfloat16.BFloat16           = bfloat16.FromBits
	_ func(bfloat16.BFloat16) uint16           = bfloat16.BFloat16.Bits
)

// Methods of issue A.
var (
	_ []func(A, any) A                    = []func(A, any) A{A.Add, A.Sub, A.Mul, A.Div}
	_ []func(A, any) error                = []func(A, any) error{A.AddInPlace, A.SubInPlace, A.MulInPlace, A.DivInPlace, A.CopyFrom}
	_ []func(A) A                         = []func(A) A{A.Neg, A.ReLU, A.GELU, A.T, A.Contiguous, A.Clone, A.Conj}
	_ func(A, ...int) A                   = A.Sum
	_ func(A, A, ...matmul.Option) A      = A.MatMul
	_ func(A, ...int) A                   = A.Reshape
	_ func(A, ...int) A                   = A.Transpose
	_ func(A, int, int, int, ...int) A    = A.Slice
	_ func(A, ...int) A                   = A.Squeeze
	_ func(A, int) A                      = A.Unsqueeze
	_ func(A, ...int) A                   = A.BroadcastTo
	_ func(A, gpk.DType) A                = A.Cast
	_ func(A, *device.Device) A           = A.To
	_ func(A) []int                       = A.Shape
	_ func(A) gpk.DType                   = A.DType
	_ []func(A) int                       = []func(A) int{A.NDim, A.Size, A.NBytes}
	_ func(A) []int                       = A.Strides
	_ func(A) *device.Device              = A.Device
	_ func(A) error                       = A.Err
	_ func(A) string                      = A.Explain
	_ func(A)                             = A.Free
	_ fmt.Formatter                       = A(nil)
	_ func(A, A, ...matmul.Option) A      = gpk.MatMul
	_ func(any, any) A                    = gpk.Sub
	_ func(A, ...matmul.Option) A         = gpk.Pack
	_ []func(A, A, A, ...matmul.Option) A = []func(A, A, A, ...matmul.Option) A{gpk.Linear, gpk.LinearBiasGELU, gpk.LinearBiasGELUTanh, gpk.LinearBiasReLU, gpk.LinearBiasSiLU}
)

// Precision, planning, devices, errors.
var (
	_ matmul.Option                                                  = gpk.TF32
	_ matmul.Option                                                  = gpk.FullPrecision
	_                                                                = []matmul.Option{matmul.AbsSquare, matmul.Symmetric}
	_ func(matmul.Precision) matmul.Precision                        = gpk.SetPrecision
	_ func(dtype.DType) matmul.Option                                = matmul.WithOutput
	_ func(matmul.Problem, device.Capabilities) (matmul.Plan, error) = matmul.Choose
	_                                                                = matmul.Problem{M: 1, N: 1, K: 1, Batch: 1, A: dtype.Float16, B: dtype.Float16, Out: dtype.Float32, LayoutA: matmul.RowMajor, LayoutB: matmul.ColMajor, AlignA: 16, AlignB: 16, AlignC: 16, Precision: matmul.Default}
	_ func() []device.Info                                           = device.List
	_ func(string) (*device.Device, error)                           = device.Open
	_ func() *device.Device                                          = device.Default
	_ func(*device.Device) *device.Device                            = device.SetDefault
	_ func() string                                                  = device.Explain
	_ func(int) device.Capabilities                                  = device.CapabilitiesOf
	_ func(*device.Device) device.Info                               = (*device.Device).Info
	_ func(*device.Device) device.Capabilities                       = (*device.Device).Capabilities
	_ func(*device.Device) (int64, int64, error)                     = (*device.Device).Memory
	_ func(*device.Device) device.PoolStats                          = (*device.Device).Pool
	_ func(*device.Device, int64)                                    = (*device.Device).SetMemoryLimit
	_ func(*device.Device) error                                     = (*device.Device).Trim
	_ func(*device.Device, context.Context) error                    = (*device.Device).Synchronize
	_ func(*device.Device) (*device.Stream, error)                   = (*device.Device).NewStream
	_ func(*device.Device) (*device.Event, error)                    = (*device.Device).NewEvent
	_ func(*device.Event, *device.Event) (time.Duration, error)      = (*device.Event).Elapsed
	_ []error                                                        = []error{gpk.ErrShape, gpk.ErrDType, gpk.ErrDevice, gpk.ErrOutOfMemory, gpk.ErrNoGPU, gpk.ErrFreed, gpk.ErrUnsupported, gpk.ErrNonFinite}
	_ error                                                          = (*gpk.OpError)(nil)
)

var _, _ = plan, opError

func plan(p matmul.Plan) (string, [3]int, [2]int, int, []matmul.Step, int64, bool, string) {
	return p.Kernel, p.Tile, p.Cluster, p.SplitK, p.Steps, p.Workspace, p.TensorCore, p.Reason
}

func opError(e *gpk.OpError) (string, [][]int, []gpk.DType, string, error) {
	return e.Op, e.Shapes, e.DTypes, e.Site, e.Err
}

// Operations and reductions of issue C.
var (
	_ []func(A, any) A = []func(A, any) A{
		A.Pow, A.Maximum, A.Minimum, A.Eq, A.Ne, A.Lt, A.Le, A.Gt, A.Ge, A.And, A.Or, A.Xor, A.Shl, A.Shr,
	}
	_ []func(A) A = []func(A) A{
		A.Not, A.Abs, A.Sign, A.Square, A.Sqrt, A.Rsqrt, A.Exp, A.Expm1, A.Log, A.Log1p, A.Sin, A.Cos, A.Tanh, A.Erf, A.Sigmoid, A.GELUTanh, A.SiLU,
		A.Floor, A.Ceil, A.Round, A.Real, A.Imag, A.AbsSquare, gpk.Exp,
	}
	_ func(A, any, any) A      = A.Clamp
	_ func(A, any, any) A      = gpk.Where
	_ []func(A, ...int) A      = []func(A, ...int) A{A.Mean, A.Max, A.Min, A.Prod, A.Var, A.Any, A.All}
	_ []func(A, int) A         = []func(A, int) A{A.ArgMax, A.ArgMin, A.Softmax, A.LogSoftmax, A.CumSum}
	_ func(A, A, A, float64) A = gpk.LayerNorm
	_ func(A, A, float64) A    = gpk.RMSNorm
	_ func(a, b any) A         = gpk.Maximum
	_ func(A, ...int) A        = gpk.Max
)

// Views and indexing of issue C.
var (
	_ func(int, ...A) A        = gpk.Stack
	_ func(A, A, int) A        = gpk.Take
	_ func(A, int, int) A      = A.Repeat
	_ func(A, [][2]int, any) A = A.Pad
	_ func(A, ...int) A        = A.Flip
	_ func(A, int, bool) A     = A.Sort
	_ func(A, int, int) (A, A) = A.TopK
	_ func(A, int, int) A      = gpk.Repeat
	_ func(A, [][2]int, any) A = gpk.Pad
	_ func(A, ...int) A        = gpk.Flip
	_ func(A, int, bool) A     = gpk.Sort
	_ func(A, int, int) (A, A) = gpk.TopK
)

// Scopes of issue G.
var (
	_ func() *gpk.Scope                  = gpk.NewScope
	_ func(func(*gpk.Scope) error) error = gpk.Scoped
	_ []func(*gpk.Scope, A) A            = []func(*gpk.Scope, A) A{(*gpk.Scope).In, (*gpk.Scope).Own, (*gpk.Scope).Keep}
	_ func(*gpk.Scope) error             = (*gpk.Scope).Close
)

// Attention.
var (
	_ func(A, A, A, gpk.AttentionOptions) A = gpk.Attention
	_                                       = gpk.AttentionOptions{Offsets: A(nil), Causal: true, Scale: 0, Mask: A(nil), Precision: gpk.FullPrecision}
)

// Layers of issue E.
var (
	_ func(A, A, float64) A         = gpk.RoPE
	_ func(A, A, gpk.RoPEOptions) A = gpk.RoPEWith
	_                               = gpk.RoPEOptions{Base: 1e4, Interleaved: true, Dim: 2, Scaling: &gpk.RoPEScaling{Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalPositions: 8192}}
	_ func(A, A, A, float64) (A, A) = gpk.RMSNormResidual
	_ []func(A, A) A                = []func(A, A) A{gpk.SwiGLU, gpk.GEGLU}
)
