package matmul

import (
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
)

// planCache remembers how problems are computed, so that a product met again
// costs a look-up. It is cleared when full: planning again gives the same.
type planCache struct {
	mu    sync.RWMutex
	plans map[planKey]*candidate
}

type planKey struct {
	problem Problem
	kernel  string
	dev     *device.Device
}

const maxPlans = 4096

var plans = &planCache{plans: map[planKey]*candidate{}}

func (c *planCache) get(p Problem, kernel string, dev *device.Device) (*candidate, error) {
	key := planKey{p, kernel, dev}
	c.mu.RLock()
	found := c.plans[key]
	c.mu.RUnlock()
	if found != nil {
		return found, nil
	}
	_, cand, err := choose(p, dev.Capabilities(), kernel, manifest)
	if err != nil {
		return nil, err
	}
	lib := dev.Library()
	index, ok := lib.KernelIndex(cand.kernel.Name)
	if !ok {
		return nil, fmt.Errorf("%w: the kernel library %s lacks %s; build it for this device with `gpk setup -arch all`", expr.ErrUnsupported, lib.Path(), cand.kernel.Name)
	}
	cand.index = index
	if cand.scratch, err = lib.GemmWorkspace(dev.Info().Index, index, int64(p.M), int64(p.N), int64(cand.k), int64(p.Batch)); err != nil {
		return nil, err
	}
	c.mu.Lock()
	if len(c.plans) >= maxPlans {
		clear(c.plans)
	}
	c.plans[key] = &cand
	c.mu.Unlock()
	return &cand, nil
}
