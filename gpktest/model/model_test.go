package model

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/internal/setting"
)

var (
	steps  = flag.Int("model.steps", 0, "steps of each mode; 0: as many as -model.time allows")
	length = flag.Duration("model.time", 300*time.Millisecond, "how long each mode runs")
	seed   = flag.Uint64("model.seed", 0, "the first seed; 0: one of the clock")
	most   = flag.Int("model.length", 300, "steps of a program")
)

// devices returns the CPU and a second device that computes in the same way.
func devices(t *testing.T) []*device.Device {
	cpu := devicetest.CPU(t)
	second := devicetest.NewFake(device.Info{Name: "second", Kind: device.CPU, TotalMemory: 1 << 30}, device.Capabilities{})
	return []*device.Device{cpu, second}
}

func options(t *testing.T) Options {
	return Options{Devices: devices(t), Seed: *seed, Steps: *steps, Time: *length, Length: *most}
}

func TestModel(t *testing.T) { Run(t, options(t)) }

func TestModelOfGoroutines(t *testing.T) {
	o := options(t)
	o.Goroutines = 4
	Run(t, o)
}

func TestModelWithoutMemory(t *testing.T) {
	o := options(t)
	o.StarveEach = 7
	Run(t, o)
}

func TestModelWithFailingLaunches(t *testing.T) {
	o := options(t)
	o.FailEach = 7
	Run(t, o)
}

func TestModelCollectedEachStep(t *testing.T) {
	o := options(t)
	o.CollectEachStep, o.Steps = true, *steps/20
	Run(t, o)
}

func TestModelCollected(t *testing.T) {
	o := options(t)
	o.GCPercent, o.Goroutines = 1, 2
	Run(t, o)
}

func TestModelNeverCollected(t *testing.T) {
	o := options(t)
	o.GCPercent = -1
	o.Length = 100
	Run(t, o)
}

// TestModelEager runs the others with GPK_EAGER=1, which package array reads when it
// is initialized.
func TestModelEager(t *testing.T) {
	if setting.On("GPK_EAGER") {
		t.Skip("GPK_EAGER is set")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, "-test.v", "-test.run=^TestModel",
		fmt.Sprintf("-model.steps=%d", *steps), fmt.Sprintf("-model.time=%v", *length),
		fmt.Sprintf("-model.seed=%d", *seed), fmt.Sprintf("-model.length=%d", *most))
	c.Env = append(os.Environ(), "GPK_EAGER=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("with GPK_EAGER=1: %v", err)
	}
	t.Logf("%s", out)
}
