package control

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Config is the configuration of a group.
type Config struct {
	Size    int
	Version string        // ranks of another version are refused
	Silence time.Duration // a rank that is silent for longer counts as lost; beats are sent every eighth of it; the value of rank 0 is used
	Join    time.Duration // time within which all ranks must join
	Linger  time.Duration // how long rank 0 of a failed group waits for the other ranks to connect
}

// hello introduces a rank. It is sent as JSON.
type hello struct {
	Rank, Size int
	Host       string
	Version    string
}

// hub connects the nodes of a group.
type hub struct {
	cfg Config

	mu      sync.Mutex
	members []member // by rank
	joined  int
	left    int // the first rank that has left, or -1
	rounds  map[string]*round
	failure *Failure
	stop    chan struct{}
	stopped bool
}

// member is the state of a rank in the hub.
type member struct {
	port  port // nil if the rank has not joined
	host  string
	heard time.Time // when its last frame arrived
	left  bool

	relayed int64 // bytes of its data that were forwarded and not yet reported to it
}

// port delivers frames from the hub to a node. deliver does not block.
type port interface{ deliver(*frame) }

// round is a Gather to which some ranks have not contributed yet.
type round struct {
	payloads [][]byte // by index
	ranks    []int    // by index
	got      int
}

// letter is a frame with its destination rank.
type letter struct {
	to port
	f  *frame
}

func newHub(cfg Config) *hub {
	return &hub{cfg: cfg, members: make([]member, cfg.Size), left: -1, rounds: map[string]*round{}, stop: make(chan struct{})}
}

// attach makes a rank a member. The last rank starts the group.
func (h *hub) attach(m hello, p port) *Failure {
	h.mu.Lock()
	if h.failure == nil {
		if f := h.refusal(m); f != nil {
			h.mu.Unlock()
			h.fail(f)
			return f
		}
	}
	if f := h.failure; f != nil {
		h.mu.Unlock()
		return f
	}
	h.members[m.Rank] = member{port: p, host: m.Host, heard: time.Now()}
	h.joined++
	var out []letter
	if _, remote := p.(*connection); remote {
		out = append(out, letter{p, (&frame{kind: kindBeat}).withAmount(int64(h.cfg.Silence))})
	}
	if h.joined == h.cfg.Size {
		hosts := make([]string, h.cfg.Size)
		for i, m := range h.members {
			hosts[i] = m.host
		}
		body, _ := json.Marshal(hosts) // strings cannot cause an error
		out = append(out, h.toAll(&frame{kind: kindWelcome, body: body})...)
	}
	h.mu.Unlock()
	post(out)
	return nil
}

// refusal returns the reason why a rank cannot be a member, or nil. mu is held.
func (h *hub) refusal(m hello) *Failure {
	var err error
	switch {
	case m.Version != h.cfg.Version:
		err = fmt.Errorf("%w: it has %q, rank 0 has %q", ErrVersion, m.Version, h.cfg.Version)
	case m.Size != h.cfg.Size:
		err = fmt.Errorf("%w: it was told of %d ranks, rank 0 of %d", ErrWorld, m.Size, h.cfg.Size)
	case m.Rank < 0 || m.Rank >= h.cfg.Size:
		err = fmt.Errorf("%w: there is no such rank among %d", ErrWorld, h.cfg.Size)
	case h.members[m.Rank].port != nil:
		err = fmt.Errorf("%w: the rank has joined twice, the first time from %s", ErrWorld, h.members[m.Rank].host)
	default:
		return nil
	}
	return &Failure{m.Rank, m.Host, err}
}

// toAll returns letters with a frame for all members. mu is held.
func (h *hub) toAll(f *frame) (out []letter) {
	for _, m := range h.members {
		if m.port != nil && !m.left {
			out = append(out, letter{m.port, f})
		}
	}
	return out
}

// post delivers letters. Those to nodes of this process are delivered last: if such a node then closes
// the server, for example, the others are already queued.
func post(out []letter) {
	for _, inside := range []bool{false, true} {
		for _, l := range out {
			if _, ok := l.to.(*Node); ok == inside {
				l.to.deliver(l.f)
			}
		}
	}
}

// receive handles a frame of a member.
func (h *hub) receive(from int, f *frame) {
	h.mu.Lock()
	h.members[from].heard = time.Now()
	var out []letter
	var fail *Failure
	switch f.kind {
	case kindBeat:
	case kindData:
		if int64(f.peer) >= int64(h.cfg.Size) {
			fail = h.protocol(from, "data for rank %d", f.peer)
			break
		}
		out = h.forward(from, f)
		if len(out) == 0 {
			out = h.relayed(from, f.size())
		} else if _, remote := out[0].to.(*connection); !remote {
			out = append(out, h.relayed(from, f.size())...)
		}
	case kindRead:
		if int64(f.peer) >= int64(h.cfg.Size) {
			fail = h.protocol(from, "an acknowledgment for rank %d", f.peer)
			break
		}
		out = h.forward(from, f)
	case kindGather:
		out, fail = h.contribute(from, f)
	case kindLeave:
		out, fail = h.leave(from)
	case kindFailure:
		fail = failureOf(int(f.peer), f.body)
		if f.err != nil {
			fail.Err = f.err
		}
	default:
		fail = h.protocol(from, "a frame of kind %d", f.kind)
	}
	h.mu.Unlock()
	post(out)
	if fail != nil {
		h.fail(fail)
	}
}

