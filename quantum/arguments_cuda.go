package quantum

// The arguments of the entry points of libgpk_quantum.so. Each structure has the layout of
// the one in kernels/arguments.h, which describes the fields.

type anglesArgs struct {
	First, N, Features       int64
	X                        uint64
	Row, Col                 int64
	Code, Coefs, Out, Status uint64
	XType, Angles            int32
}

type slotsArgs struct {
	N                         int64
	Code, Fixed, Angles, Out  uint64
	SampleStride, ValueStride int64
	Type, Slots, NAngles      int32
}

// maxPositions is QUANTUM_MAX_POSITIONS.
const maxPositions = 64

type passArgs struct {
	N                                     int64
	State, Code, Slots                    uint64
	SlotStride                            int64
	Angles, Tables                        uint64
	Type, Qubits, Local, Samples, NAngles int32
	Position                              [maxPositions]uint8
}

type normsArgs struct {
	N, Width    int64
	State, Out  uint64
	Type, First int32
}

type wirePoints struct {
	Rows, Cols   int64
	X            uint64
	LdX          int64
	Y            uint64
	LdY          int64
	Planar, Full int32
}

type closedFormArgs struct {
	Points                  wirePoints
	K                       uint64
	Ld                      int64
	Type, Dot, Upper, Times int32
}

type epilogueArgs struct {
	Rows, Cols             int64
	K                      uint64
	Ld                     int64
	Mirror                 uint64
	LdMirror               int64
	One                    float64
	NormX, NormY           uint64
	Jitter                 float64
	Total, Workspace       uint64
	WorkspaceBytes         int64
	Type, Triangle, Square int32
}

type closedGramArgs struct {
	Points           wirePoints
	K                uint64
	Ld               int64
	Mirror           uint64
	LdMirror         int64
	One              float64
	Total, Workspace uint64
	WorkspaceBytes   int64
	Dot, Triangle    int32
}

// maxParameter is QUANTUM_MAX_CODE: the bytes of the largest code that can be a kernel
// parameter.
const maxParameter = 3584

type parameterCode struct {
	Coefs, Fixed, Angles, Slots int32
	Bytes                       [maxParameter]uint8
}

type sampleGramArgs struct {
	N, Features                                 int64
	X                                           uint64
	Row, Col                                    int64
	K                                           uint64
	Ld                                          int64
	One                                         float64
	Notes, Workspace                            uint64
	WorkspaceBytes                              int64
	XType, Planar, Full, Found, Words, Reserved int32
	Code                                        parameterCode
}

type gramArgs struct {
	Rows, Cols, Width             int64
	X, Y, K                       uint64
	Ld                            int64
	Mirror                        uint64
	LdMirror                      int64
	One                           float64
	NormX, NormY                  uint64
	Jitter                        float64
	Total, Workspace              uint64
	WorkspaceBytes                int64
	Real, Split, Factor, Triangle int32
}

// flagOf returns 1 for true, else 0.
func flagOf(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
