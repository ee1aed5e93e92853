package nccl

import "math/bits"

// Kind is the kind of a call: collective, or one side of a message.
type Kind int

// The kinds of calls. Their numbers are those of gpk_nccl_run.
const (
	AllReduce     Kind = iota // Count elements of Send are reduced into Recv
	ReduceScatter             // Send has Count elements for every rank; Recv gets the Count reduced elements of this rank
	AllGather                 // Count elements of Send; Recv gets Count of every rank
	Broadcast                 // Count elements, from Send of rank Peer to Recv
	AllToAll                  // Send has Count elements for every rank; Recv gets Count of every rank
	Send                      // Count elements to the rank Peer
	Recv                      // Count elements from the rank Peer
)

var names = [...]string{"ncclAllReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast", "ncclSend and ncclRecv", "ncclSend", "ncclRecv"}

// How returns the name of NCCL's function and the version of the library.
func (k Kind) How() string {
	if k < 0 || int(k) >= len(names) || how.names[k] == "" {
		return k.String()
	}
	return how.names[k]
}

// String returns the name of NCCL's function.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(names) {
		return "unknown call"
	}
	return names[k]
}

// Type is an ncclDataType_t.
type Type int

// The types of NCCL as which gpk's types are passed.
const (
	Int8     Type = 0
	Uint8    Type = 1
	Int32    Type = 2
	Uint32   Type = 3
	Int64    Type = 4
	Uint64   Type = 5
	Float16  Type = 6
	Float32  Type = 7
	Float64  Type = 8
	BFloat16 Type = 9
)

// size returns the bytes of an element.
func (t Type) size() int {
	switch t {
	case Int8, Uint8:
		return 1
	case Float16, BFloat16:
		return 2
	case Int32, Uint32, Float32:
		return 4
	}
	return 8
}

// Op is an ncclRedOp_t.
type Op int

// The reductions of NCCL.
const (
	Sum  Op = 0
	Prod Op = 1
	Max  Op = 2
	Min  Op = 3
	Avg  Op = 4
)

// Call is a call that enqueues work. Addresses are in the memory of the communicator's device.
type Call struct {
	Kind       Kind
	Send, Recv uint64
	Count      int
	Type       Type
	Op         Op  // operation of a reduction
	Peer       int // root of Broadcast, other rank of Send and Recv
	Ranks      int // number of ranks of AllToAll
	Stream     uint64
}

// Class is a class of calls. The first call of a class may connect ranks, and then waits for them. Later calls seldom
// do, because NCCL chooses its algorithm mostly by the fields of the class.
type Class struct {
	kind   Kind
	typ    Type
	op     Op
	peer   int
	length int // bits.Len64 of the number of bytes
}

// Class returns the class of a call.
func (k *Call) Class() Class {
	return Class{k.Kind, k.Type, k.Op, k.Peer, bits.Len64(uint64(k.Count) * uint64(k.Type.size()))}
}
