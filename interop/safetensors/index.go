package safetensors

import (
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	fileSuffix  = ".safetensors"
	indexSuffix = ".safetensors.index.json"
)

// index maps tensors to shards, which are files of the same folder.
type index struct {
	shards map[string]string // by the tensor's name
}

// parseIndex parses an index, which is the object weight_map. It ignores all other
// fields, including total_size in the metadata: the headers of the shards state the exact
// sizes.
func parseIndex(text []byte) (*index, error) {
	if !utf8.Valid(text) {
		return nil, formatError("the index is not UTF-8")
	}
	x := &index{}
	s := &scanner{text: string(text)}
	seen := map[string]bool{}
	s.object(func(key string) {
		if seen[key] {
			s.fail("%s appears twice", short(key))
		}
		seen[key] = true
		if key == "weight_map" {
			x.shards = s.strings(key)
		} else {
			s.skip(0)
		}
	})
	if s.end(); s.err != nil {
		return nil, s.err
	}
	if x.shards == nil {
		return nil, formatError("the index lacks weight_map")
	}
	for name, shard := range x.shards {
		switch {
		case name == metadataKey:
			return nil, formatError("weight_map: no tensor is called %s", metadataKey)
		case !isPlain(shard):
			return nil, formatError("weight_map: tensor %s is in %s, which is not the name of a %s file in the index's folder", short(name), short(shard), fileSuffix)
		}
	}
	return x, nil
}

// isPlain reports whether a name is that of a file directly in a folder, on every
// operating system.
func isPlain(name string) bool {
	return strings.HasSuffix(name, fileSuffix) && len(name) > len(fileSuffix) && len(name) <= 255 &&
		!strings.ContainsAny(name, "/\\:\x00") && name[0] != '.' && filepath.IsLocal(name) && filepath.Base(name) == name
}
