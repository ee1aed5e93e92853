package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/internal/arraytest"
)

// check reads a file with the reference implementation and writes what it has found,
// name by name: type, shape, bytes, in its own words.
const check = `
import sys
from safetensors import deserialize
for name, t in sorted(deserialize(open(sys.argv[1], "rb").read())):
    print(name.encode().hex(), t["dtype"], ",".join(map(str, t["shape"])), bytes(t["data"]).hex(), sep=";")
`

// python returns a Python that has safetensors: GPK_PYTHON, or python3.
func python(t *testing.T) string {
	t.Helper()
	named := os.Getenv("GPK_PYTHON")
	name := cmp.Or(named, "python3")
	if out, err := exec.Command(name, "-c", "import safetensors").CombinedOutput(); err != nil {
		if named != "" {
			t.Fatalf("%s, which GPK_PYTHON names, has no safetensors: %v %s", name, err, bytes.TrimSpace(out))
		}
		t.Skipf("NOT RUN: %s has no safetensors, the reference implementation; pip install safetensors, or name another in GPK_PYTHON: %v %s", name, err, bytes.TrimSpace(out))
	}
	return name
}

// TestPython: the reference implementation reads what Write has written.
func TestPython(t *testing.T) {
	interpreter, r := python(t), rand.New(rand.NewPCG(3, 4))
	want := reference()
	for i, dt := range written {
		want[dt.String()+" of any bits"] = random(r, dt, []int{i, 3, 2})
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := WriteFile(path, want, map[string]string{"a": strange, strange: ""}); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(interpreter, "-c", check, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(want) {
		t.Errorf("%d tensors, want %d", len(lines), len(want))
	}
	f := opened(t, path)
	for _, line := range lines {
		part := strings.Split(strings.TrimSpace(line), ";")
		name := string(unhex(t, part[0]))
		a, info := want[name], Info{}
		if a == nil {
			t.Errorf("a tensor %q", name)
			continue
		}
		if info, err = f.Info(name); err != nil {
			t.Fatal(err)
		}
		if part[1] != info.Format || part[2] != strings.Trim(strings.ReplaceAll(fmt.Sprint(a.Shape()), " ", ","), "[]") || !bytes.Equal(unhex(t, part[3]), arraytest.Bytes(t, a)) {
			t.Errorf("%q: %v, want %v", name, part[1:], a)
		}
	}
}

// TestPythonRefuses checks that files that the reference implementation refuses are
// refused here too.
func TestPythonRefuses(t *testing.T) {
	interpreter := python(t)
	text, err := os.ReadFile("testdata/sharded/model-00001-of-00002.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	// Every file with one bit flipped, after its length, in one file.
	var all []byte
	var here []bool
	path := filepath.Join(t.TempDir(), "x.safetensors")
	for i := range len(text) * 8 {
		text[i/8] ^= 1 << (i % 8)
		all = append(binary.LittleEndian.AppendUint64(all, uint64(len(text))), text...)
		_, err := readHeader(bytes.NewReader(text), int64(len(text)))
		here = append(here, err == nil)
		text[i/8] ^= 1 << (i % 8)
	}
	out, err := exec.Command(interpreter, "-c", `
import struct, sys
from safetensors import deserialize
all, at = open(sys.argv[1], "rb").read(), 0
while at < len(all):
    n, = struct.unpack("<Q", all[at:at + 8])
    try:
        deserialize(all[at + 8:at + 8 + n])
        print("1", end="")
    except Exception:
        print("0", end="")
    at += 8 + n
`, write1(t, path, all)).CombinedOutput()
	if err != nil || len(out) != len(here) {
		t.Fatalf("%v: %s", err, out)
	}
	stricter := 0
	for i, ok := range here {
		switch there := out[i] == '1'; {
		case ok && !there:
			t.Errorf("bit %d: the reference implementation refuses the file", i)
		case !ok && there:
			stricter++
		}
	}
	t.Logf("of %d files %d are refused here alone", len(here), stricter)
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
