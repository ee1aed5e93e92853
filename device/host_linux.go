package device

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memoryAge is how long an answer about memory is reused. The system takes up to a tenth of
// a millisecond for an answer, and the memory changes by at most tens of megabytes in
// memoryAge.
const memoryAge = 5 * time.Millisecond

var lastMemory struct {
	sync.Mutex
	at          time.Time
	free, total int64
}

// hostMemory returns the bytes of the machine's memory or of its container's limit, and how
// many of them are free; 0 if unknown.
func hostMemory() (free, total int64) {
	l := &lastMemory
	l.Lock()
	defer l.Unlock()
	if l.at.IsZero() || time.Since(l.at) > memoryAge {
		l.free, l.total = askMemory()
		l.at = time.Now()
	}
	return l.free, l.total
}

func askMemory() (free, total int64) {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line) // MemTotal: 24689188 kB
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "MemTotal:":
			total = n << 10
		case "MemAvailable:":
			free = n << 10
		}
	}
	// cgroup 2, then 1: the limit and its use. "max", or a number beyond the machine's
	// memory, means no limit.
	for _, group := range [][2]string{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		if limit := readNumber(group[0]); limit > 0 && (total == 0 || limit < total) {
			total = limit
			free = min(free, max(0, limit-readNumber(group[1])))
		}
	}
	return free, total
}

func readNumber(path string) int64 {
	text, _ := os.ReadFile(path)
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// hostName returns the processor's name as the processor reports it.
func hostName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
