package cutlass

import "github.com/gpk-go/gpk/dtype"

// The arguments of the entry points for quantum circuits. Addresses are device addresses;
// src/gpk.h describes each.

// QuantumAngles are the arguments of Library.QuantumAngles.
type QuantumAngles struct {
	Type        dtype.DType // of X
	First       int
	N, Features int
	X           uint64
	Row, Col    int
	Angles      int
	Code, Coefs uint64
	Out, Status uint64
}

// QuantumSlots are the arguments of Library.QuantumSlots.
type QuantumSlots struct {
	Type                      dtype.DType // Float32 or Float64
	N, Slots                  int
	Code, Fixed               uint64
	Angles                    uint64
	NAngles                   int
	Out                       uint64
	SampleStride, ValueStride int
}

// QuantumPass are the arguments of Library.QuantumPass.
type QuantumPass struct {
	Type                   dtype.DType // of the states
	N                      int
	Qubits, Local, Samples int
	State, Code            uint64
	Slots                  uint64
	SlotStride             int
	Angles                 uint64
	NAngles                int
	Tables                 uint64
	At                     []int32 // the positions of the local bits, then of the others
}

// QuantumNorms are the arguments of Library.QuantumNorms.
type QuantumNorms struct {
	Type       dtype.DType // Float32 or Float64
	N, Width   int
	State, Out uint64
	First      bool
}

// QuantumPairs are the samples, those of Rows and those of Cols, whose points of single wires
// enter the closed form.
type QuantumPairs struct {
	Rows, Cols   int
	X            uint64
	LDX          int
	Y            uint64
	LDY          int
	Planar, Full int
	Dot          bool
}

// QuantumClosed are the arguments of Library.QuantumClosed.
type QuantumClosed struct {
	QuantumPairs
	Type         dtype.DType
	Upper, Times bool
	K            uint64
	LD           int
}

// QuantumFinish are the arguments of Library.QuantumFinish.
type QuantumFinish struct {
	Type             dtype.DType
	Rows, Cols       int
	K                uint64
	LD               int
	Mirror           uint64
	LDMirror         int
	Triangle, Square bool
	One              float64
	NormX, NormY     uint64
	Jitter           float64
	Total, Workspace uint64
	WorkspaceBytes   int64
}

// QuantumClosedWhole are the arguments of Library.QuantumClosedWhole: those of
// QuantumAngles, QuantumSlots and QuantumClosedGram. The codes and their numbers are at the given
// byte offsets of Code.
type QuantumClosedWhole struct {
	XType                       dtype.DType
	N, Features                 int
	X                           uint64
	Row, Col                    int
	Planar, Full                int
	Code                        []byte
	Coefs, Fixed, Angles, Slots uint64
	K                           uint64
	LD                          int
	One                         float64
	Notes                       uint64
	Found, Words                int // words of the notes: the first Found say that nothing was found, Words is the number of all words
	Workspace                   uint64
	WorkspaceBytes              int64
}

// QuantumClosedGram are the arguments of Library.QuantumClosedGram.
type QuantumClosedGram struct {
	QuantumPairs
	K                uint64
	LD               int
	Mirror           uint64
	LDMirror         int
	Triangle         bool
	One              float64
	Total, Workspace uint64
	WorkspaceBytes   int64
}

// QuantumGram are the arguments of Library.QuantumGram; the size of its workspace depends
// on the first seven.
type QuantumGram struct {
	Real, Split      bool
	Factor           bool
	Rows, Cols       int
	Width            int
	Triangle         bool
	X, Y             uint64
	K                uint64
	LD               int
	Mirror           uint64
	LDMirror         int
	One              float64
	NormX, NormY     uint64
	Jitter           float64
	Total, Workspace uint64
	WorkspaceBytes   int64
}
