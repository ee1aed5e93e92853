//go:build !(cgo && linux)

package dist

type (
	mpiLibrary struct {
		rank, size int
		comm       mpiHandle
		file, abi  string
	}
	mpiHandle  uintptr
	mpiRequest struct{}
)

func startMPI([]string) (*mpiLibrary, error) { return nil, errNoMPI }

func (*mpiLibrary) finalize() error { return nil }

func (*mpiRequest) bytes(int, int) []byte { return nil }

func (*mpiRequest) test() (bool, error) { return false, errNoMPI }

func (*mpiRequest) free() {}

func (*mpiComm) startAllGather([]byte, int) (*mpiRequest, error)           { return nil, errNoMPI }
func (*mpiComm) startAllToAll(int, int, func([]byte)) (*mpiRequest, error) { return nil, errNoMPI }
func (*mpiComm) startBroadcast([]byte, int) (*mpiRequest, error)           { return nil, errNoMPI }
func (*mpiComm) startSend([]byte, int) (*mpiRequest, error)                { return nil, errNoMPI }
func (*mpiComm) startRecv(int, int) (*mpiRequest, error)                   { return nil, errNoMPI }
func freeComm(mpiHandle) error                                             { return errNoMPI }
func splitComm(mpiHandle, int, int) (mpiHandle, error)                     { return 0, errNoMPI }