// forward returns the letter for a frame from one rank to the rank that it names. mu is held.
func (h *hub) forward(from int, f *frame) []letter {
	to := h.members[f.peer]
	if to.port == nil || to.left {
		return nil
	}
	g := *f
	g.peer = uint32(from)
	return []letter{{to.port, &g}}
}

// relayed counts bytes of a rank's data that this process no longer holds, and reports them to the
// rank after every tellAfter bytes. mu is held.
func (h *hub) relayed(from, bytes int) []letter {
	m := &h.members[from]
	if _, remote := m.port.(*connection); !remote || m.left {
		return nil
	}
	if m.relayed += int64(bytes); m.relayed < tellAfter {
		return nil
	}
	f := (&frame{kind: kindRelayed}).withAmount(m.relayed)
	m.relayed = 0
	return []letter{{m.port, f}}
}

// gone records that a connection no longer holds a frame. For a frame without data it does not lock mu,
// because inspect delivers beats while it holds mu.
func (h *hub) gone(f *frame) {
	if f.kind != kindData {
		return
	}
	h.mu.Lock()
	out := h.relayed(int(f.peer), f.size())
	h.mu.Unlock()
	post(out)
}

// wait waits until there is room for data to a rank of another process.
func (h *hub) wait(ctx context.Context, to int, stop <-chan struct{}) error {
	if to < 0 || to >= len(h.members) {
		return nil
	}
	h.mu.Lock()
	k, remote := h.members[to].port.(*connection)
	h.mu.Unlock()
	if !remote {
		return nil
	}
	return k.wait(ctx, stop)
}

// protocol returns the failure of a rank that has violated the protocol. mu is held.
func (h *hub) protocol(from int, format string, args ...any) *Failure {
	return &Failure{from, h.members[from].host, fmt.Errorf("%w: %s", errFrame, fmt.Sprintf(format, args...))}
}

// contribute adds a payload to a round. After the last one it answers all ranks of the round. mu is
// held.
func (h *hub) contribute(from int, f *frame) ([]letter, *Failure) {
	index, need := int64(f.a), int64(f.b)
	if need < 1 || need > int64(h.cfg.Size) || index >= need || len(f.body) > maxPayload {
		return nil, h.protocol(from, "member %d of %d with %d bytes", index, need, len(f.body))
	}
	if h.left >= 0 {
		return nil, &Failure{h.left, h.members[h.left].host, ErrLeft}
	}
	r := h.rounds[f.key]
	if r == nil {
		r = &round{payloads: make([][]byte, need), ranks: make([]int, need)}
		h.rounds[f.key] = r
	}
	if len(r.payloads) != int(need) || r.payloads[index] != nil {
		return nil, h.protocol(from, "member %d of %d twice in %q", index, need, f.key)
	}
	r.payloads[index], r.ranks[index] = append([]byte{}, f.body...), from
	if r.got++; r.got < int(need) {
		return nil, nil
	}
	delete(h.rounds, f.key)
	answer := &frame{kind: kindRound, key: f.key, b: f.b}
	if answer.body = r.payloads[0]; allEqual(r.payloads) {
		answer.a = 1
	} else {
		answer.body = appendPayloads(nil, r.payloads)
	}
	out := make([]letter, 0, need)
	for _, rank := range r.ranks {
		out = append(out, letter{h.members[rank].port, answer})
	}
	return out, nil
}

func allEqual(payloads [][]byte) bool {
	for _, p := range payloads[1:] {
		if string(p) != string(payloads[0]) {
			return false
		}
	}
	return true
}

func appendPayloads(b []byte, payloads [][]byte) []byte {
	for _, p := range payloads {
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
		b = append(b, p...)
	}
	return b
}

// payloads is the inverse of appendPayloads, for n of them.
func payloads(b []byte, n int) ([][]byte, error) {
	out := make([][]byte, 0, min(n, len(b)/2))
	for range n {
		if len(b) < 2 {
			return nil, errFrame
		}
		size := int(binary.BigEndian.Uint16(b))
		if b = b[2:]; len(b) < size {
			return nil, errFrame
		}
		out = append(out, b[:size:size])
		b = b[size:]
	}
	if len(b) > 0 {
		return nil, errFrame
	}
	return out, nil
}

// leave records that a rank has left. A round that waits for other ranks fails. mu is held.
func (h *hub) leave(rank int) ([]letter, *Failure) {
	m := &h.members[rank]
	m.left = true
	if h.left < 0 {
		h.left = rank
	}
	if len(h.rounds) > 0 {
		return nil, &Failure{rank, m.host, ErrLeft}
	}
	return h.toAll(&frame{kind: kindLeave, peer: uint32(rank)}), nil
}

// lost records that the connection of a rank has ended.
func (h *hub) lost(rank int, err error) {
	h.mu.Lock()
	m := h.members[rank]
	quiet := m.left || h.stopped
	h.mu.Unlock()
	if !quiet {
		h.fail(&Failure{rank, m.host, err})
	}
}

// fail ends the group, the first time it is called.
func (h *hub) fail(f *Failure) {
	h.mu.Lock()
	if h.failure != nil || h.stopped {
		h.mu.Unlock()
		return
	}
	h.failure = f
	out := h.toAll(&frame{kind: kindFailure, peer: uint32(f.Rank), body: reportOf(f), err: f.Err})
	h.mu.Unlock()
	post(out)
}

// close ends the watch. Later failures are not reported.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stopped {
		h.stopped = true
		close(h.stop)
	}
}
