package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// wheels is a set of NVIDIA's Python packages that are unpacked together.
type wheels struct {
	name, what   string
	requirements string // pip's requirements file: versions and hashes for amd64 and arm64
}

const cutlassVersion = "4.2.0.0"

var (
	cudaWheels = wheels{"cuda", "NVIDIA's CUDA 13.0 compiler", `
nvidia-cuda-nvcc==13.0.88 \
    --hash=sha256:56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03 \
    --hash=sha256:c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f
nvidia-nvvm==13.0.88 \
    --hash=sha256:c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0 \
    --hash=sha256:c4376a291d72d22a315d9d2f69bdae8f8cd83a627f75bad395cee49a0fe65dc1
nvidia-cuda-crt==13.0.88 \
    --hash=sha256:2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4 \
    --hash=sha256:ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003
nvidia-cuda-runtime==13.0.96 \
    --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548 \
    --hash=sha256:ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55
nvidia-cuda-cccl==13.0.85 \
    --hash=sha256:e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649 \
    --hash=sha256:6f0203e29fed809ee2b7fe9b1344df66ecab990c37d6a2e0e189b26d6c97ed7c
nvidia-cuda-nvrtc==13.0.88 \
    --hash=sha256:ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575 \
    --hash=sha256:d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b
`}

	cutlassWheels = wheels{"cutlass", "CUTLASS " + cutlassVersion, `
nvidia-cutlass==4.2.0.0 \
    --hash=sha256:f9599ada45c7bcb6bf53f7d3f0a7d154183e53451c01bfa59eecd37dd4a693f6
`}

	// The disassembler: its wheels begin at 13.2, and it reads older objects.
	sassWheels = wheels{"sass", "NVIDIA's disassembler", `
nvidia-cuda-cuobjdump==13.2.86 \
    --hash=sha256:d332c2ffe78e703ca0a3894be927f83124244e2acf0d792b8c12b4362d44d837 \
    --hash=sha256:9a025b92d5faca837f69841317760df9b27f3871bfa089d80cc428399743fd56
nvidia-cuda-nvdisasm==13.2.86 \
    --hash=sha256:53606e719ecae07a2335f95902d5a1393a0cc1c317499ee7ffcf628a44385f2c \
    --hash=sha256:d02c627f7aecfcac4dd5e923e94adeaa6607c5fdae8df750b01ad948d38941d3
`}

	cufftWheels = wheels{"cufft", "NVIDIA's cuFFT of CUDA 13.0", `
nvidia-cufft==12.0.0.61 \
    --hash=sha256:6c44f692dce8fd5ffd3e3df134b6cdb9c2f72d99cf40b62c32dde45eea9ddad3 \
    --hash=sha256:2708c852ef8cd89d1d2068bdbece0aa188813a0c934db3779b9b1faa8442e5f5
nvidia-nvjitlink==13.0.88 \
    --hash=sha256:13a74f429e23b921c1109976abefacc69835f2f433ebd323d3946e11d804e47b \
    --hash=sha256:e931536ccc7d467a98ba1d8b89ff7fa7f1fa3b13f2b0069118cd7f47bff07d0c
`}

	cusolverWheels = wheels{"cusolver", "NVIDIA's cuSOLVER of CUDA 13.0", `
nvidia-cusolver==12.0.4.66 \
    --hash=sha256:0a759da5dea5c0ea10fd307de75cdeb59e7ea4fcb8add0924859b944babf1112 \
    --hash=sha256:02c2457eaa9e39de20f880f4bd8820e6a1cfb9f9a34f820eb12a155aa5bc92d2
nvidia-cublas==13.1.0.3 \
    --hash=sha256:ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171 \
    --hash=sha256:c86fc7f7ae36d7528288c5d88098edcb7b02c633d262e7ddbb86b0ad91be5df2
nvidia-cusparse==12.6.3.3 \
    --hash=sha256:2b3c89c88d01ee0e477cb7f82ef60a11a4bcd57b6b87c33f789350b59759360b \
    --hash=sha256:80bcc4662f23f1054ee334a15c72b8940402975e0eab63178fc7e670aa59472c
nvidia-nvjitlink==13.0.88 \
    --hash=sha256:13a74f429e23b921c1109976abefacc69835f2f433ebd323d3946e11d804e47b \
    --hash=sha256:e931536ccc7d467a98ba1d8b89ff7fa7f1fa3b13f2b0069118cd7f47bff07d0c
`}

	ncclWheels = wheels{"nccl", "NVIDIA's NCCL 2.28.9 for CUDA 13", `
nvidia-nccl-cu13==2.28.9 \
    --hash=sha256:e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42 \
    --hash=sha256:01c873ba1626b54caa12272ed228dc5b2781545e0ae8ba3f432a8ef1c6d78643
`}
)

