package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk/cutlass"
)

// minCUDA is the oldest CUDA version whose nvcc compiles the kernels.
const minCUDA = 12*1000 + 4*10

// ErrMissingTool is the error for a program that the build needs and that is not installed;
// its text names the package.
var ErrMissingTool = errors.New("missing tool")

// toolchain describes the tools of a build.
type toolchain struct {
	nvcc     string
	version  string // 13.0
	cuda     int    // as CUDART_VERSION: 13000
	identity string // version output of nvcc and g++: part of an object's key
	cutlass  string // root of CUTLASS's source tree
}

// toolchain finds the compilers and installs the needed wheels.
func (b *builder) toolchain(ctx context.Context) (t toolchain, err error) {
	host, err := findCXX(ctx)
	if err != nil {
		return t, err
	}
	nvcc, err := findNVCC(ctx, b.NVCC)
	switch {
	case err == nil:
	case b.NVCC != "" || ctx.Err() != nil:
		return t, err
	default:
		b.progress.say("%v; using NVIDIA's wheels", err)
		dir, err := b.install(ctx, cudaWheels)
		if err != nil {
			return t, err
		}
		path := wheelNVCC(dir)
		if nvcc, err = probeNVCC(ctx, path); err != nil {
			return t, fmt.Errorf("%w; remove %s and run gpk setup again", err, dir)
		}
	}
	dir, err := b.install(ctx, cutlassWheels)
	if err != nil {
		return t, err
	}
	t = toolchain{nvcc: nvcc.path, version: nvcc.version, cuda: nvcc.cuda, identity: nvcc.banner + "\n" + host.banner}
	t.cutlass = filepath.Join(dir, "cutlass_library", "source")
	if _, err := os.Stat(filepath.Join(t.cutlass, "include", "cutlass", "cutlass.h")); err != nil {
		return t, fmt.Errorf("CUTLASS is incomplete: %w; remove %s and run gpk setup again", err, dir)
	}
	return t, nil
}

func wheelNVCC(dir string) string { return filepath.Join(dir, "nvidia", "cu13", "bin", "nvcc") }

// tool is a program with its version.
type tool struct {
	path, version, banner string
	cuda                  int
}

// systemCUDA is the folder in which NVIDIA's installers put the toolkit.
var systemCUDA = "/usr/local/cuda"

// findNVCC searches for a compiler that is new enough: the named one, otherwise on PATH,
// under CUDA_HOME and CUDA_PATH, and in /usr/local/cuda.
func findNVCC(ctx context.Context, named string) (tool, error) {
	if named != "" {
		return probeNVCC(ctx, named)
	}
	var candidates []string
	if path, err := exec.LookPath("nvcc"); err == nil {
		candidates = append(candidates, path)
	}
	for _, root := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), systemCUDA} {
		if root != "" {
			candidates = append(candidates, filepath.Join(root, "bin", "nvcc"))
		}
	}
	var errs []error
	for _, path := range candidates {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		t, err := probeNVCC(ctx, path)
		if err == nil {
			return t, nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return tool{}, fmt.Errorf("%w: no nvcc on PATH, under CUDA_HOME or CUDA_PATH, or in /usr/local/cuda", ErrMissingTool)
	}
	return tool{}, errors.Join(errs...)
}

var release = regexp.MustCompile(`release (\d+)\.(\d+)`)

// probeNVCC queries the version of the compiler at path.
func probeNVCC(ctx context.Context, path string) (tool, error) {
	out, err := output(exec.CommandContext(ctx, path, "--version"))
	if err != nil {
		return tool{}, fmt.Errorf("%w: %s --version: %w", ErrMissingTool, path, err)
	}
	m := release.FindSubmatch(out)
	if m == nil {
		return tool{}, fmt.Errorf("%w: %s --version names no release: %s", ErrMissingTool, path, tail(out))
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	t := tool{path: path, version: fmt.Sprintf("%d.%d", major, minor), banner: string(out), cuda: major*1000 + minor*10}
	if t.cuda < minCUDA {
		return tool{}, fmt.Errorf("%w: %s belongs to CUDA %s; the kernels need 12.4 or newer", ErrMissingTool, path, t.version)
	}
	return t, nil
}

// findCXX finds the host compiler that nvcc calls.
func findCXX(ctx context.Context) (tool, error) {
	path, err := exec.LookPath("g++")
	if err != nil {
		return tool{}, fmt.Errorf("%w: g++, which nvcc needs: install it (Debian, Ubuntu: apt-get install g++; Fedora, RHEL: dnf install gcc-c++)", ErrMissingTool)
	}
	out, err := output(exec.CommandContext(ctx, path, "--version"))
	if err != nil {
		return tool{}, fmt.Errorf("%w: %s --version: %w", ErrMissingTool, path, err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return tool{path: path, version: first, banner: first}, nil
}

// findPip returns a Python that has pip.
func findPip(ctx context.Context) (python string, err error) {
	path, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("%w: python3 with pip: install them (Debian, Ubuntu: apt-get install python3-pip; Fedora, RHEL: dnf install python3-pip)", ErrMissingTool)
	}
	if out, err := output(exec.CommandContext(ctx, path, "-m", "pip", "--version")); err != nil {
		return "", fmt.Errorf("%w: pip for %s: install it (Debian, Ubuntu: apt-get install python3-pip; elsewhere: %s -m ensurepip): %s", ErrMissingTool, path, path, tail(out))
	}
	return path, nil
}

// Tool is a requirement of a build, as reported by Tools.
type Tool struct {
	Name   string
	Detail string // location and version
	Err    error  // the reason why it cannot be used, and the remedy
}

// Tools searches for the requirements of Run without installing anything. cache "" means
// cutlass.CacheDir().
func Tools(ctx context.Context, cache, nvcc string) []Tool {
	if cache == "" {
		cache, _ = cutlass.CacheDir() // without a folder, the cache counts as empty
	}
	var tools []Tool
	host, err := findCXX(ctx)
	tools = append(tools, Tool{"g++", host.path + " " + host.version, err})
	found, err := findNVCC(ctx, nvcc)
	detail := fmt.Sprintf("%s (CUDA %s)", found.path, found.version)
	wheelsWanted := !cutlassWheels.present(cache)
	if err != nil && nvcc == "" {
		if cudaWheels.present(cache) {
			detail, err = wheelNVCC(cudaWheels.dir(cache))+" (NVIDIA's wheels)", nil
		} else {
			detail, err, wheelsWanted = "none here; setup installs NVIDIA's wheels into the cache", nil, true
		}
	}
	tools = append(tools, Tool{"nvcc", detail, err})
	if python, err := findPip(ctx); err == nil {
		tools = append(tools, Tool{"pip", python + " -m pip", nil})
	} else if wheelsWanted {
		tools = append(tools, Tool{"pip", "", err})
	} else {
		tools = append(tools, Tool{"pip", "not here, and not needed: the wheels are in the cache", nil})
	}
	return tools
}
