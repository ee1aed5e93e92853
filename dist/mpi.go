package dist

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist/internal/control"
)

var errNoMPI = fmt.Errorf("%w: this program was built without cgo, or not for Linux: it cannot open MPI", gpk.ErrUnsupported)

// mpiFiles returns the possible files of a launcher's MPI library, in the order in which they
// are tried.
func (p place) mpiFiles(own string) []string {
	if own != "" {
		return []string{own}
	}
	openMPI := []string{"libmpi.so.40", "libmpi.so.80"}
	mpich := []string{"libmpich.so.12", "libmpi.so.12"}
	files := append(mpich, openMPI...)
	switch p.mpi {
	case "openmpi":
		files = openMPI
	case "mpich":
		files = mpich
	}
	return append(files, "libmpi_abi.so.1") // the name that the MPI standard's ABI has with every implementation
}

// openMPI starts the MPI library in the file own or, if own is empty, that of the launcher.
func openMPI(p place, own string) (*mpiLibrary, error) {
	l, err := startMPI(p.mpiFiles(own))
	if err != nil {
		return nil, err
	}
	if l.size != p.size || l.rank != p.rank {
		err := fmt.Errorf("%w: %s says rank %d of %d, the library %s rank %d of %d: it belongs to another launcher", ErrWorld, p.launcher, p.rank, p.size, l.file, l.rank, l.size)
		return nil, errors.Join(err, l.finalize())
	}
	return l, nil
}

// invitation is broadcast by rank 0 over MPI. It tells the others the address of rank 0.
type invitation struct {
	Address string
	Token   []byte
	Error   string
}

const invitationBytes = 1 << 10

// meetByMPI joins at an address that rank 0 chooses, with a random token.
func (g *Group) meetByMPI(ctx context.Context, o *options, p place, m *mpiComm, l *mpiLibrary) ([]*control.Node, error) {
	if p.held == 1 {
		g.how = append(g.how, "data moves by MPI, "+l.file+" with "+l.abi)
	} else {
		g.how = append(g.how, overTCP+"; the processes met by MPI, "+l.file+" with "+l.abi)
	}
	limited, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("%w within %v", ErrMissing, o.timeout))
	defer cancel()
	block := make([]byte, invitationBytes)
	if p.rank == 0 {
		b, _ := json.Marshal(g.invite(limited, o, p)) // strings cannot cause an error
		copy(block, b)
	}
	request, err := m.startBroadcast(block, 0)
	if err == nil {
		err = m.wait(limited, nil, request)
	}
	if err != nil {
		return nil, &RankError{0, "", err}
	}
	copy(block, request.bytes(0, len(block)))
	request.free()
	end := len(block)
	for end > 0 && block[end-1] == 0 {
		end--
	}
	var i invitation
	if err := json.Unmarshal(block[:end], &i); err != nil || i.Error != "" {
		return nil, &RankError{0, "", errors.Join(err, errors.New(i.Error))}
	}
	return g.connect(ctx, o, p, []string{i.Address}, i.Token)
}

// invite listens at a port that the system chooses.
func (g *Group) invite(ctx context.Context, o *options, p place) (i invitation) {
	host := "127.0.0.1"
	var err error
	if p.localSize != p.size {
		host, err = outerIP(ctx)
	}
	i.Token = make([]byte, 32)
	_, _ = rand.Read(i.Token) // never returns an error (Go 1.24)
	if err == nil {
		g.server, err = control.Listen([]string{net.JoinHostPort(host, "0")}, i.Token, o.config(p))
	}
	if err != nil {
		i.Error = control.Text(err)[:min(len(err.Error()), invitationBytes/2)]
		return i
	}
	i.Address = g.server.Addr()
	return i
}

// outerIP returns an address of this machine that others can reach: that of its name or, if
// there is none, the first of an interface.
func outerIP(ctx context.Context) (string, error) {
	if ip, err := ownIP(ctx, hostName()); err == nil && !net.ParseIP(ip).IsLoopback() {
		return ip, nil
	}
	own, err := net.InterfaceAddrs()
	if ip := firstOuter(own); ip != "" {
		return ip, nil
	}
	return "", errors.Join(err, fmt.Errorf("%w: no interface with an address that other machines reach", gpk.ErrUnsupported))
}

// mpiComm moves bytes by MPI. Blocks are copied to memory of C, so that an abandoned call does
// not write to memory of Go. They are sent in pieces, so that no count exceeds an int.
type mpiComm struct {
	comm mpiHandle

	mu    sync.Mutex // held while an operation is started, and by split and free
	freed bool
}

var errFreed = fmt.Errorf("%w: a Comm of Split is used after the Run that made it", gpk.ErrUnsupported)

func (m *mpiComm) free() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		return nil
	}
	m.freed = true
	return freeComm(m.comm)
}

const mpiMemory = 32 << 20 // bytes of memory of C for a call

