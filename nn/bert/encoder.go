package bert

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
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
	last  int32 // the token after a text, [SEP]

	batchTokens int // maximum number of tokens that are computed together, unless one text is longer
	windowTexts int // maximum number of texts that are tokenized together
	graphs      graphs
}

// Option is an option of Load.
type Option func(*options)

type options struct {
	dt        gpk.DType
	precision matmul.Precision
	dev       *device.Device
}

// WithDType sets the type in which the model computes: Float32 or a 16-bit floating-point type. The
// default is the type of the weights.
func WithDType(dt gpk.DType) Option { return func(o *options) { o.dt = dt } }

// WithPrecision sets the precision of matrix products of float32. The default is that of
// gpk.SetPrecision.
func WithPrecision(p matmul.Precision) Option { return func(o *options) { o.precision = p } }

// WithDevice sets the device on which the model computes. The default is device.Default().
func WithDevice(d *device.Device) Option { return func(o *options) { o.dev = d } }

// Load reads a model from the folder in which it is published. It reads config.json,
// model.safetensors and tokenizer.json. If they exist, it also reads the files of
// sentence-transformers: sentence_bert_config.json, 1_Pooling/config.json and modules.json. Without
// these, a text can have as many tokens as the model has positions, and an embedding is the mean of
// its tokens' vectors, divided by its Euclidean length. modules.json must list Transformer, Pooling
// in 1_Pooling, and optionally Normalize. A setting that is not implemented is gpk.ErrUnsupported.
// Errors name the file and the field.
func Load(dir string, opts ...Option) (*Encoder, error) {
	e, err := load(dir, opts)
	return e, array.NewOperation("bert.Load", nil).Wrap(err)
}

// load does the work of Load, which adds its name and the caller's line to the error.
func load(dir string, opts []Option) (*Encoder, error) {
	var o options
	for _, f := range opts {
		f(&o)
	}
	if o.dt != gpk.DType(0) && o.dt.ComputeType() != gpk.Float32 {
		return nil, fmt.Errorf("%w: no model computes in %v", gpk.ErrDType, o.dt)
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
	e := &Encoder{config: c, model: newModel(&c), dev: o.dev, batchTokens: 8192, windowTexts: 4096}
	e.graphs = graphs{most: maxGraphs, made: map[class]*recorded{}, seen: map[class]struct{}{}}
	if e.dev.Kind() == device.CUDA {
		e.batchTokens = 16384
		e.graphs.on, e.graphs.bytes = true, e.dev.Info().TotalMemory/graphShare
	}
	if err := e.readTokenizer(dir); err != nil {
		return nil, err
	}
	if err := e.readWeights(dir, &o); err != nil {
		return nil, err
	}
	nn.SetPrecision(e.model, o.precision)
	if err := e.try(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// try embeds an empty text, so that Load returns the error of a device, type or precision that the
// model cannot use.
func (e *Encoder) try() error {
	ids, err := e.Tokenize("")
	if err != nil {
		return err
	}
	_, err = e.rows(context.Background(), [][]int32{ids}, 0)
	return err
}

// readTokenizer reads the tokenizer, and checks that it is one of BERT's.
func (e *Encoder) readTokenizer(dir string) (err error) {
	if e.tok, err = tokenizer.Load(dir); err != nil {
		return err
	}
	file := filepath.Join(dir, "tokenizer.json")
	if last := e.tok.MaxID(); int(last) >= e.vocabulary {
		return fmt.Errorf("%w: %s has token %d, and vocab_size of config.json is %d", gpk.ErrShape, file, last, e.vocabulary)
	}
	ids, err := e.tok.Encode("")
	if err != nil {
		return err
	}
	first, isFirst := e.tok.ID("[CLS]")
	last, isLast := e.tok.ID("[SEP]")
	if !isFirst || !isLast || !slices.Equal(ids, []int32{first, last}) {
		return fmt.Errorf("%w: %s: post_processor does not put [CLS] before a text and [SEP] after it", gpk.ErrUnsupported, file)
	}
	e.last = last
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
		if !ok || strings.HasPrefix(inner, "pooler.") || inner == "embeddings.position_ids" { // weights of heads that embeddings do not use
			ignore = append(ignore, name)
		}
	}
	if err := nn.Load(e.model, nn.FromFile(f, safetensors.On(o.dev)), nn.LoadOptions{Prefix: prefix, Ignore: ignore, DType: o.dt}); err != nil {
		var misfit *nn.LoadError
		if errors.As(err, &misfit) {
			return fmt.Errorf("%s: %w; the sizes are num_hidden_layers, hidden_size, intermediate_size, max_position_embeddings and type_vocab_size of config.json", dir, err)
		}
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// Close frees the weights. The encoder must not be used afterwards.
func (e *Encoder) Close() {
	e.graphs.close()
	nn.Free(e.model)
}

// dtype returns the type in which the model computes.
func (e *Encoder) dtype() gpk.DType { return e.model.words.Weight.Array().DType() }

// Size returns the number of features of an embedding.
func (e *Encoder) Size() int { return e.hidden }

// Vocabulary returns the number of token ids: those of EmbedTokens are 0 to Vocabulary-1.
func (e *Encoder) Vocabulary() int { return e.vocabulary }

// MaxTokens returns the maximum number of tokens of a text, including [CLS] and [SEP].
func (e *Encoder) MaxTokens() int { return e.maxTokens }

// Tokenize returns the tokens of a text, with [CLS] at the beginning and [SEP] at the end. Tokens
// beyond MaxTokens are dropped, and nothing is padded.
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

// TextError says which of the given texts could not be embedded.
type TextError struct {
	Index int // counted from 0
	Err   error
}

// Error implements error.
func (e *TextError) Error() string { return fmt.Sprintf("text %d: %v", e.Index, e.Err) }

// Unwrap returns the cause.
func (e *TextError) Unwrap() error { return e.Err }

// Embed returns the embedding of each text, which has Size numbers. Its Euclidean length is 1 if the
// model normalizes embeddings. Embed tokenizes on all processors: one window of texts is tokenized
// while the previous one is computed. An error of a text is a *TextError.
func (e *Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := make([][]float32, 0, len(texts))
	for w := range e.windows(ctx, texts, e.spans(len(texts))) {
		if w.err != nil {
			return nil, w.err
		}
		rows, err := e.rows(ctx, w.ids, len(out))
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, ctx.Err()
}

// moved adds first, the number of texts before the batch, to the index of a TextError.
func moved(err error, first int) error {
	if wrong, ok := errors.AsType[*TextError](err); ok {
		return &TextError{first + wrong.Index, wrong.Err}
	}
	return err
}

// rows returns the embeddings of tokenized texts, on the host. first is the number of texts before
// them.
func (e *Encoder) rows(ctx context.Context, ids [][]int32, first int) ([][]float32, error) {
	a, err := e.EmbedTokens(ctx, ids)
	if err != nil {
		return nil, moved(err, first)
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
