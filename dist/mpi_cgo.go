//go:build cgo && linux

package dist

/*
#cgo LDFLAGS: -ldl

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The functions of MPI that are used here. A handle is a word: a pointer in Open MPI and in the
// standard ABI, and an int in MPICH, which uses only the lower half of the word. All other types are
// the same in all implementations.
typedef uintptr_t handle;
#define GPK_MPI_FUNCTIONS(F) \
	F(MPI_Init_thread, (int* argc, char*** argv, int required, int* provided)) \
	F(MPI_Initialized, (int* flag)) \
	F(MPI_Finalize, (void)) \
	F(MPI_Get_library_version, (char* text, int* n)) \
	F(MPI_Error_string, (int code, char* text, int* n)) \
	F(MPI_Comm_set_errhandler, (handle comm, handle errhandler)) \
	F(MPI_Comm_rank, (handle comm, int* rank)) \
	F(MPI_Comm_size, (handle comm, int* size)) \
	F(MPI_Comm_split, (handle comm, int color, int key, handle* out)) \
	F(MPI_Comm_free, (handle* comm)) \
	F(MPI_Iallgather, (const void* in, int n, handle type, void* out, int m, handle out_type, handle comm, handle* request)) \
	F(MPI_Ialltoall, (const void* in, int n, handle type, void* out, int m, handle out_type, handle comm, handle* request)) \
	F(MPI_Ibcast, (void* b, int n, handle type, int root, handle comm, handle* request)) \
	F(MPI_Isend, (const void* b, int n, handle type, int to, int tag, handle comm, handle* request)) \
	F(MPI_Irecv, (void* b, int n, handle type, int from, int tag, handle comm, handle* request)) \
	F(MPI_Test, (handle* request, int* flag, void* status))

#define GPK_MPI_POINTER(name, parameters) static int (*name) parameters;
GPK_MPI_FUNCTIONS(GPK_MPI_POINTER)

// The constants of an ABI. Open MPI's handles are addresses of its objects.
struct gpk_mpi_abi { const char* name; handle world, byte, errors_return; void* status_ignore; int undefined, thread_multiple; };
static const struct gpk_mpi_abi standard_abi = { "the MPI standard's ABI 1", 0x101, 0x247, 0x143, NULL, -32766, 4096 }; // MPI 5.0, appendix A.1
static const struct gpk_mpi_abi mpich_abi = { "MPICH's ABI", 0x44000000, 0x4c00010d, 0x54000001, (void*)1, -32766, 3 };
static struct gpk_mpi_abi open_mpi_abi = { "Open MPI's ABI", 0, 0, 0, NULL, -32766, 3 };
static struct gpk_mpi_abi abi;

static void* library;

// gpk_mpi_choose_abi chooses the ABI from the library's version text. MPI_Abi_get_version, which is
// new in MPI 5.0, gives a version only if the library has the standard's ABI: other libraries lack
// the function, or return -1.
static int gpk_mpi_choose_abi(const char* file, char* why, size_t n) {
	char text[8192] = "";
	int length = 0, major = -1, minor = -1;
	int (*abi_version)(int* major, int* minor) = (int (*)(int*, int*))dlsym(library, "MPI_Abi_get_version");
	if (abi_version != NULL && abi_version(&major, &minor) == 0 && major > 0) {
		if (major != 1) {
			snprintf(why, n, "%s has version %d.%d of the MPI standard's ABI; version 1 is supported", file, major, minor);
			return -5;
		}
		abi = standard_abi;
		return 0;
	}
	open_mpi_abi.world = (handle)dlsym(library, "ompi_mpi_comm_world");
	if (open_mpi_abi.world != 0) {
		open_mpi_abi.byte = (handle)dlsym(library, "ompi_mpi_byte");
		open_mpi_abi.errors_return = (handle)dlsym(library, "ompi_mpi_errors_return");
		if (open_mpi_abi.byte == 0 || open_mpi_abi.errors_return == 0) {
			snprintf(why, n, "%s lacks Open MPI's objects", file);
			return -3;
		}
		abi = open_mpi_abi;
		return 0;
	}
	if (MPI_Get_library_version(text, &length) == 0 && strstr(text, "MPICH") != NULL) {
		abi = mpich_abi;
		return 0;
	}
	snprintf(why, n, "%s has neither the MPI standard's ABI nor that of Open MPI or MPICH: %.80s", file, text);
	return -4;
}

// gpk_mpi_load binds every function, and determines the ABI of the library.
static int gpk_mpi_load(const char* file, char* why, size_t n) {
	// Open MPI's plugins look for its symbols among the global ones.
	library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
	if (library == NULL) {
		const char* s = dlerror();
		snprintf(why, n, "%s", s != NULL ? s : "dlopen failed");
		return -1;
	}
#define GPK_MPI_BIND(name, parameters) \
	*(void**)&name = dlsym(library, #name); \
	if (name == NULL) { \
		snprintf(why, n, "%s lacks %s", file, #name); \
		return -2; \
	}
	GPK_MPI_FUNCTIONS(GPK_MPI_BIND)
	return gpk_mpi_choose_abi(file, why, n);
}

// Libraries that MPI uses install signal handlers, some already when they are opened. Go's handlers
// are then restored.
static struct sigaction actions[65];
static void gpk_mpi_save_signals(void) { for (int s = 1; s < 65; s++) sigaction(s, NULL, &actions[s]); }
static void gpk_mpi_restore_signals(void) { for (int s = 1; s < 65; s++) sigaction(s, &actions[s], NULL); }

static int gpk_mpi_init(int* rank, int* size, int* provided, handle* comm) {
	int e = 0, done = 0;
	e = MPI_Initialized(&done);
	if (e == 0 && done) return -1;
	if (e == 0) e = MPI_Init_thread(NULL, NULL, abi.thread_multiple, provided);
	if (e == 0) e = MPI_Comm_set_errhandler(abi.world, abi.errors_return);
	if (e == 0) e = MPI_Comm_rank(abi.world, rank);
	if (e == 0) e = MPI_Comm_size(abi.world, size);
	*comm = abi.world;
	return e;
}

static const char* gpk_mpi_abi_name(void) { return abi.name; }
static int gpk_mpi_threads(int provided) { return provided >= abi.thread_multiple; }
static int gpk_mpi_finalize(void) { return MPI_Finalize(); }
static void gpk_mpi_unload(void) { if (library != NULL) dlclose(library); library = NULL; }
static int gpk_mpi_allgather(const void* in, int n, void* out, handle comm, handle* r) { return MPI_Iallgather(in, n, abi.byte, out, n, abi.byte, comm, r); }
static int gpk_mpi_alltoall(const void* in, int n, void* out, handle comm, handle* r) { return MPI_Ialltoall(in, n, abi.byte, out, n, abi.byte, comm, r); }
static int gpk_mpi_bcast(void* b, int n, int root, handle comm, handle* r) { return MPI_Ibcast(b, n, abi.byte, root, comm, r); }
static int gpk_mpi_send(const void* b, int n, int to, handle comm, handle* r) { return MPI_Isend(b, n, abi.byte, to, 1, comm, r); }
static int gpk_mpi_recv(void* b, int n, int from, handle comm, handle* r) { return MPI_Irecv(b, n, abi.byte, from, 1, comm, r); }
static int gpk_mpi_test(handle* r, int* flag) { return MPI_Test(r, flag, abi.status_ignore); }
static int gpk_mpi_split(handle comm, int color, int key, handle* out) {
	*out = 0;
	int e = MPI_Comm_split(comm, color < 0 ? abi.undefined : color, key, out);
	if (e == 0 && color >= 0) e = MPI_Comm_set_errhandler(*out, abi.errors_return);
	return e;
}
static int gpk_mpi_free(handle* comm) { return MPI_Comm_free(comm); }
static int gpk_mpi_text(int code, char* text, int* n) { return MPI_Error_string(code, text, n); }
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// mpiLibrary is the MPI library of this process. MPI allows only one.
type mpiLibrary struct {
	rank, size int
	comm       mpiHandle
	file, abi  string
	calls      chan func() // functions for the thread that called Init
}

type mpiHandle = C.handle

// mpiRequest is an operation in progress, with memory of C: an abandoned operation may still write
// to it.
type mpiRequest struct {
	handle *mpiHandle
	memory unsafe.Pointer
}

var (
	mpiOnce sync.Mutex
	mpiUsed bool
)

// startMPI opens the first of the files that exists, and starts it.
func startMPI(files []string) (*mpiLibrary, error) {
	mpiOnce.Lock()
	defer mpiOnce.Unlock()
	if mpiUsed {
		return nil, errors.New("MPI was started in this process before, and can only be once")
	}
	l := &mpiLibrary{calls: make(chan func())}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // Init and Finalize belong to one thread
		done <- l.start(files)
		for f := range l.calls {
			f()
		}
	}()
	if err := <-done; err != nil {
		close(l.calls)
		return nil, err
	}
	mpiUsed = true
	return l, nil
}

func (l *mpiLibrary) start(files []string) error {
	C.gpk_mpi_save_signals()
	defer C.gpk_mpi_restore_signals()
	if err := l.load(files); err != nil {
		return err
	}
	var rank, size, provided C.int
	switch e := C.gpk_mpi_init(&rank, &size, &provided, &l.comm); {
	case e == -1:
		return errors.New("another part of this program has started MPI")
	case e != 0:
		return fmt.Errorf("MPI_Init_thread: %w", mpiError(e))
	}
	l.rank, l.size = int(rank), int(size)
	if C.gpk_mpi_threads(provided) == 0 {
		return fmt.Errorf("%s has no MPI_THREAD_MULTIPLE, only level %d", l.file, provided)
	}
	return nil
}

func (l *mpiLibrary) load(files []string) error {
	var errs []error
	for _, f := range files {
		name := C.CString(f)
		why := (*C.char)(C.calloc(1, 512))
		rc := C.gpk_mpi_load(name, why, 512)
		text := C.GoString(why)
		C.free(unsafe.Pointer(name))
		C.free(unsafe.Pointer(why))
		if rc == 0 {
			l.file, l.abi = f, C.GoString(C.gpk_mpi_abi_name())
			return nil
		}
		C.gpk_mpi_unload() // its functions are global, and would be found instead of those of the next library
		errs = append(errs, errors.New(text))
	}
	return fmt.Errorf("no library of MPI: %w", errors.Join(errs...))
}

// finalize ends MPI. All ranks call it.
func (l *mpiLibrary) finalize() error {
	done := make(chan error)
	l.calls <- func() {
		var err error
		if e := C.gpk_mpi_finalize(); e != 0 {
			err = fmt.Errorf("MPI_Finalize failed with code %d", e)
		}
		C.gpk_mpi_unload() // one that stays ends the other ranks with MPICH 5
		done <- err
	}
	err := <-done
	close(l.calls)
	return err
}

func mpiError(code C.int) error {
	text, n := (*C.char)(C.calloc(1, 8192)), C.int(0)
	defer C.free(unsafe.Pointer(text))
	if C.gpk_mpi_text(code, text, &n) != 0 {
		return fmt.Errorf("%w: MPI's code %d", errEngine, code)
	}
	return fmt.Errorf("%w: %s", errEngine, C.GoString(text))
}

// begin allocates memory of C for an operation, and starts it.
func (m *mpiComm) begin(n int, f func(memory unsafe.Pointer, request *mpiHandle) C.int) (*mpiRequest, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		return nil, errFreed
	}
	r := &mpiRequest{handle: (*mpiHandle)(C.calloc(1, C.size_t(unsafe.Sizeof(mpiHandle(0))))), memory: C.malloc(C.size_t(max(n, 1)))}
	if e := f(r.memory, r.handle); e != 0 {
		r.free()
		return nil, mpiError(e)
	}
	return r, nil
}

// bytes returns n bytes of the request's memory, from byte `from` on.
func (r *mpiRequest) bytes(from, n int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(r.memory, from)), n)
}

// test reports whether the operation is done.
func (r *mpiRequest) test() (bool, error) {
	var flag C.int
	if e := C.gpk_mpi_test(r.handle, &flag); e != 0 {
		return false, mpiError(e)
	}
	return flag != 0, nil
}

// free frees a request that is done.
func (r *mpiRequest) free() {
	C.free(unsafe.Pointer(r.handle))
	C.free(r.memory)
}

func at(p unsafe.Pointer, n int) unsafe.Pointer { return unsafe.Add(p, n) }

// startAllGather starts the exchange of in. The result is in the request's memory, from byte len(in)
// on.
func (m *mpiComm) startAllGather(in []byte, ranks int) (*mpiRequest, error) {
	return m.begin((1+ranks)*len(in), func(b unsafe.Pointer, r *mpiHandle) C.int {
		copy(unsafe.Slice((*byte)(b), len(in)), in)
		return C.gpk_mpi_allgather(b, C.int(len(in)), at(b, len(in)), m.comm, r)
	})
}

// startAllToAll starts the exchange of the blocks that fill writes. The result is after them in the
// request's memory.
func (m *mpiComm) startAllToAll(block, ranks int, fill func(b []byte)) (*mpiRequest, error) {
	return m.begin(2*ranks*block, func(b unsafe.Pointer, r *mpiHandle) C.int {
		fill(unsafe.Slice((*byte)(b), ranks*block))
		return C.gpk_mpi_alltoall(b, C.int(block), at(b, ranks*block), m.comm, r)
	})
}

func (m *mpiComm) startBroadcast(b []byte, root int) (*mpiRequest, error) {
	return m.begin(len(b), func(p unsafe.Pointer, r *mpiHandle) C.int {
		copy(unsafe.Slice((*byte)(p), len(b)), b)
		return C.gpk_mpi_bcast(p, C.int(len(b)), C.int(root), m.comm, r)
	})
}

func (m *mpiComm) startSend(b []byte, to int) (*mpiRequest, error) {
	return m.begin(len(b), func(p unsafe.Pointer, r *mpiHandle) C.int {
		copy(unsafe.Slice((*byte)(p), len(b)), b)
		return C.gpk_mpi_send(p, C.int(len(b)), C.int(to), m.comm, r)
	})
}

func (m *mpiComm) startRecv(n, from int) (*mpiRequest, error) {
	return m.begin(n, func(p unsafe.Pointer, r *mpiHandle) C.int {
		return C.gpk_mpi_recv(p, C.int(n), C.int(from), m.comm, r)
	})
}

// freeComm calls MPI_Comm_free.
func freeComm(comm mpiHandle) error {
	p := (*mpiHandle)(C.calloc(1, C.size_t(unsafe.Sizeof(mpiHandle(0)))))
	defer C.free(unsafe.Pointer(p))
	*p = comm
	if e := C.gpk_mpi_free(p); e != 0 {
		return mpiError(e)
	}
	return nil
}

// splitComm calls MPI_Comm_split, which waits for all ranks.
func splitComm(comm mpiHandle, color, key int) (mpiHandle, error) {
	out := (*mpiHandle)(C.calloc(1, C.size_t(unsafe.Sizeof(mpiHandle(0)))))
	defer C.free(unsafe.Pointer(out))
	if e := C.gpk_mpi_split(comm, C.int(color), C.int(key), out); e != 0 {
		return 0, mpiError(e)
	}
	return *out, nil
}