// extras are the optional sets for Options.With. No kernel depends on them.
var extras = []wheels{cufftWheels, cusolverWheels, ncclWheels}

// Extras lists the names for Options.With.
func Extras() (names []string) {
	for _, w := range extras {
		names = append(names, w.name)
	}
	return names
}

// installExtras installs the sets of Options.With.
func (b *builder) installExtras(ctx context.Context) error {
	for _, name := range b.With {
		i := slices.IndexFunc(extras, func(w wheels) bool { return w.name == name })
		if i < 0 {
			return fmt.Errorf("no library %q to install; there are %s", name, strings.Join(Extras(), ", "))
		}
		if _, err := b.install(ctx, extras[i]); err != nil {
			return err
		}
	}
	return nil
}

// dir is the cache folder of the set, named by its content.
func (w wheels) dir(cache string) string {
	sum := sha256.Sum256([]byte(w.requirements))
	return filepath.Join(cache, "wheels", w.name+"-"+hex.EncodeToString(sum[:6]))
}

// present reports whether the set is unpacked: its folder appears atomically.
func (w wheels) present(cache string) bool {
	info, err := os.Stat(w.dir(cache))
	return err == nil && info.IsDir()
}

// install unpacks the set into the cache unless it exists, and returns its folder.
func (b *builder) install(ctx context.Context, w wheels) (string, error) {
	dir := w.dir(b.Cache)
	if w.present(b.Cache) {
		return dir, nil
	}
	python, err := findPip(ctx)
	if err != nil {
		return "", fmt.Errorf("%s has to be installed: %w", w.what, err)
	}
	requirements := filepath.Join(b.temp, w.name+".txt")
	if err := os.WriteFile(requirements, []byte(w.requirements), 0o600); err != nil {
		return "", err
	}
	target := filepath.Join(b.temp, w.name)
	args := []string{
		"-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--no-compile",
		"--only-binary=:all:", "--require-hashes", "--requirement", requirements, "--target", target,
	}
	from := "from the package index"
	if b.WheelsDir != "" {
		folder, err := filepath.Abs(b.WheelsDir)
		if err != nil {
			return "", err
		}
		// --isolated: no environment variable and no configuration adds an index.
		args = append(args, "--isolated", "--no-index", "--find-links", folder)
		from = "from " + folder
	}
	b.progress.say("installing %s %s", w.what, from)
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Env = b.environment()
	if out, err := output(cmd); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("installing %s %s: %w\n%s", w.what, from, err, tail(out))
	}
	if root := filepath.Join(target, "nvidia", "cu13"); isDir(filepath.Join(root, "lib")) && !isDir(filepath.Join(root, "lib64")) {
		if err := os.Symlink("lib", filepath.Join(root, "lib64")); err != nil { // nvcc links with the libraries there
			return "", err
		}
	}
	return dir, finish(target, dir)
}

// environment returns the environment of the process without variables that would
// silently change nvcc's flags, and with a folder for temporary files that the next run
// removes.
func (b *builder) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool {
		return strings.HasPrefix(s, "NVCC_") || strings.HasPrefix(s, "TMPDIR=")
	})
	return append(env, "TMPDIR="+b.temp)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// tail returns the end of a command's output, which contains the error.
func tail(out []byte) string {
	const lines, bytes = 40, 8 << 10
	text := strings.TrimRight(string(out), "\n")
	if len(text) > bytes {
		text = "…" + text[len(text)-bytes:]
	}
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
