package bert

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/nn"
)

// config is the configuration of a model, from the files of its folder.
type config struct {
	hidden, layers, heads, intermediate int
	vocabulary, positions, types        int
	eps                                 float64
	activation                          nn.Activation
	maxTokens                           int // maximum number of tokens of a text, with its special tokens
	pooling                             pooling
	normalize                           bool
}

// maxWidth is the maximum of each size in a configuration, so that products of sizes do not
// overflow.
const maxWidth = 1 << 24

// maxLayers is the maximum number of layers, which are made before the weights are read.
const maxLayers = 4096

// readConfig reads the configuration of the model in a folder.
func readConfig(dir string) (c config, err error) {
	if err := c.readModel(filepath.Join(dir, "config.json")); err != nil {
		return c, err
	}
	if err := c.readLength(filepath.Join(dir, "sentence_bert_config.json")); err != nil {
		return c, err
	}
	if err := c.readPooling(filepath.Join(dir, "1_Pooling", "config.json")); err != nil {
		return c, err
	}
	if err := refusePrompts(filepath.Join(dir, "config_sentence_transformers.json")); err != nil {
		return c, err
	}
	return c, c.readModules(filepath.Join(dir, "modules.json"))
}

// maxConfig is the maximum size of a configuration file in bytes.
const maxConfig = 1 << 20

// readJSON reads a file into v. It reports false if the file does not exist.
func readJSON(path string, v any) (found bool, err error) {
	info, err := os.Stat(path) // checked before the file is opened: opening a pipe waits for its other end
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%w: %s is not a regular file", gpk.ErrUnsupported, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return false, err
	}
	if len(text) > maxConfig {
		return false, fmt.Errorf("%w: %s is longer than %d bytes", gpk.ErrUnsupported, path, maxConfig)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

func (c *config) readModel(path string) error {
	var f struct {
		ModelType    string   `json:"model_type"`
		HiddenAct    string   `json:"hidden_act"`
		Position     string   `json:"position_embedding_type"`
		Hidden       int      `json:"hidden_size"`
		Layers       int      `json:"num_hidden_layers"`
		Heads        int      `json:"num_attention_heads"`
		Intermediate int      `json:"intermediate_size"`
		Vocabulary   int      `json:"vocab_size"`
		Positions    int      `json:"max_position_embeddings"`
		Types        int      `json:"type_vocab_size"`
		Eps          *float64 `json:"layer_norm_eps"`
	}
	found, err := readJSON(path, &f)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("%s: %w; a folder of a model has config.json, model.safetensors and tokenizer.json", path, fs.ErrNotExist)
	case f.ModelType != "bert":
		return fmt.Errorf("%w: %s: model_type is %q, not bert", gpk.ErrUnsupported, path, f.ModelType)
	case f.Position != "" && f.Position != "absolute":
		return fmt.Errorf("%w: %s: position_embedding_type is %q, not absolute", gpk.ErrUnsupported, path, f.Position)
	}
	for _, s := range []struct {
		name string
		n    int
	}{
		{"hidden_size", f.Hidden},
		{"num_hidden_layers", f.Layers},
		{"num_attention_heads", f.Heads},
		{"intermediate_size", f.Intermediate},
		{"vocab_size", f.Vocabulary},
		{"max_position_embeddings", f.Positions},
		{"type_vocab_size", f.Types},
	} {
		if s.n < 1 || s.n > maxWidth {
			return fmt.Errorf("%w: %s: %s is %d", gpk.ErrShape, path, s.name, s.n)
		}
	}
	if f.Layers < 1 || f.Layers > maxLayers {
		return fmt.Errorf("%w: %s: num_hidden_layers is %d", gpk.ErrShape, path, f.Layers)
	}
	if f.Hidden%f.Heads != 0 {
		return fmt.Errorf("%w: %s: hidden_size %d is not a multiple of num_attention_heads %d", gpk.ErrShape, path, f.Hidden, f.Heads)
	}
	if c.activation, err = nn.ParseActivation(f.HiddenAct); err != nil {
		return fmt.Errorf("%s: hidden_act: %w", path, err)
	}
	c.eps = 1e-12
	if f.Eps != nil {
		c.eps = *f.Eps
	}
	if !(c.eps > 0 && c.eps < 1) {
		return fmt.Errorf("%w: %s: layer_norm_eps is %v", gpk.ErrUnsupported, path, c.eps)
	}
	c.hidden, c.layers, c.heads, c.intermediate = f.Hidden, f.Layers, f.Heads, f.Intermediate
	c.vocabulary, c.positions, c.types = f.Vocabulary, f.Positions, f.Types
	return nil
}

