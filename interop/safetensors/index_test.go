package safetensors

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileIndex tests invalid indexes.
func TestHostileIndex(t *testing.T) {
	folder := t.TempDir()
	one := func(name string, n int) []byte {
		return file(fmt.Sprintf(`{%q:{"dtype":"U8","shape":[%d],"data_offsets":[0,%d]}}`, name, n, n), n)
	}
	write1(t, filepath.Join(folder, "a.safetensors"), one("a", 1))
	write1(t, filepath.Join(folder, "b.safetensors"), one("b", 2))
	write1(t, filepath.Join(folder, "bad.safetensors"), one("c", 3)[:12])
	if err := os.Mkdir(filepath.Join(folder, "folder.safetensors"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, modelIndex)
	for text, say := range map[string]string{
		``:                                  "the end",
		`{}`:                                "lacks weight_map",
		`[]`:                                "'{'",
		`{}1`:                               "after the end",
		"{\"\xff\":1}":                      "UTF-8",
		`{"weight_map":[]}`:                 "'{'",
		`{"weight_map":{"a":1}}`:            `weight_map: "a" is not a string`,
		`{"weight_map":{},"weight_map":{}}`: "appears twice",
		`{"weight_map":{"a":"a.safetensors","a":"b.safetensors"}}`:                        `weight_map: "a" appears twice`,
		`{"weight_map":{"a":"a.safetensors","x":"a.safetensors"}}`:                        `tensor "x" is not in "a.safetensors"`,
		`{"weight_map":{"a":"b.safetensors"}}`:                                            `tensor "a" is not in "b.safetensors"`,
		`{"weight_map":{"a":"a.safetensors","c":"bad.safetensors"}}`:                      "bad.safetensors",
		`{"weight_map":{"a":"folder.safetensors"}}`:                                       "not a regular file",
		`{"weight_map":{"__metadata__":"a.safetensors"}}`:                                 "no tensor is called",
		`{"weight_map":{"a":"a.safetensors"},"metadata":{"total_size":1,"total_size":1}}`: "appears twice",
		`{"weight_map":{"a":"a.safetensors"},"x":{"y":1,"y":2}}`:                          `"y" appears twice`,
		`{"weight_map":{"a":"a.safetensors"},"x":nul}`:                                    "a value",
		`{"weight_map":{"a":"a.safetensors"},"x":NaN}`:                                    "a value",
		`{"weight_map":{"a":"a.safetensors"},"x":+1}`:                                     "a value",
		`{"weight_map":{"a":"a.safetensors"},"x":00}`:                                     "a value",
		`{"weight_map":{"a":"a.safetensors"},"x":.5}`:                                     "a value",
		`{"weight_map":{"a":"a.safetensors"},"x":1.}`:                                     "a value",
		`{"weight_map":{"a":"a.safetensors"},"x":}`:                                       "a value",
		`{"weight_map":{"a":"a.safetensors"},"x":` + strings.Repeat("[", 1<<20):           "64 deep",
		`{"weight_map":{"a":"a.safetensors"},"x":` + strings.Repeat(`{"a":`, 1<<20):       "64 deep",
		`{"weight_map":{"a":"../` + filepath.Base(folder) + `/a.safetensors"}}`:           "not the name",
		`{"weight_map":{"a":"` + filepath.ToSlash(folder) + `/a.safetensors"}}`:           "not the name",
		`{"weight_map":{"a":"./a.safetensors"}}`:                                          "not the name",
		`{"weight_map":{"a":"x\\a.safetensors"}}`:                                         "not the name",
		`{"weight_map":{"a":"C:a.safetensors"}}`:                                          "not the name",
		`{"weight_map":{"a":"a.safetensors\u0000"}}`:                                      "not the name",
		`{"weight_map":{"a":"a\u0000.safetensors"}}`:                                      "not the name",
		`{"weight_map":{"a":""}}`:                                                         "not the name",
		`{"weight_map":{"a":".."}}`:                                                       "not the name",
		`{"weight_map":{"a":".safetensors"}}`:                                             "not the name",
		`{"weight_map":{"a":"pytorch_model.bin"}}`:                                        "not the name",
		`{"weight_map":{"a":"model.safetensors.index.json"}}`:                             "not the name",
	} {
		f, err := Open(write1(t, path, []byte(text)))
		if !errors.Is(err, ErrFormat) || !contains(err, say, folder) {
			t.Errorf("%.200s: %v, want %s", text, err, say)
		}
		if err == nil {
			f.Close()
		}
	}
	// A tensor that two files have, and one that the index does not tell.
	write1(t, filepath.Join(folder, "twice.safetensors"), file(`{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"d":{"dtype":"U8","shape":[],"data_offsets":[1,2]}}`, 2))
	if _, err := Open(write1(t, path, []byte(`{"weight_map":{"a":"a.safetensors","d":"twice.safetensors"}}`))); !errors.Is(err, ErrFormat) || !contains(err, `lacks tensor "a" of "twice.safetensors"`) {
		t.Error(err)
	}
	if _, err := Open(write1(t, path, []byte(`{"weight_map":{"a":"nowhere.safetensors"}}`))); !errors.Is(err, os.ErrNotExist) || !contains(err, "nowhere.safetensors", modelIndex) {
		t.Error(err)
	}
	for _, metadata := range []string{
		"", `"metadata":null,`, `"metadata":1,`, `"metadata":{},`, `"metadata":{"total_size":3,"by":{"a":"b"}},`,
		`"metadata":{"total_size":2},`, `"metadata":{"total_size":3.0},`, `"metadata":{"total_size":null},`, `"metadata":{"total_size":-1},`,
	} {
		ok := `{"more":[1,-2.5e3,true,false,null,"x",{"y":[]}],` + metadata + `"weight_map":{"a":"a.safetensors","b":"b.safetensors"}}` + "\n"
		f, err := Open(write1(t, path, []byte(ok)))
		if err != nil || len(f.Names()) != 2 {
			t.Errorf("%s: %v", metadata, err)
		}
		f.Close()
	}
}
