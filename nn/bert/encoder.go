package bert

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/interop/safetensors"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/nn"
	"github.com/gpk-go/gpk/nn/tokenizer"
)

// Encoder is a model with its tokenizer. It is safe for use by many goroutines.
type Encoder struct {
	config
	model *model
	tok   *tokenizer.Tokenizer
	dev   *device.Device
	last  int32 // the token behind a text, [SEP]
}

// Option is an option of Load.
type Option func(*options)

type options struct {
	dt        gpk.DType
	precision matmul.Precision
	dev       *device.Device
}

// WithDType has the model compute in Float32, Float16 or BFloat16. The default is the type
// of the weights.
func WithDType(dt gpk.DType) Option { return func(o *options) { o.dt = dt } }

// WithPrecision sets the precision of products of float32; see gpk.SetPrecision.
func WithPrecision(p matmul.Precision) Option { return func(o *options) { o.precision = p } }

// WithDevice has the model compute on a device. The default is device.Default().
func WithDevice(d *device.Device) Option { return func(o *options) { o.dev = d } }

// Load reads a model from the folder in which it is published: config.json,
// model.safetensors and tokenizer.json, and of sentence-transformers
// sentence_bert_config.json, 1_Pooling/config.json and modules.json where they are there.
// Errors name the file and the field.
func Load(dir string, opts ...Option) (*Encoder, error) {
	var o options
	for _, f := range opts {
		f(&o)
	}
	switch o.dt {
	case gpk.DType(0), gpk.Float32, gpk.Float16, gpk.BFloat16:
	default:
		return nil, fmt.Errorf("%w: a model in %v", gpk.ErrDType, o.dt)
	}
	if o.dev == nil {
		o.dev = device.Default()
	}
	if err := o.dev.Err(); err != nil {
		return nil, err
	}
	c, err := readConfig(dir)
	if err != nil {
		return nil, err
	}
	e := &Encoder{config: c, model: newModel(&c), dev: o.dev}
	if err := e.readTokenizer(dir); err != nil {
		return nil, err
	}
	if err := e.readWeights(dir, &o); err != nil {
		return nil, err
	}
	nn.SetPrecision(e.model, o.precision)
	return e, nil
}

// readTokenizer reads the tokenizer, and checks that it is one of BERT's.
func (e *Encoder) readTokenizer(dir string) (err error) {
	if e.tok, err = tokenizer.Load(dir); err != nil {
		return err
	}
	file := filepath.Join(dir, "tokenizer.json")
	if n := e.tok.VocabSize(); n > e.vocabulary {
		return fmt.Errorf("%w: %s has %d tokens, and vocab_size of config.json is %d", gpk.ErrShape, file, n, e.vocabulary)
	}
	ids, err := e.tok.Encode("")
	if err != nil {
		return err
	}
	if len(ids) != 2 {
		return fmt.Errorf("%w: %s puts %d tokens around a text, not [CLS] and [SEP]", gpk.ErrUnsupported, file, len(ids))
	}
	e.last = ids[1]
	return nil
}

// readWeights fills the model.
func (e *Encoder) readWeights(dir string, o *options) error {
	f, err := safetensors.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	prefix := ""
	var ignore []string
	for _, name := range f.Names() {
		if strings.HasPrefix(name, "bert.") {
			prefix = "bert."
		}
	}
	for _, name := range f.Names() {
		inner, ok := strings.CutPrefix(name, prefix)
		if !ok || strings.HasPrefix(inner, "pooler.") || inner == "embeddings.position_ids" { // of heads that embeddings do not use
			ignore = append(ignore, name)
		}
	}
	if err := nn.Load(e.model, weights{f, o.dev}, nn.LoadOptions{Prefix: prefix, Ignore: ignore, DType: o.dt}); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// weights are those of a file, on a device.
type weights struct {
	*safetensors.File
	dev *device.Device
}

// Load implements nn.Weights.
func (w weights) Load(name string) (*gpk.Array, error) {
	return w.File.Load(name, safetensors.On(w.dev))
}

// Close frees the weights. The encoder is of no use afterwards.
func (e *Encoder) Close() { nn.Free(e.model) }

// Size returns how many features an embedding has.
func (e *Encoder) Size() int { return e.hidden }

// MaxTokens returns how many tokens of a text are read, [CLS] and [SEP] among them.
func (e *Encoder) MaxTokens() int { return e.maxTokens }

// Tokenize returns the tokens of a text, with [CLS] before and [SEP] behind them. What is
// beyond MaxTokens is cut off, and nothing is padded.
func (e *Encoder) Tokenize(text string) ([]int32, error) {
	ids, err := e.tok.Encode(text)
	if err != nil {
		return nil, err
	}
	if len(ids) > e.maxTokens {
		ids = ids[:e.maxTokens]
		ids[e.maxTokens-1] = e.last
	}
	return ids, nil
}

// Embed returns the embedding of each text, Size numbers, of length 1 where the model
// normalizes them. It tokenizes on all processors, a window of texts while the one before
// is computed.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := make([][]float32, 0, len(texts))
	for w := range e.windows(ctx, texts) {
		if w.err != nil {
			return nil, w.err
		}
		rows, err := e.rows(ctx, w.ids)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, ctx.Err()
}

// rows returns the embeddings of texts that are tokenized, on the host.
func (e *Encoder) rows(ctx context.Context, ids [][]int32) ([][]float32, error) {
	a, err := e.EmbedTokens(ctx, ids)
	if err != nil {
		return nil, err
	}
	defer a.Free()
	data, err := gpk.ToSlice[float32](a)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(ids))
	for i := range out {
		out[i] = data[i*e.hidden : (i+1)*e.hidden : (i+1)*e.hidden]
	}
	return out, nil
}
