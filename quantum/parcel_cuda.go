package quantum

import (
	"encoding/binary"
	"math"

	"github.com/gpk-go/gpk/device"
)

// parcel is what the host sends to a GPU in one copy.
type parcel struct {
	bytes  []byte
	places []place
}

// place is a part of a parcel whose address somebody wants to know.
type place struct {
	to *uint64
	at int
}

// align has the next part begin at a multiple of eight bytes.
func (p *parcel) align() {
	for len(p.bytes)%8 != 0 {
		p.bytes = append(p.bytes, 0)
	}
}

func (p *parcel) numbers(v []float64, to *uint64) {
	p.align()
	p.places = append(p.places, place{to, len(p.bytes)})
	for _, x := range v {
		p.bytes = binary.LittleEndian.AppendUint64(p.bytes, math.Float64bits(x))
	}
}

func (p *parcel) words(v []int32, to *uint64) {
	p.places = append(p.places, place{to, len(p.bytes)})
	for _, x := range v {
		p.bytes = binary.LittleEndian.AppendUint32(p.bytes, uint32(x))
	}
}

// send copies all of it to the device, where the addresses are known then.
func (p *parcel) send(dev *device.Device, s *device.Stream) (*device.Buffer, error) {
	b, err := dev.Alloc(int64(len(p.bytes)), s)
	if err != nil {
		return nil, err
	}
	if err := dev.CopyFromHost(b, 0, p.bytes, s); err != nil {
		b.Free()
		return nil, err
	}
	for _, x := range p.places {
		*x.to = b.Addr() + uint64(x.at)
	}
	return b, nil
}
