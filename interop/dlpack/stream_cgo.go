//go:build cgo && (amd64 || arm64)

package dlpack

import (
	"context"
	"sync"

	"github.com/gpk-go/gpk/device"
)

// defaultStream is the driver's handle of a device's default stream, CU_STREAM_LEGACY.
// Other libraries use it unless they create streams. gpk's streams do not wait for it.
const defaultStream = 1

var streams struct {
	sync.Mutex
	of map[*device.Device]*device.Stream
}

// awaitDefaultStream waits for the work on a GPU's default stream.
func awaitDefaultStream(d *device.Device) error {
	s, err := wrapped(d)
	if err != nil {
		return err
	}
	return s.Synchronize(context.Background())
}

// wrapped returns a GPU's default stream.
func wrapped(d *device.Device) (*device.Stream, error) {
	streams.Lock()
	defer streams.Unlock()
	if s := streams.of[d]; s != nil {
		return s, nil
	}
	s, err := d.WrapStream(defaultStream)
	if err != nil {
		return nil, err
	}
	if streams.of == nil {
		streams.of = make(map[*device.Device]*device.Stream)
	}
	streams.of[d] = s
	return s, nil
}
