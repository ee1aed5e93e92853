package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// kind is the kind of a frame. Its numbers are part of the protocol.
type kind uint8

const (
	kindHello   kind = iota + 1 // to the hub: body is a hello
	kindWelcome                 // from the hub, once all ranks have joined: body is a list of hosts
	kindBeat                    // both ways: the sender is alive; the first from the hub: a and b are the halves of its Silence
	kindFailure                 // both ways: peer failed, body is a report
	kindLeave                   // both ways: peer has left without an error
	kindGather                  // to the hub: the payload of member a of b for the round called key
	kindRound                   // from the hub: the payloads of a round; if a is 1, b equal payloads, of which body holds one
	kindData                    // body for rank peer, under key; from the hub: body from rank peer
	kindRead                    // to rank peer: the number of its bytes that the sender has received, halves in a and b; from the hub, peer is the receiver
	kindRelayed                 // from the hub: the number of bytes of this rank's data that were forwarded, halves in a and b
	lastKind    = kindRelayed
)

// frame is a message between a node and the hub.
type frame struct {
	kind kind
	peer uint32
	a, b uint32
	key  string
	body []byte
	err  error // the error itself, for kindFailure in memory
}

const (
	frameHeader = 4 + 1 + 4 + 4 + 4 + 2
	maxKey      = 256

	// Limits of the number of bytes of a frame after its length.
	maxHello    = 4 << 10  // before the rank is known
	maxToHub    = 2 << 20  // frames from a rank
	maxToNode   = 64 << 20 // frames from the hub, which contain the payloads of all ranks
	maxPayload  = 4 << 10  // payload of one rank in a round
	maxDataBody = 1 << 20  // bytes of data in a frame over TCP; longer messages take several frames
)

var errFrame = errors.New("malformed frame")

// size returns the number of bytes that append appends.
func (f *frame) size() int { return frameHeader + len(f.key) + len(f.body) }

// amount returns the number with the halves a and b.
func (f *frame) amount() int64 { return int64(f.a)<<32 | int64(f.b) }

// withAmount sets a and b to the halves of a number.
func (f *frame) withAmount(n int64) *frame {
	f.a, f.b = uint32(n>>32), uint32(n)
	return f
}

// append appends the encoded frame.
func (f *frame) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(f.size()-4))
	b = append(b, byte(f.kind))
	b = binary.BigEndian.AppendUint32(b, f.peer)
	b = binary.BigEndian.AppendUint32(b, f.a)
	b = binary.BigEndian.AppendUint32(b, f.b)
	b = binary.BigEndian.AppendUint16(b, uint16(len(f.key)))
	b = append(b, f.key...)
	return append(b, f.body...)
}

// readFrame reads a frame of at most limit bytes.
func readFrame(r io.Reader, limit int) (*frame, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(head[:])) - (frameHeader - 4)
	keyBytes := int64(binary.BigEndian.Uint16(head[17:]))
	f := &frame{
		kind: kind(head[4]),
		peer: binary.BigEndian.Uint32(head[5:]),
		a:    binary.BigEndian.Uint32(head[9:]),
		b:    binary.BigEndian.Uint32(head[13:]),
	}
	switch {
	case f.kind < kindHello || f.kind > lastKind:
		return nil, fmt.Errorf("%w: kind %d", errFrame, f.kind)
	case n > int64(limit):
		return nil, fmt.Errorf("%w: %d bytes, more than %d", errFrame, n, limit)
	case keyBytes > maxKey || keyBytes > n:
		return nil, fmt.Errorf("%w: a key of %d bytes in %d", errFrame, keyBytes, n)
	}
	rest, err := readAll(r, int(n))
	if err != nil {
		return nil, err
	}
	f.key, f.body = string(rest[:keyBytes]), rest[keyBytes:]
	return f, nil
}

// readAll reads n bytes. It allocates memory as the bytes arrive, so that a false length
// costs no memory.
func readAll(r io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	b := make([]byte, min(n, step))
	for read := 0; ; {
		if _, err := io.ReadFull(r, b[read:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if read = len(b); read == n {
			return b, nil
		}
		b = append(b, make([]byte, min(n-read, len(b)))...)
	}
}
