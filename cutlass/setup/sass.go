package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/cutlass"
)

// SASS reports the wgmma instructions in the machine code of one kernel.
type SASS struct {
	Unit     string // "" from CheckSASS
	Function string // mangled name
	HGMMA    int    // wgmma instructions on 16-bit and TF32 data
}

// ErrNoWGMMA is the error for a wgmma kernel without wgmma instructions in its machine
// code: the result of nvcc for sm_90 instead of sm_90a.
var ErrNoWGMMA = errors.New("no wgmma instructions in the machine code")

// checkSASS disassembles the units of wgmma kernels and counts these instructions.
func (b *builder) checkSASS(ctx context.Context, units []UnitResult) ([]SASS, error) {
	cuobjdump, err := b.cuobjdump(ctx)
	if err != nil {
		return nil, err
	}
	var all []SASS
	for _, u := range units {
		want := 0
		for _, k := range u.Unit.Kernels {
			if IsWGMMA(k) {
				want++
			}
		}
		if slices.Contains(b.Archs, "90a") {
			want += b.companionWGMMA(u.Unit)
		}
		every := u.Unit.WGMMA() // whether all of its kernels use wgmma
		if want == 0 && !every {
			continue
		}
		found, err := CheckSASS(ctx, cuobjdump, u.Object)
		if err != nil {
			return all, fmt.Errorf("unit %s: %w", u.Unit.Name, err)
		}
		have := 0
		for _, s := range found {
			s.Unit = u.Unit.Name
			all = append(all, s)
			if s.HGMMA > 0 {
				have++
			}
		}
		if every {
			want = max(1, len(found))
		}
		b.progress.say("%-32s %d kernels with HGMMA of %d", u.Unit.Name, have, want)
		if have < want {
			return all, fmt.Errorf("%w: unit %s has %d kernels with HGMMA, want %d", ErrNoWGMMA, u.Unit.Name, have, want)
		}
	}
	return all, nil
}

// companionWGMMA returns the number of kernels with wgmma in a unit of a companion.
func (b *builder) companionWGMMA(u cutlass.Unit) int {
	for _, c := range b.Companions {
		if c.Name == u.Companion {
			return c.WGMMA[u.Name]
		}
	}
	return 0
}

// IsWGMMA reports whether the kernel is a CUTLASS 3.x kernel that uses wgmma.
func IsWGMMA(k cutlass.Kernel) bool {
	return k.SM == 90 && slices.Contains([]string{"cooperative", "pingpong", "single", "streamk"}, k.Schedule)
}

// cuobjdump returns the disassembler beside nvcc or on PATH, otherwise that of the wheels.
func (b *builder) cuobjdump(ctx context.Context) (string, error) {
	beside := filepath.Join(filepath.Dir(b.tools.nvcc), "cuobjdump")
	if _, err := os.Stat(beside); err == nil {
		return beside, nil
	}
	if path, err := exec.LookPath("cuobjdump"); err == nil {
		return path, nil
	}
	dir, err := b.install(ctx, sassWheels)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "nvidia", "cu13", "bin", "cuobjdump"), nil
}

// CheckSASS counts the HGMMA instructions of every kernel in an object or
// library, with the given cuobjdump (which needs nvdisasm beside it or on PATH).
func CheckSASS(ctx context.Context, cuobjdump, object string) ([]SASS, error) {
	cmd := exec.CommandContext(ctx, cuobjdump, "-sass", object)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(cuobjdump)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := output(cmd)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s -sass %s: %w\n%s", cuobjdump, object, err, tail(out))
	}
	return countHGMMA(out), nil
}

// countHGMMA parses a disassembly, in which a line "Function : NAME" begins a kernel.
func countHGMMA(listing []byte) []SASS {
	var list []SASS
	for line := range bytes.Lines(listing) {
		if _, name, ok := strings.Cut(string(line), "Function : "); ok {
			list = append(list, SASS{Function: strings.TrimSpace(name)})
		} else if len(list) > 0 && bytes.Contains(line, []byte("HGMMA")) {
			list[len(list)-1].HGMMA++
		}
	}
	return list
}
