package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"reflect"
	"testing"
)

// FuzzHeader reads any bytes as a file. A header that is accepted means the same to
// encoding/json, covers the file, and means the same when it is written again.
func FuzzHeader(f *testing.F) {
	for _, path := range []string{"testdata/types.safetensors", "testdata/other.safetensors", "testdata/none.safetensors", "testdata/model/model.safetensors"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		n := binary.LittleEndian.Uint64(text)
		f.Add(string(text[lengthBytes:lengthBytes+n]), len(text)-lengthBytes-int(n))
	}
	f.Add(`{"__metadata__":{"\u00e9":"\ud83d\ude00"},"a":{"dtype":"F4","shape":[2,1],"data_offsets":[0,1]},"b":{"dtype":"C64","shape":[],"data_offsets":[1,9]}}`, 9)
	f.Add(`{"x":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,-1]}}`, 1)
	f.Add(`{"x":{"dtype":"U8","shape":[65536,65536,65536,65536],"data_offsets":[0,0]},"x":{}}`, 0)
	f.Add(`{"\ud800":`, 0)
	f.Add(`{"__metadata__":null,"x":{"Dtype":"F64","dtype":"U8","shape":[1],"data_offsets":[0,1],"more":[{}]}}`, 1)
	f.Fuzz(func(t *testing.T, text string, room int) {
		if room < 0 || room > 1<<20 {
			return
		}
		h, err := readHeader(bytes.NewReader(file(text, room)), int64(lengthBytes+len(text)+room))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		var other map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &other); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		delete(other, metadataKey)
		at := int64(0)
		for _, e := range h.entries {
			var fields map[string]json.RawMessage // not a struct, to which Dtype is dtype
			var dtype string
			var shape []int
			var offsets [2]int64
			err := json.Unmarshal(other[e.name], &fields)
			if err = errors.Join(err, json.Unmarshal(fields["dtype"], &dtype), json.Unmarshal(fields["shape"], &shape), json.Unmarshal(fields["data_offsets"], &offsets)); err != nil {
				t.Fatalf("%q: %+v: %v", text, e, err)
			}
			if dtype != formats[e.format].name || offsets != [2]int64{e.begin, e.end} || !reflect.DeepEqual(shape, e.shape) {
				t.Fatalf("%q: %+v, and to encoding/json %s", text, e, other[e.name])
			}
			if n, ok := e.size(); !ok || e.begin != at || e.end != at+n || n < 0 || e.end > int64(room) {
				t.Fatalf("%q: %+v at %d, of %d", text, e, at, room)
			}
			at = e.end
		}
		if at != int64(room) || len(other) != len(h.entries) {
			t.Fatalf("%q: %d of %d bytes, %d of %d tensors", text, at, room, len(h.entries), len(other))
		}
		again, err := h.append([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		g, err := parseHeader(again[1+lengthBytes:], int64(room))
		if err != nil || !maps.Equal(g.metadata, h.metadata) || !reflect.DeepEqual(g.entries, h.entries) || (len(again)-1)%8 != 0 {
			t.Fatalf("%q became %q: %v", text, again, err)
		}
	})
}

// FuzzIndex reads any text as an index. An index that is accepted means the same to
// encoding/json, and names files of the folder.
func FuzzIndex(f *testing.F) {
	text, err := os.ReadFile("testdata/sharded/" + modelIndex)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add(`{"weight_map":{"a":"../a.safetensors"}}`)
	f.Add(`{"metadata":{"total_size":1,"x":[{}]},"weight_map":{"\u0061":"a.safetensors","b":"C:\\b.safetensors"},"y":-1e9}`)
	f.Add(`{"x":{"a":1,"a":2},"weight_map":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		x, err := parseIndex([]byte(text))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		var other map[string]json.RawMessage
		var shards map[string]string
		if err = json.Unmarshal([]byte(text), &other); err == nil {
			err = json.Unmarshal(other["weight_map"], &shards)
		}
		if err != nil || !maps.Equal(shards, x.shards) {
			t.Fatalf("%q: %+v, and to encoding/json %v, %v", text, x, shards, err)
		}
		for _, shard := range x.shards {
			if !isPlain(shard) || bytes.ContainsAny([]byte(shard), "/\\:") {
				t.Fatalf("%q: %q", text, shard)
			}
		}
	})
}
