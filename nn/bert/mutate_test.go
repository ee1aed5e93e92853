package bert_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/nn/bert"
)

// TestMutated sets every field of the configuration files to null, to another type, and to a value that is too
// large or negative. Either the error names file and field, or the field has a default, or the value is another
// valid one.
func TestMutated(t *testing.T) {
	m := newTiny(t, seeded(t), "")
	m.write(t, "1_Pooling/config.json", `{"word_embedding_dimension": 12, "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true, "pooling_mode_max_tokens": false}`)
	m.write(t, "modules.json", `[{"path": "", "type": "sentence_transformers.models.Transformer"}, {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
		{"type": "sentence_transformers.models.Normalize"}]`)
	m.write(t, "config_sentence_transformers.json", `{"default_prompt_name": null}`)
	type value = json.RawMessage
	null, absent := value("null"), value(nil)
	hostile := []value{null, absent, value("true"), value("false"), value(`"none of it"`), value("0"), value("-1"), value("1.5"), value("7"), value("1e300"), value("2147483648"), value("1" + strings.Repeat("0", 400)), value("[]"), value("[null]"), value("{}"), value(`{"type":1}`)}
	valid := map[string][]string{
		"config.json layer_norm_eps":                            {"null", ""},
		"sentence_bert_config.json max_seq_length":              {"null", "", "7"},
		"sentence_bert_config.json do_lower_case":               {"null", "", "false"},
		"1_Pooling/config.json pooling_mode_cls_token":          {"", "false"},
		"1_Pooling/config.json pooling_mode_max_tokens":         {"", "false"},
		"1_Pooling/config.json pooling_mode_mean_tokens":        {"true"},
		"1_Pooling/config.json word_embedding_dimension":        {""},
		"modules.json path":                                     {"null", ""},
		"config_sentence_transformers.json default_prompt_name": {"null", ""},
	}
	for _, name := range []string{"config.json", "sentence_bert_config.json", "1_Pooling/config.json", "modules.json", "config_sentence_transformers.json"} {
		text, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		list := text[0] == '['
		var objects []map[string]value
		if !list {
			text = slices.Concat([]byte("["), text, []byte("]"))
		}
		if err := json.Unmarshal(text, &objects); err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			for key, old := range o {
				for _, v := range hostile {
					if o[key] = v; v == nil {
						delete(o, key)
					}
					var file any = objects
					if !list {
						file = o
					}
					changed, err := json.Marshal(file)
					if err != nil {
						t.Fatal(err)
					}
					m.write(t, name, string(changed))
					e, err := bert.Load(m.dir)
					if err == nil {
						e.Close()
					}
					may := slices.Contains(valid[name+" "+key], string(v))
					field := strings.TrimSuffix(key, "_mean_tokens") // "no pooling_mode is true"
					if may != (err == nil) || err != nil && (!strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), field) || len(err.Error()) > 1000) {
						t.Errorf("%s: %s is %s: %v", name, key, v, err)
					}
				}
				o[key] = old
			}
		}
		if list {
			for _, modules := range []string{"null", "[]", "[null]", `[{"type": "a.Pooling"}, {"type": "a.Transformer"}]`, `[{"type": "a.Transformer"}]`, `[{"type": "a.Transformer"}, {"type": "a.Pooling"}, {"type": "a.Normalize"}, {"type": "a.Normalize"}]`} {
				m.write(t, name, modules)
				if e, err := bert.Load(m.dir); e != nil || err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "type") {
					t.Errorf("%s is %s: %v", name, modules, err)
				}
			}
		}
		if list {
			text, err = json.Marshal(objects)
		} else {
			text, err = json.Marshal(objects[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		m.write(t, name, string(text))
	}
}