// piece returns the number of bytes of a block that are sent at once.
func piece(block, ranks int) int { return min(block, max(mpiMemory/(2*ranks), 1<<10)) }

// wait waits for a request until ctx ends or the group fails. The memory of an abandoned
// request is never freed.
func (m *mpiComm) wait(ctx context.Context, node *control.Node, r *mpiRequest) error {
	var failed <-chan struct{}
	if node != nil {
		failed = node.Done()
	}
	pause := 5 * time.Microsecond
	for tries := 0; ; tries++ {
		done, err := r.test()
		if err != nil || done {
			return err
		}
		if tries < 100 {
			runtime.Gosched()
			continue
		}
		select {
		case <-failed:
			return node.Err()
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
			time.Sleep(pause)
			pause = min(2*pause, 200*time.Microsecond)
		}
	}
}

// finish waits for a request, reads its memory, and frees it.
func (m *mpiComm) finish(ctx context.Context, c *Comm, r *mpiRequest, err error, read func(r *mpiRequest)) error {
	if err != nil {
		return err
	}
	if err := m.wait(ctx, c.r.node, r); err != nil {
		return err
	}
	read(r)
	r.free()
	return nil
}

// headings compares hashes first: the headings themselves are exchanged only if they differ.
func (m *mpiComm) headings(ctx context.Context, c *Comm, key string, own []byte) ([][]byte, error) {
	p := len(c.members)
	sum := sha256.Sum256(own)
	sums := make([]byte, p*len(sum))
	if err := m.allGather(ctx, c, key, sums, sum[:]); err != nil {
		return nil, err
	}
	all := make([][]byte, p)
	same := true
	for i := range all {
		all[i] = own
		same = same && string(sums[i*len(sum):][:len(sum)]) == string(sum[:])
	}
	if same {
		return all, nil
	}
	block := make([]byte, maxHeading)
	copy(block, own)
	blocks := make([]byte, p*maxHeading)
	if err := m.allGather(ctx, c, key, blocks, block); err != nil {
		return nil, err
	}
	for i := range all {
		b := blocks[i*maxHeading:][:maxHeading]
		for len(b) > 0 && b[len(b)-1] == 0 {
			b = b[:len(b)-1]
		}
		all[i] = b
	}
	return all, nil
}

func (m *mpiComm) allGather(ctx context.Context, c *Comm, _ string, out, in []byte) error {
	p, block := len(c.members), len(in)
	for at, n := 0, piece(block, p); at < block; at += n {
		n = min(n, block-at)
		r, err := m.startAllGather(in[at:][:n], p)
		err = m.finish(ctx, c, r, err, func(r *mpiRequest) {
			for i := range p {
				copy(out[i*block+at:][:n], r.bytes((1+i)*n, n))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *mpiComm) allToAll(ctx context.Context, c *Comm, _ string, out, in []byte) error {
	p := len(c.members)
	block := len(in) / p
	for at, n := 0, piece(block, p); at < block; at += n {
		n = min(n, block-at)
		r, err := m.startAllToAll(n, p, func(b []byte) {
			for i := range p {
				copy(b[i*n:][:n], in[i*block+at:])
			}
		})
		err = m.finish(ctx, c, r, err, func(r *mpiRequest) {
			for i := range p {
				copy(out[i*block+at:][:n], r.bytes((p+i)*n, n))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *mpiComm) broadcast(ctx context.Context, c *Comm, _ string, b []byte, root int) error {
	return pieces(b, func(b []byte) error {
		r, err := m.startBroadcast(b, root)
		return m.finish(ctx, c, r, err, func(r *mpiRequest) { copy(b, r.bytes(0, len(b))) })
	})
}

func (m *mpiComm) send(ctx context.Context, c *Comm, _ string, b []byte, to int) error {
	return pieces(b, func(b []byte) error {
		r, err := m.startSend(b, to)
		return m.finish(ctx, c, r, err, func(*mpiRequest) {})
	})
}

func (m *mpiComm) recv(ctx context.Context, c *Comm, _ string, b []byte, from int) error {
	return pieces(b, func(b []byte) error {
		r, err := m.startRecv(len(b), from)
		return m.finish(ctx, c, r, err, func(r *mpiRequest) { copy(b, r.bytes(0, len(b))) })
	})
}

// pieces calls f for b in pieces.
func pieces(b []byte, f func(b []byte) error) error {
	for len(b) > 0 {
		n := min(len(b), mpiMemory)
		if err := f(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// split calls MPI_Comm_split in a goroutine. If the call is abandoned, the goroutine remains.
func (m *mpiComm) split(ctx context.Context, color, key int) (mover, error) {
	type result struct {
		comm mpiHandle
		err  error
	}
	done := make(chan result, 1)
	go func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.freed {
			done <- result{err: errFreed}
			return
		}
		comm, err := splitComm(m.comm, color, key)
		done <- result{comm, err}
	}()
	select {
	case r := <-done:
		return &mpiComm{comm: r.comm}, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
