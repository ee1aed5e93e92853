package matmul

import (
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
)

// planCache stores the plans of problems, so that planning a problem again costs one
// look-up. It is cleared when it is full. That changes no plan, because planning is
// deterministic.
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
	if err := cand.bind(p, dev); err != nil {
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

// bind looks up the candidate's kernels in the device's kernel library, and the workspace
// that they need.
func (c *candidate) bind(p Problem, dev *device.Device) error {
	lib, ordinal := dev.Library(), dev.Info().Index
	n, m := p.N, p.M
	if c.form != 0 {
		var err error
		right := n
		if p.Packed {
			right = 0
		}
		if c.prepareScratch, err = lib.PrepareWorkspace(ordinal, p.A, c.form, m, right, p.K, p.Batch); err != nil {
			return err
		}
		if n, _ = p.realSizes(); c.fallback != nil {
			if err := c.fallback.bind(p, dev); err != nil {
				return err
			}
			c.scratch = c.fallback.scratch
		}
	}
	if c.last != nil {
		if err := c.last.bind(c.lastProblem(p), dev); err != nil {
			return err
		}
	}
	index, ok := lib.KernelIndex(c.kernel.Name)
	if !ok {
		return fmt.Errorf("%w: the kernel library %s lacks %s; build it for this device with `gpk setup -arch all`", expr.ErrUnsupported, lib.Path(), c.kernel.Name)
	}
	c.index = index
	for _, b := range blocks(m, c.rows, p.Symmetric) { // a block may need more workspace than D as a whole
		cols := n - b.col*(n/max(1, p.N))
		scratch, err := lib.GemmWorkspace(ordinal, index, int64(b.rows), int64(cols), int64(c.k), int64(p.Batch))
		if err != nil {
			return err
		}
		c.scratch = max(c.scratch, scratch)
	}
	return nil
}
