package cusolver

import (
	"errors"
	"fmt"
	"math"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// Kind is a function of cuSOLVER. Its comment describes A, B, C and D, and the results that they
// receive.
type Kind int

// The kinds. Each factors or solves Batch problems, one after the other unless its comment says
// otherwise. The kinds of the second group iterate on the host, and return when their work is done.
const (
	Potrf         Kind = iota // A [N, N] becomes its Cholesky factor; info is the order of a minor that is not positive
	PotrfBatched              // the same, all matrices at once; N is small
	Potrs                     // B [N, K] becomes A^-1 B, by the factor A of Potrf
	Getrf                     // A [M, N] becomes L and U; B is the exchanges of rows, int64, from 1; info is the place, from 1, of a zero pivot
	Getrs                     // C [N, K] becomes A^-1 C, by A and B of Getrf
	Geqrf                     // A [M, N] becomes R and reflectors; B is their factors, min(M, N)
	Orgqr                     // A [M, N] becomes the first N columns of Q, by K reflectors in A and B of Geqrf
	Syevd                     // A [N, N] is replaced by its eigenvectors, if Vectors; B receives the eigenvalues; info is positive if it does not converge
	SyevBatched               // the same, all matrices at once; Supported reports whether the library has it
	SyevjBatched              // the same by Jacobi's method, for N up to 32
	Gesvd                     // B is the singular values of A [M, N], M >= N, which is overwritten; with Vectors C is U [M, N] and D is V^H [N, N]; with Full C is [M, M]
	Gesvdj                    // the same by Jacobi's method, except that D is V and M may be less than N; info is min(M, N) + 1 if it does not converge
	GesvdjBatched             // the same, all matrices at once, for M and N up to 32, with Full
	Gesvdp                    // the same as Gesvdj by polar decomposition; Sigma is the perturbation of the singular values
	kinds
)

var kindNames = [...]string{
	"cusolverDnXpotrf", "cusolverDnpotrfBatched", "cusolverDnXpotrs", "cusolverDnXgetrf", "cusolverDnXgetrs", "cusolverDnXgeqrf", "cusolverDnorgqr",
	"cusolverDnXsyevd", "cusolverDnXsyevBatched", "cusolverDnsyevjBatched", "cusolverDnXgesvd", "cusolverDngesvdj", "cusolverDngesvdjBatched", "cusolverDnXgesvdp",
}

// String returns the name of the function, without its type.
func (k Kind) String() string {
	if k < 0 || k >= kinds {
		return "no function of cuSOLVER"
	}
	return kindNames[k]
}

// Operand is the matrices or vectors of a batch in device memory.
type Operand struct {
	Addr uint64
	Ld   int // elements from one column to the next
	Step int // elements from one member of the batch to the next
}

// Call is a call of cuSOLVER.
type Call struct {
	Kind       Kind
	Type       dtype.DType // Float32, Float64, Complex64 or Complex128
	Upper      bool        // Potrf, Potrs, Syev: the triangle that is read
	Adjoint    bool        // Getrs: the system of A^H
	Vectors    bool        // Syev, Gesvd: vectors are computed
	Full       bool        // Gesvd: U and V are square
	M, N, K    int
	Batch      int
	A, B, C, D Operand
	Info       *device.Buffer // an int32 for every member of the batch
	Sigma      []float64      // Gesvdp: one value for every member
}

var errCall = errors.New("invalid call of cuSOLVER")

// types maps element types to values of cudaDataType: CUDA_R_32F, CUDA_R_64F, CUDA_C_32F and CUDA_C_64F.
var types = map[dtype.DType]int{dtype.Float32: 0, dtype.Float64: 1, dtype.Complex64: 4, dtype.Complex128: 5}

// check returns an error for arguments that cuSOLVER would reject, or with which it would access
// memory outside its operands.
func (c *Call) check() error {
	_, ok := types[c.Type]
	switch {
	case c.Kind < 0 || c.Kind >= kinds:
		return fmt.Errorf("%w: unknown kind %d", errCall, c.Kind)
	case !ok:
		return fmt.Errorf("%w: cuSOLVER has no matrices of %v", errCall, c.Type)
	case c.M < 0 || c.N < 1 || c.K < 0 || c.Batch < 1:
		return fmt.Errorf("%w: sizes out of range: m %d, n %d, k %d, batch %d", errCall, c.M, c.N, c.K, c.Batch)
	case c.Info == nil || c.Info.Size() < 4*int64(c.Batch):
		return fmt.Errorf("%w: Info is smaller than %d results of 4 bytes", errCall, c.Batch)
	case c.Kind == Gesvdp && len(c.Sigma) < c.Batch:
		return fmt.Errorf("%w: Sigma has %d elements, fewer than the batch of %d", errCall, len(c.Sigma), c.Batch)
	}
	if c.narrow() {
		for _, n := range []int{c.M, c.N, c.K, c.Batch, c.A.Ld, c.C.Ld, c.D.Ld} {
			if n > math.MaxInt32 {
				return fmt.Errorf("%w: %v of dimensions above 2^31", errCall, c.Kind)
			}
		}
	}
	return nil
}

// narrow reports whether the function's dimensions are of 32 bits.
func (c *Call) narrow() bool {
	switch c.Kind {
	case PotrfBatched, Orgqr, SyevjBatched, Gesvdj, GesvdjBatched:
		return true
	}
	return false
}
