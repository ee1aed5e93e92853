package profile

import (
	"cmp"
	"slices"
	"time"
)

// TransferTotal sums the transfers of one direction.
type TransferTotal struct {
	Kind  TransferKind  `json:"kind"`
	Calls int           `json:"calls"`
	Bytes int64         `json:"bytes"`
	Host  time.Duration `json:"host_ns"` // time of the host's calls
	// Device is the time of the copies measured by events, or nil if none was measured.
	Device *time.Duration `json:"device_ns,omitempty"`
	// GBPerSecond is the average bandwidth of the copies measured by events: their
	// bytes divided by Device, in 1e9 bytes a second.
	GBPerSecond *float64 `json:"gb_per_s,omitempty"`
}

// TransferTotals sums the transfers by direction: to devices, from devices, between
// devices. A direction without transfers is left out.
func (r *Report) TransferTotals() []TransferTotal {
	r = r.orEmpty()
	kinds := []TransferKind{HostToDevice, DeviceToHost, DeviceToDevice}
	totals := map[TransferKind]*TransferTotal{}
	measured := map[TransferKind]*deviceWork{}
	for i := range r.Transfers {
		x := &r.Transfers[i]
		t := totals[x.Kind]
		if t == nil {
			t = &TransferTotal{Kind: x.Kind}
			totals[x.Kind], measured[x.Kind] = t, &deviceWork{}
			if !slices.Contains(kinds, x.Kind) {
				kinds = append(kinds, x.Kind)
			}
		}
		t.Calls++
		t.Bytes = addUp(t.Bytes, x.Bytes)
		t.Host = addUp(t.Host, x.Host)
		measured[x.Kind].add(&Operation{Time: x.Time, Bytes: x.Bytes})
	}
	slices.SortFunc(kinds[3:], func(a, b TransferKind) int { return cmp.Compare(a, b) })
	var out []TransferTotal
	for _, k := range kinds {
		t, w := totals[k], measured[k]
		if t == nil {
			continue
		}
		if w.calls > 0 {
			t.Device = &w.time
			t.GBPerSecond, _ = w.rates()
		}
		out = append(out, *t)
	}
	return out
}
