package quantum

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/enum"
)

// Precision is the accuracy of a Gram matrix.
type Precision uint8

// The precisions. On the CPU, and for circuits of several blocks, Fast is the same as
// Standard.
const (
	Standard Precision = iota // complex64 states; |K - exact| is at most 5e-6; K is float32
	Fast                      // one tensor-core pass; at most 2e-3; K is float32
	Double                    // complex128 states; at most 1e-12; K is float64
)

// String returns standard, fast or double.
func (p Precision) String() string { return enum.Name(p, "Precision", "standard", "fast", "double") }

// Path is the method by which a Gram matrix is computed.
type Path uint8

// The paths. Auto uses the closed form for single wires, and states for blocks with
// entanglement.
const (
	Auto    Path = iota
	Product      // the closed form for circuits without entanglement; others are ErrUnsupported
	General      // states of 2^qubits amplitudes without simplification, except that real circuits are detected
)

// String returns auto, product or general.
func (p Path) String() string { return enum.Name(p, "Path", "auto", "product", "general") }

// Keep says whether states stay in memory.
type Keep uint8

// KeepAuto keeps all states if they fit into the memory budget. Otherwise it recomputes
// them, a pair of blocks at a time.
const (
	KeepAuto Keep = iota
	KeepAll
	Recompute
)

// String returns auto, all or recompute.
func (k Keep) String() string { return enum.Name(k, "Keep", "auto", "all", "recompute") }

// Options are the options of Gram. The zero value is a good choice.
type Options struct {
	Precision    Precision
	MemoryBudget int64   // maximum number of bytes of the device's memory to use; 0: 0.85 of it (Gram: of the free memory within the pool's limit)
	Normalize    bool    // K_ij / sqrt(K_ii K_jj), with Jitter added to K_ii and K_jj before; the diagonal is exactly 1
	Jitter       float64 // added to the diagonal of a symmetric K; at least 0, and within the range of K's type
	Path         Path
	Tile         int // number of states in a pair of blocks: products are of Tile/2 by Tile/2, or of parts of that if a GPU's memory or time requires it; 0: chosen automatically. It affects K only by rounding
	Keep         Keep
	Streams      int  // maximum number of concurrent products on a GPU, up to 32, and fewer if memory is short; 0: chosen automatically. It affects no bit
	Autotune     bool // on a GPU, choose kernels by timing them once, in the cache of GPK_AUTOTUNE: the first call takes seconds longer, and last bits may differ. It has no effect on the CPU

	// Progress, if not nil, is called after each part of the work, never concurrently.
	Progress func(Progress)

	// Output, if not nil, receives K as a .npy file, written in blocks of rows, and
	// Result.K is nil: K need not fit into memory.
	Output io.WriterAt

	// Group, if not nil, is a *dist.Comm whose ranks compute K together: each computes some of
	// its tiles. All ranks call Gram with the same arguments. K is written to File; without
	// File, each rank keeps its tiles in Result.Tiles. MemoryBudget is for one rank. All ranks
	// compute on GPUs of one kind or on CPUs of one kind.
	Group Ranks

	// Shard is the part of K to compute if no engine connects the processes, as in a job array.
	// All shards write into one File.
	Shard Shard

	// File is the name of the .npy file that several ranks write, on a file system that they
	// share. Until it is complete it is in the folder File + ".parts", with a record of the
	// finished tiles. Calling Gram again with the same arguments continues a run that ended early.
	File string
}

// Progress is the progress of a call of Gram.
type Progress struct {
	Done, Total int64         // entries of K that were computed, not counting mirrored ones
	Elapsed     time.Duration // time since Gram was called
}

// check rejects invalid options.
func (o *Options) check() error {
	if err := o.checkRanks(); err != nil {
		return err
	}
	switch {
	case o.Precision > Double:
		return fmt.Errorf("%w: there is no %v", gpk.ErrUnsupported, o.Precision)
	case o.Path > General:
		return fmt.Errorf("%w: there is no %v", gpk.ErrUnsupported, o.Path)
	case o.Keep > Recompute:
		return fmt.Errorf("%w: there is no %v", gpk.ErrUnsupported, o.Keep)
	case o.MemoryBudget < 0:
		return fmt.Errorf("%w: a MemoryBudget of %d bytes", gpk.ErrUnsupported, o.MemoryBudget)
	case o.Tile < 0:
		return fmt.Errorf("%w: a Tile of %d states", gpk.ErrShape, o.Tile)
	case o.Streams < 0:
		return fmt.Errorf("%w: %d streams", gpk.ErrUnsupported, o.Streams)
	case !(o.Jitter >= 0) || math.IsInf(o.Jitter, 0):
		return fmt.Errorf("%w: a Jitter of %v; it is finite and at least 0", gpk.ErrUnsupported, o.Jitter)
	case o.Precision != Double && math.IsInf(float64(float32(1+o.Jitter)), 0):
		return fmt.Errorf("%w: a Jitter of %v, which a float32 K cannot hold; Precision Double makes a float64 one", gpk.ErrUnsupported, o.Jitter)
	}
	return nil
}

// dtype returns the element type of K.
func (p Precision) dtype() gpk.DType {
	if p == Double {
		return gpk.Float64
	}
	return gpk.Float32
}
