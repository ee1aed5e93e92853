package safetensors

import (
	"math"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	fileSuffix  = ".safetensors"
	indexSuffix = ".safetensors.index.json"
)

// index says which shard, a file of the same folder, holds a tensor.
type index struct {
	shards map[string]string // by the tensor's name
	total  int64             // bytes of all tensors; -1: it does not say
}

// parseIndex reads an index: the object weight_map, and in the object metadata the
// number total_size. What else stands there belongs to others.
func parseIndex(text []byte) (*index, error) {
	if !utf8.Valid(text) {
		return nil, formatError("the index is not UTF-8")
	}
	x := &index{total: -1}
	s := &scanner{text: string(text)}
	seen := map[string]bool{}
	s.object(func(key string) {
		if seen[key] {
			s.fail("%s stands twice", short(key))
		}
		seen[key] = true
		switch key {
		case "weight_map":
			x.shards = s.strings(key)
		case "metadata":
			x.total = s.total()
		default:
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

// total takes the object metadata and returns its total_size, or -1.
func (s *scanner) total() int64 {
	total, seen := int64(-1), map[string]bool{}
	s.object(func(key string) {
		if seen[key] {
			s.fail("metadata: %s stands twice", short(key))
		}
		seen[key] = true
		if key == "total_size" {
			total = int64(s.integer("metadata: total_size", math.MaxInt64))
		} else {
			s.skip(0)
		}
	})
	return total
}

// isPlain reports whether a name is that of a file in a folder, on every system.
func isPlain(name string) bool {
	return strings.HasSuffix(name, fileSuffix) && len(name) > len(fileSuffix) && len(name) <= 255 &&
		!strings.ContainsAny(name, "/\\:\x00") && name[0] != '.' && filepath.IsLocal(name) && filepath.Base(name) == name
}
