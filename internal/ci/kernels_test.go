package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestARM64 runs package cpu's tests on an emulated processor. It leaves out long ones that test neither NEON code, nor products
// that the compiler may fuse with sums, nor conversions.
func TestARM64(t *testing.T) {
	root, temp := wanted(t), t.TempDir()
	if _, err := exec.LookPath("qemu-aarch64-static"); err != nil {
		logged(t, "", nil, "apt-get", "-qq", "update")
		logged(t, "", []string{"DEBIAN_FRONTEND=noninteractive"}, "apt-get", "-qq", "install", "-y", "--no-install-recommends", "qemu-user-static")
	}
	binary := filepath.Join(temp, "cpu-arm64.test")
	logged(t, root, cross("linux/arm64"), "go", "test", "-c", "-o", binary, "./internal/cpu")
	t.Log(logged(t, filepath.Join(root, "internal/cpu"), nil, "qemu-aarch64-static", binary, "-test.short",
		"-test.skip", "^Test(Sum|SumTree|OverlapStretches|ExactUnary|ExactBinary)$"))
}

// TestAVX512 runs the AVX-512 kernels if the processor has AVX-512. It builds with GOAMD64=v3: then Go's compiler fuses
// products with sums where a program lets it, as it does for arm64, and the tests that compare loops in Go with assembly find
// such places.
func TestAVX512(t *testing.T) {
	root := wanted(t)
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || !regexp.MustCompile(`\bavx512f\b`).Match(info) {
		notRun(t, "the AVX-512 kernels: this processor has no AVX-512")
		return
	}
	out := logged(t, root, []string{"GOAMD64=v3"}, "go", "test", "-count=1", "-v", "-run", "AVX512|Kernel|FunctionBits$|NormalBits", "./internal/cpu")
	if !strings.Contains(strings.ToLower(out), "avx512") {
		t.Error("no test named an AVX-512 kernel")
	}
	logged(t, root, []string{"GOAMD64=v3"}, "go", "test", "-count=1", "-short", "./fft")
}

// TestNVRTC compiles every operation and type as a kernel of a chain, by the compiler that the
// setup of the kernels has unpacked into GPK_CACHE.
func TestNVRTC(t *testing.T) {
	root := wanted(t)
	if _, err := os.Stat(filepath.Join(os.Getenv("GPK_CACHE"), "wheels")); err != nil {
		notRun(t, "the kernels of chains: NVRTC comes with the steps sm90 and sm80")
		return
	}
	out := logged(t, root, nil, "go", "test", "-count=1", "-v", "-run", "Source|CompileImage", "./fused", "./device")
	lines := regexp.MustCompile(`.*kernels in.*`).FindAllString(out, -1)
	t.Log(strings.Join(lines, "\n"))
	if len(lines) == 0 { // a test that was skipped prints no number
		t.Error("no kernel was compiled")
	}
}
