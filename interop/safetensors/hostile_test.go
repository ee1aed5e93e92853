package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// file returns a header followed by n bytes.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, n)...)
}

// tensorOf returns the header of a file with one tensor.
func tensorOf(description string) string { return `{"x":` + description + `}` }

func write1(t testing.TB, name string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestHostile tests invalid headers. Errors name the file, and the tensor and the field if
// there is one.
func TestHostile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	long := `"` + strings.Repeat("a", 1000) + `"`
	for _, c := range []struct {
		content []byte
		say     string
	}{
		{nil, "0 bytes"},
		{make([]byte, 7), "7 bytes"},
		{make([]byte, 8), "does not begin with '{'"},
		{file(" {}", 0), "does not begin with '{'"},
		{file("[]", 0), "does not begin with '{'"},
		{file("{}", 1), "the tensors take 0 bytes, and the file has 1"},
		{file("{", 0), "the end"},
		{file("{}}", 0), "after the end"},
		{file("{}\x00", 0), "after the end"},
		{file("{}{}", 0), "after the end"},
		{file("{\"\xff\":1}", 0), "not UTF-8"},
		{binary.LittleEndian.AppendUint64(nil, maxHeader+1), "100000001 bytes; at most 100000000 are allowed"},
		{binary.LittleEndian.AppendUint64(nil, 1<<63), "at most 100000000 are allowed"},
		{binary.LittleEndian.AppendUint64(nil, ^uint64(0)), "at most 100000000 are allowed"},
		{append(binary.LittleEndian.AppendUint64(nil, 3), "{}"...), "3 bytes, and the file has 2"},

		{file(`{"x":1}`, 0), `tensor "x": '1'`},
		{file(`{"x":null}`, 0), `tensor "x"`},
		{file(`{x:{}}`, 0), `'x' where '"'`},
		{file(`{"x" {}}`, 0), "':'"},
		{file(`{"x":{},}`, 0), "missing"},
		{file(`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},}`, 1), "a comma before '}'"},
		{file(`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1],}}`, 1), "a comma before '}'"},
		{file(`{"x":{"dtype":"U8","shape":[1,],"data_offsets":[0,1]}}`, 1), "a comma before ']'"},
		{file(`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), `"x" appears twice`},
		{file(`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\u0078":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2), `"x" appears twice`},
		{file(tensorOf(`{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}`), 1), `tensor "x": "dtype" appears twice`},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}`), 1), `tensor "x": "shape" appears twice`},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,1],"data_offsets":[0,1]}`), 1), `tensor "x": "data_offsets" appears twice`},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,1],"strides":[1],"strides":[1]}`), 1), `tensor "x": "strides" appears twice`},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":{"a":1,"a":2}}`), 1), `tensor "x": "a" appears twice`},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":}`), 1), "a value"},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,1],"more":`+strings.Repeat("[", 1<<10)), 1), "64 deep"},
		{file(tensorOf(`{"Dtype":"U8","shape":[1],"data_offsets":[0,1]}`), 1), "missing"},
		{file(tensorOf(`{"shape":[1],"data_offsets":[0,1]}`), 1), "missing"},
		{file(tensorOf(`{"dtype":"U8","data_offsets":[0,1]}`), 1), "missing"},
		{file(tensorOf(`{"dtype":"U8","shape":[1]}`), 1), "missing"},
		{file(tensorOf(`{"dtype":"X8","shape":[1],"data_offsets":[0,1]}`), 1), `tensor "x": dtype: element type: the format has no "X8"`},
		{file(tensorOf(`{"dtype":"u8","shape":[1],"data_offsets":[0,1]}`), 1), `has no "u8"`},
		{file(tensorOf(`{"dtype":8,"shape":[1],"data_offsets":[0,1]}`), 1), `tensor "x": '8'`},
		{file(tensorOf(`{"dtype":null,"shape":[1],"data_offsets":[0,1]}`), 1), `tensor "x"`},

		{file(tensorOf(`{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}`), 1), `tensor "x": shape: '-'`},
		{file(tensorOf(`{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}`), 1), "not an integer"},
		{file(tensorOf(`{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}`), 1), "not an integer"},
		{file(tensorOf(`{"dtype":"U8","shape":[01],"data_offsets":[0,1]}`), 1), "begins with 0"},
		{file(tensorOf(`{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}`), 1), "a number of digits"},
		{file(tensorOf(`{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}`), 1), "a number of digits"},
		{file(tensorOf(`{"dtype":"U8","shape":1,"data_offsets":[0,1]}`), 1), `'['`},
		{file(tensorOf(`{"dtype":"U8","shape":null,"data_offsets":[0,1]}`), 1), `'['`},
		{file(tensorOf(`{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}`), 0), "shape: more than"},
		{file(tensorOf(`{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,0]}`), 0), "shape: more than"},
		{file(tensorOf(`{"dtype":"U8","shape":[99999999999999999999999999],"data_offsets":[0,0]}`), 0), "shape: more than"},
		{file(tensorOf(`{"dtype":"U8","shape":[`+strings.Repeat("1,", maxAxes)+`1],"data_offsets":[0,1]}`), 1), "more than 64 axes"},
		// 2^32 2^32 wraps to 0, 2^61 8 bytes too, and so do 2^61+1 elements of 8 bytes to 8.
		{file(tensorOf(`{"dtype":"U8","shape":[2147483647,2147483647,2147483647,2147483647],"data_offsets":[0,0]}`), 0), "not a number of bytes"},
		{file(tensorOf(`{"dtype":"U8","shape":[65536,65536,65536,65536],"data_offsets":[0,0]}`), 0), "not a number of bytes"},
		{file(tensorOf(`{"dtype":"I64","shape":[65536,65536,65536,8192],"data_offsets":[0,0]}`), 0), "not a number of bytes"},
		{file(tensorOf(`{"dtype":"F4","shape":[3],"data_offsets":[0,1]}`), 1), "not a number of bytes"},
		{file(tensorOf(`{"dtype":"F6_E2M3","shape":[2],"data_offsets":[0,1]}`), 1), "not a number of bytes"},

		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0]}`), 1), "','"},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}`), 1), "']'"},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[]}`), 1), "data_offsets"},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,-1]}`), 1), "data_offsets"},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,1.5]}`), 1), "data_offsets: a number that is not an integer"},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,9223372036854775808]}`), 1), "data_offsets: more than"},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[0,2]}`), 2), "[0, 2] is 2 bytes, and [1] of U8 takes 1"},
		{file(tensorOf(`{"dtype":"U8","shape":[2],"data_offsets":[0,1]}`), 1), "is 1 bytes"},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[1,2]}`), 2), "where a tensor should begin at 0"},
		{file(tensorOf(`{"dtype":"U8","shape":[1],"data_offsets":[1,0]}`), 1), "where a tensor should begin at 0"},
		{file(tensorOf(`{"dtype":"U8","shape":[2],"data_offsets":[0,2]}`), 1), "it ends at byte 2 after the header, where the file has 1 bytes"},
		{file(tensorOf(`{"dtype":"U8","shape":[2],"data_offsets":[0,2]}`), 3), "the tensors take 2 bytes, and the file has 3"},
		{file(`{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), `tensor "y": data_offsets: [1, 3]`},
		{file(`{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}}`, 5), "begin at 2"},
		{file(`{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 2), `tensor "y"`},
		{file(`{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"y":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}}`, 2), `tensor "y"`},
		{file(`{"x":{"dtype":"U8","shape":[0],"data_offsets":[3,3]}}`, 0), `tensor "x"`},

		{file(`{"__metadata__":{"a":1}}`, 0), `__metadata__: "a" is not a string`},
		{file(`{"__metadata__":{"a":{}}}`, 0), "is not a string"},
		{file(`{"__metadata__":{"a":null}}`, 0), "is not a string"},
		{file(`{"__metadata__":{"a":"1","a":"2"}}`, 0), `__metadata__: "a" appears twice`},
		{file(`{"__metadata__":{},"__metadata__":{}}`, 0), "appears twice"},
		{file(`{"__metadata__":[]}`, 0), "'{'"},
		{file(`{"__metadata__":nul}`, 0), "a value"},
		{file(`{"__metadata__":null,"__metadata__":null}`, 0), "appears twice"},
		{file(`{"__metadata__":"text"}`, 0), "'{'"},

		{file(`{"\ud800":{}}`, 0), "half a surrogate pair"},
		{file(`{"\ud800\u0041":{}}`, 0), "half a surrogate pair"},
		{file(`{"\udc00":{}}`, 0), "half a surrogate pair"},
		{file(`{"\u12":{}}`, 0), "hexadecimal"},
		{file(`{"\u+123":{}}`, 0), "hexadecimal"},
		{file(`{"\u`, 0), "hexadecimal"},
		{file(`{"\x":{}}`, 0), "an invalid escape sequence"},
		{file(`{"\`, 0), "an invalid escape sequence"},
		{file(`{"a\n`, 0), "without a closing quote"},
		{file(`{"a`, 0), "without a closing quote"},
		{file("{\"a\nb\":{}}", 0), "control character"},
		{file("{\"\\n\nb\":{}}", 0), "control character"},
		{file(`{`+long+`:1}`, 0), "…"},
	} {
		write1(t, path, c.content)
		f, err := Open(path)
		if !errors.Is(err, ErrFormat) || !contains(err, c.say, path, "hostile_test.go:") || len(err.Error()) > 1000 {
			t.Errorf("%.300q: %v, want %s", c.content, err, c.say)
		}
		if err == nil {
			f.Close()
		}
	}
	if _, err := Open(write1(t, path, file(tensorOf(`{"dtype":"I128"}`), 0))); !errors.Is(err, gpk.ErrDType) {
		t.Error(err)
	}
}

// TestUnusual tests unusual but valid headers.
func TestUnusual(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	for _, c := range []struct {
		content []byte
		want    []string
		load    error
	}{
		{content: file("{}", 0)},
		{content: file("{ }  ", 0)},
		{file(`{"":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1), []string{""}, nil},
		{file("{\t\"x\" :\r\n{ \"data_offsets\" : [ 0 , 0 ], \"shape\":[ 0 ],\"dtype\":\"F64\" } }\n", 0), []string{"x"}, nil},
		{file(`{"\ud83d\ude00\u0000\/":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 1), []string{"😀\x00/"}, nil},
		{file(`{"x":{"dtype":"U8","shape":[0,9007199254740991],"data_offsets":[0,0]}}`, 0), []string{"x"}, nil},
		{file(`{"x":{"dtype":"U8","shape":[0,9223372036854775807,2],"data_offsets":[0,0]}}`, 0), []string{"x"}, gpk.ErrShape},
		{file(`{"__metadata__":{"a":"b"},"x":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}`, 1), []string{"x"}, nil},
		{file(`{"__metadata__": null }`, 0), nil, nil},
		{file(`{"y":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"__metadata__":null,"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 2), []string{"x", "y"}, nil},
		{file(tensorOf(`{"strides":[1],"dtype":"U8","Dtype":"F64","shape":[1],"data_offsets":[0,1],"more":{"a":[1e9,null,{}]}}`), 1), []string{"x"}, nil},
	} {
		if strings.Contains(string(c.content), ",9") && ^uint(0)>>32 == 0 {
			continue // more than an int holds
		}
		f, err := Open(write1(t, path, c.content))
		if err != nil {
			t.Errorf("%q: %v", c.content, err)
			continue
		}
		if names := f.Names(); !slices.Equal(names, c.want) {
			t.Errorf("%q: %q, want %q", c.content, names, c.want)
		}
		if all, err := f.LoadAll(); !errors.Is(err, c.load) || err == nil && len(all) != len(c.want) {
			t.Errorf("%q: %d arrays, %v, want %v", c.content, len(all), err, c.load)
		}
		f.Close()
	}
}

// TestTruncated cuts files at every byte, before they are opened and after.
func TestTruncated(t *testing.T) {
	text, err := os.ReadFile("testdata/types.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	for n := range text {
		if f, err := Open(write1(t, path, text[:n])); !errors.Is(err, ErrFormat) {
			t.Errorf("%d of %d bytes: %v", n, len(text), err)
			f.Close()
		}
	}
	for n := range text {
		f, err := Open(write1(t, path, text))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, int64(n)); err != nil {
			f.Close()
			t.Skipf("an open file is not truncated here: %v", err)
		}
		if _, err := f.LoadAll(); !errors.Is(err, ErrFormat) || !contains(err, "it ends at byte", path, "tensor ") {
			t.Errorf("%d of %d bytes are left: %v", n, len(text), err)
		}
		f.Close()
	}
	index, err := os.ReadFile("testdata/sharded/" + modelIndex)
	if err != nil {
		t.Fatal(err)
	}
	index = []byte(strings.TrimSpace(string(index)))
	for n := range index {
		if _, err := parseIndex(index[:n]); !errors.Is(err, ErrFormat) {
			t.Errorf("%d bytes of the index: %v", n, err)
		}
	}
}

// TestFlipped turns every bit of a file: it is refused, or is a file of another meaning.
func TestFlipped(t *testing.T) {
	text, err := os.ReadFile("testdata/sharded/model-00001-of-00002.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	good := 0
	for i := range len(text) * 8 {
		text[i/8] ^= 1 << (i % 8)
		if _, err := readHeader(bytes.NewReader(text), int64(len(text))); err == nil {
			if good++; good%8 == 0 {
				if _, err := opened(t, write1(t, path, text)).LoadAll(); err != nil && !errors.Is(err, gpk.ErrDType) {
					t.Errorf("bit %d: %v", i, err)
				}
			}
		} else if !errors.Is(err, ErrFormat) {
			t.Errorf("bit %d: %v", i, err)
		}
		text[i/8] ^= 1 << (i % 8)
	}
	if good < 100 { // those of elements and names
		t.Errorf("%d files were read", good)
	}
}

// allocated returns the bytes that f allocates in Go's heap.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestAllocations: whatever a file says, a small multiple of its length is allocated.
func TestAllocations(t *testing.T) {
	const base, times = 1 << 20, 40
	path := filepath.Join(t.TempDir(), "x.safetensors")
	many := func(n int, one func(i int) string, between string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteString(between)
			}
			b.WriteString(one(i))
		}
		return b.String()
	}
	for name, content := range map[string][]byte{
		"length":   append(binary.LittleEndian.AppendUint64(nil, maxHeader), '{'),
		"elements": file(tensorOf(`{"dtype":"F64","shape":[1152921504606846975],"data_offsets":[0,9223372036854775800]}`), 8),
		"names": file("{"+many(1<<15, func(i int) string {
			return fmt.Sprintf(`"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, i)
		}, ",")+"}", 0),
		"axes": file("{"+many(1<<12, func(i int) string {
			return fmt.Sprintf(`"%d":{"dtype":"U8","shape":[%s],"data_offsets":[0,0]}`, i, many(maxAxes, func(int) string { return "0" }, ","))
		}, ",")+"}", 0),
		"metadata": file(`{"__metadata__":{`+many(1<<17, func(i int) string { return fmt.Sprintf(`"%d":""`, i) }, ",")+"}}", 0),
		"escapes":  file(`{"`+strings.Repeat(`\n`, 1<<20)+`":{}}`, 0),
		"fields":   file(tensorOf(`{`+many(1<<17, func(i int) string { return fmt.Sprintf(`"%d":1`, i) }, ",")+"}"), 0),
		"open":     file("{"+strings.Repeat(`"":{`, 1<<18), 0),
	} {
		write1(t, path, content)
		n := allocated(func() {
			if f, err := Open(path); err == nil {
				f.Close()
			}
		})
		if n > base+times*uint64(len(content)) {
			t.Errorf("%s: %d bytes were allocated for a file of %d", name, n, len(content))
		}
		t.Logf("%s: %d bytes for %d", name, n, len(content))
	}
	for name, text := range map[string]string{
		"keys":   `{"weight_map":{` + many(1<<16, func(i int) string { return fmt.Sprintf(`"%d":"a.safetensors"`, i) }, ",") + "}}",
		"others": `{"x":{` + many(1<<17, func(i int) string { return fmt.Sprintf(`"%d":{}`, i) }, ",") + "}}",
		"arrays": `{"x":[` + strings.Repeat("[],", 1<<19) + "1]}",
	} {
		n := allocated(func() { _, _ = parseIndex([]byte(text)) })
		if n > base+times*uint64(len(text)) {
			t.Errorf("%s: %d bytes were allocated for an index of %d", name, n, len(text))
		}
		t.Logf("%s: %d bytes for %d", name, n, len(text))
	}
}

// TestBomb: tensors that exceed the device's memory limit are refused before they are read, and
// nothing remains allocated.
func TestBomb(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	const n = 96 << 20
	write1(t, path, file(fmt.Sprintf(`{"a":{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]},"b":{"dtype":"U8","shape":[%d],"data_offsets":[%d,%d]}}`, n/2, n/2, n/2, n/2, n), 0))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()+n); err != nil { // a hole
		t.Fatal(err)
	}
	dev := fakeGPU(64 << 20)
	f := opened(t, path)
	if _, err := f.LoadAll(On(dev)); !errors.Is(err, gpk.ErrOutOfMemory) || !contains(err, `tensor "b"`) {
		t.Error(err)
	}
	if s := dev.Pool(); s.InUse != 0 {
		t.Errorf("%d bytes stay in use", s.InUse)
	}
	sum := 0
	if err := f.Each(func(_ string, a *gpk.Array) error { sum += a.Size(); a.Free(); return nil }, On(dev), Only("b")); err != nil || sum != n/2 {
		t.Errorf("%d, %v", sum, err)
	}
}

// TestReadFull: an error of the disk is not one of the format.
func TestReadFull(t *testing.T) {
	broken := errors.New("broken")
	if err := readFull(reader(func([]byte) (int, error) { return 1, broken }), make([]byte, 2), 0); !errors.Is(err, broken) || errors.Is(err, ErrFormat) {
		t.Error(err)
	}
	if err := readFull(reader(func(p []byte) (int, error) { return len(p), io.EOF }), make([]byte, 2), 0); err != nil {
		t.Error(err)
	}
}

type reader func([]byte) (int, error)

func (r reader) ReadAt(p []byte, _ int64) (int, error) { return r(p) }
