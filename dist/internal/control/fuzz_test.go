package control

import (
	"bytes"
	"testing"
	"time"
)

// FuzzFrame reads frames of any bytes: each is an error, or is written as it was read.
func FuzzFrame(f *testing.F) {
	f.Add((&frame{kind: kindGather, peer: 1, a: 2, b: 3, key: "run1/2", body: []byte("payload")}).append(nil))
	f.Add((&frame{kind: kindBeat}).append(nil))
	f.Add([]byte{255, 255, 255, 255, byte(kindData), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		x, err := readFrame(r, maxHello)
		if err != nil {
			return
		}
		if got, want := x.append(nil), b[:len(b)-r.Len()]; !bytes.Equal(got, want) {
			t.Errorf("%x is written as %x", want, got)
		}
		if len(x.body)+len(x.key) > maxHello {
			t.Errorf("%d bytes, more than the limit", len(x.body))
		}
	})
}

// FuzzHub gives the hub any frames of an admitted rank, and a node any frames of the hub: the
// group may fail, but nothing panics.
func FuzzHub(f *testing.F) {
	f.Add(byte(kindGather), uint32(0), uint32(1), uint32(2), "k", []byte("x"))
	f.Add(byte(kindGather), uint32(0), uint32(1<<31), uint32(1<<31), "k", []byte("x"))
	f.Add(byte(kindData), uint32(1<<31), uint32(0), uint32(0), "k", []byte("x"))
	f.Add(byte(kindWelcome), uint32(0), uint32(0), uint32(0), "", []byte(`["a","b"]`))
	f.Add(byte(kindFailure), uint32(0), uint32(0), uint32(0), "", []byte(`{"Text":"x","Is":[-1,0,99]}`))
	f.Add(byte(kindLeave), uint32(0), uint32(0), uint32(0), "", []byte{})
	f.Add(byte(kindRound), uint32(0), uint32(0), uint32(1<<31), "k", []byte{0, 9, 1})
	f.Fuzz(func(t *testing.T, k byte, peer, a, b uint32, key string, body []byte) {
		if k < byte(kindHello) || k > byte(lastKind) || len(key) > maxKey {
			return
		}
		nodes, err := Local(2, "h", Config{Silence: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		x := &frame{kind: kind(k), peer: peer, a: a, b: b, key: key, body: body}
		nodes[1].send(x)
		y := *x
		nodes[0].deliver(&y)
		if kind(k) == kindRound {
			_, _ = gathered(x, 2)
		}
		nodes[0].Close()
		nodes[1].Close()
	})
}
