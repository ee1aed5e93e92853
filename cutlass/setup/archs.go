package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// targets lists the values of -arch, in the order in which they are built.
var targets = []string{"80", "86", "89", "90a"}

// ErrNoTarget is the error for a target without kernels.
var ErrNoTarget = errors.New("no kernels for this target")

// resolveArchs sorts and checks the requested targets. By default they are those of the
// machine's GPUs, or 90a if there is no GPU.
func resolveArchs(ctx context.Context, want []string) ([]string, error) {
	if len(want) > 0 {
		return ParseArchs(strings.Join(want, ","))
	}
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader").Output()
	if err != nil { // no driver, no GPU, or one that does not respond
		return []string{"90a"}, ctx.Err()
	}
	return archsOf(string(out))
}

// archsOf parses compute capabilities, one per line: 9.0.
func archsOf(capabilities string) ([]string, error) {
	var archs, foreign []string
	for _, cc := range strings.Fields(capabilities) {
		a := strings.ReplaceAll(cc, ".", "")
		if a == "90" {
			a = "90a"
		}
		if slices.Contains(targets, a) {
			archs = append(archs, a)
		} else {
			foreign = append(foreign, cc)
		}
	}
	if len(archs) > 0 {
		return ParseArchs(strings.Join(archs, ","))
	}
	if len(foreign) > 0 {
		return nil, fmt.Errorf("%w: the GPU here has compute capability %s, kernels exist for %s; name a target to build for another machine (-arch 90a)",
			ErrNoTarget, strings.Join(foreign, ", "), strings.Join(targets, ", "))
	}
	return []string{"90a"}, nil
}

// ParseArchs parses targets separated by commas or spaces: 80, 86, 89, 90a (also written
// 90), or all. It returns them sorted, without duplicates.
func ParseArchs(s string) ([]string, error) {
	var archs []string
	for _, a := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		a = strings.TrimPrefix(strings.TrimPrefix(a, "sm_"), "sm")
		switch {
		case a == "all":
			archs = append(archs, targets...)
		case a == "90":
			archs = append(archs, "90a")
		case slices.Contains(targets, a):
			archs = append(archs, a)
		default:
			return nil, fmt.Errorf("%w: %q is not one of %s, all", ErrNoTarget, a, strings.Join(targets, ", "))
		}
	}
	if len(archs) == 0 {
		return nil, fmt.Errorf("%w: none named; there are %s, all", ErrNoTarget, strings.Join(targets, ", "))
	}
	slices.Sort(archs)
	return slices.Compact(archs), nil
}

// gencode returns nvcc's flags for a unit with that SM (cutlass.Unit), or nil if the unit
// is for none of the targets. For sm_90 instead of sm_90a nvcc leaves the bodies of wgmma
// kernels empty, without a warning. Objects for 80, 86 or 89 also contain compute_80 PTX,
// which newer devices compile.
func gencode(sm int, archs []string) []string {
	var flags []string
	ptx := false
	for _, a := range archs {
		hopper := a == "90a"
		if sm == 90 && !hopper || sm == 80 && hopper {
			continue
		}
		flags = append(flags, fmt.Sprintf("-gencode=arch=compute_%s,code=sm_%s", a, a))
		ptx = ptx || !hopper
	}
	if ptx {
		flags = append(flags, "-gencode=arch=compute_80,code=compute_80")
	}
	return flags
}

// jobMemory is the peak memory of one nvcc on a CUTLASS unit.
const jobMemory = 6 << 30

// DefaultJobs returns the number of concurrent compilers: one per core, but at most one for
// every 6 GB of memory, and at least one.
func DefaultJobs() int {
	jobs := runtime.GOMAXPROCS(0)
	if memory := memoryLimit(); memory > 0 {
		jobs = min(jobs, int(memory/jobMemory))
	}
	return max(jobs, 1)
}

// memoryLimit returns the memory of the machine or, if that is less, of the container, in
// bytes; 0 if neither is known.
func memoryLimit() int64 {
	var limit int64
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		limit = parseMemTotal(string(text))
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && (limit == 0 || n < limit) {
			limit = n
		}
	}
	return limit
}

func parseMemTotal(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemTotal:" {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return n << 10
			}
		}
	}
	return 0
}