// readLength reads the largest number of tokens of a text. It is the number of positions if
// the file is missing.
func (c *config) readLength(path string) error {
	var f struct {
		Max   *int `json:"max_seq_length"`
		Lower bool `json:"do_lower_case"`
	}
	if _, err := readJSON(path, &f); err != nil {
		return err
	}
	if f.Lower {
		return fmt.Errorf("%w: %s: do_lower_case is true; tokenizer.json says what is lower-cased", gpk.ErrUnsupported, path)
	}
	c.maxTokens = c.positions
	if f.Max == nil {
		return nil
	}
	c.maxTokens = *f.Max
	if c.maxTokens < 2 || c.maxTokens > c.positions {
		return fmt.Errorf("%w: %s: max_seq_length is %d, and max_position_embeddings of config.json is %d", gpk.ErrShape, path, c.maxTokens, c.positions)
	}
	return nil
}

// pooling is the way in which the vectors of a text's tokens become one vector.
type pooling uint8

const (
	meanPooling pooling = iota // the mean of all tokens
	clsPooling                 // the vector of the first token
)

// readPooling reads the pooling mode of the model. The mode is mean if the file is missing.
func (c *config) readPooling(path string) error {
	f := map[string]json.RawMessage{}
	found, err := readJSON(path, &f)
	if err != nil || !found {
		return err
	}
	modes := map[string]pooling{"pooling_mode_mean_tokens": meanPooling, "pooling_mode_cls_token": clsPooling}
	chosen := ""
	for _, key := range slices.Sorted(maps.Keys(f)) {
		v := string(f[key])
		on, ok := v == "true", v == "true" || v == "false"
		if _, known := modes[key]; !known {
			if strings.HasPrefix(key, "pooling_mode_") && (on || !ok) {
				return fmt.Errorf("%w: %s: %s is %.40s", gpk.ErrUnsupported, path, key, v)
			}
			continue
		}
		switch {
		case !ok:
			return fmt.Errorf("%w: %s: %s is %.40s, not true or false", gpk.ErrUnsupported, path, key, v)
		case on && chosen != "":
			return fmt.Errorf("%w: %s: %s and %s are both true", gpk.ErrUnsupported, path, chosen, key)
		case on:
			chosen, c.pooling = key, modes[key]
		}
	}
	if chosen == "" {
		return fmt.Errorf("%w: %s: no pooling_mode is true", gpk.ErrUnsupported, path)
	}
	if width, ok := f["word_embedding_dimension"]; ok && string(width) != strconv.Itoa(c.hidden) {
		return fmt.Errorf("%w: %s: word_embedding_dimension is %.40s, and hidden_size of config.json is %d", gpk.ErrShape, path, width, c.hidden)
	}
	return nil
}

// refusePrompts returns an error for a model that puts a prompt before each text.
func refusePrompts(path string) error {
	var f struct {
		Prompt *string `json:"default_prompt_name"`
	}
	if _, err := readJSON(path, &f); err != nil {
		return err
	}
	if f.Prompt != nil {
		return fmt.Errorf("%w: %s: default_prompt_name is %q", gpk.ErrUnsupported, path, *f.Prompt)
	}
	return nil
}

// readModules reads whether the model normalizes embeddings. It does if the file is missing.
func (c *config) readModules(path string) error {
	var list []struct {
		Type string  `json:"type"`
		Path *string `json:"path"`
	}
	found, err := readJSON(path, &list)
	if err != nil {
		return err
	}
	c.normalize = !found
	if !found {
		return nil
	}
	order := []struct{ kind, path string }{{".Transformer", ""}, {".Pooling", "1_Pooling"}, {".Normalize", ""}}
	for i, m := range list {
		switch {
		case i == len(order) || filepath.Ext(m.Type) != order[i].kind:
			return fmt.Errorf("%w: %s: type of module %d is %q; modules are Transformer, Pooling and perhaps Normalize", gpk.ErrUnsupported, path, i, m.Type)
		case i < 2 && m.Path != nil && *m.Path != order[i].path:
			return fmt.Errorf("%w: %s: path of module %d is %q, not %q", gpk.ErrUnsupported, path, i, *m.Path, order[i].path)
		}
	}
	if len(list) < 2 {
		return fmt.Errorf("%w: %s: %d modules, and the first two are of type Transformer and Pooling", gpk.ErrUnsupported, path, len(list))
	}
	c.normalize = len(list) == len(order)
	return nil
}
