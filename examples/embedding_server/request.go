package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

const (
	maxBody   = 1 << 20  // bytes of a request
	drainBody = 16 << 20 // bytes that are read of a longer request, so that its client reads the answer
)

// request is the body of POST /v1/embeddings. Other fields, such as user, are ignored.
type request struct {
	Model          string          `json:"model"`
	Input          json.RawMessage `json:"input"`
	EncodingFormat string          `json:"encoding_format"`
	Dimensions     *int            `json:"dimensions"`
}

// readBody returns a JSON body that is not too long.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, invalid(http.StatusUnsupportedMediaType, "", "the Content-Type has to be application/json")
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, invalid(http.StatusUnsupportedMediaType, "", "Content-Encoding %q is not supported", coding)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		if r.Header.Get("Expect") == "" {
			_, _ = io.CopyN(io.Discard, r.Body, drainBody)
		}
		return nil, invalid(http.StatusRequestEntityTooLarge, "", "the body has more than %d bytes", maxBody)
	}
	if err != nil {
		return nil, invalid(http.StatusBadRequest, "", "the body could not be read")
	}
	return body, nil
}

// readRequest reads and checks a request except for its input.
func (s *server) readRequest(w http.ResponseWriter, r *http.Request) (request, error) {
	var q request
	body, err := readBody(w, r)
	if err != nil {
		return q, err
	}
	if err := json.Unmarshal(body, &q); err != nil {
		param := ""
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			param = wrong.Field
		}
		return q, invalid(http.StatusBadRequest, param, "the body is not a valid request: %v", err)
	}
	switch {
	case q.Model == "":
		return q, invalid(http.StatusBadRequest, "model", "model is missing")
	case q.Model != s.c.name:
		e := invalid(http.StatusNotFound, "model", "there is no model %q; this server has %q", q.Model, s.c.name)
		e.Code = "model_not_found"
		return q, e
	case q.EncodingFormat != "" && q.EncodingFormat != "float" && q.EncodingFormat != "base64":
		return q, invalid(http.StatusBadRequest, "encoding_format", "encoding_format is float or base64")
	case q.Dimensions != nil && *q.Dimensions != s.model.Size():
		return q, invalid(http.StatusBadRequest, "dimensions", "embeddings of %q have %d dimensions", q.Model, s.model.Size())
	}
	return q, nil
}

// inputs are the inputs of a request: texts or token ids.
type inputs struct {
	texts []string
	ids   [][]int32
}

func (in *inputs) count() int { return len(in.texts) + len(in.ids) }

// readInputs returns a request's input, which is a text, a list of token ids, or a list of
// either.
func (s *server) readInputs(input json.RawMessage) (in inputs, err error) {
	switch begin := beginning(input); {
	case begin == `"`:
		in.texts = make([]string, 1)
		err = json.Unmarshal(input, &in.texts[0])
	case begin == `["`:
		in.texts, err = list[string](input)
	case begin == `[[`:
		var rows []json.RawMessage
		if rows, err = list[json.RawMessage](input); err == nil {
			in.ids, err = lists(rows)
		}
	default:
		in.ids = make([][]int32, 1)
		in.ids[0], err = list[int32](input)
	}
	if err != nil {
		return in, invalid(http.StatusBadRequest, "input", "input is a text, a list of texts, a list of token ids, or a list of lists of token ids: %v", err)
	}
	if n := in.count(); n > s.c.maxInputs {
		return in, invalid(http.StatusRequestEntityTooLarge, "input", "%d inputs; at most %d are allowed", n, s.c.maxInputs)
	}
	for i, text := range in.texts {
		if text == "" {
			return in, invalid(http.StatusBadRequest, "input", "input %d is empty", i)
		}
	}
	return in, s.checkIDs(in.ids)
}

// tokens returns the token ids of inputs. Texts that are too long are truncated. Too many
// ids are an error.
func (s *server) tokens(ctx context.Context, in inputs) ([][]int32, error) {
	if in.texts == nil {
		return in.ids, nil
	}
	ids := make([][]int32, len(in.texts))
	for i, text := range in.texts {
		err := ctx.Err()
		if err == nil {
			ids[i], err = s.model.Tokenize(text)
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, s.checkIDs(ids)
}

// checkIDs returns an error that names the first input that the model cannot compute.
func (s *server) checkIDs(ids [][]int32) error {
	for i, row := range ids {
		if len(row) == 0 || len(row) > s.model.MaxTokens() {
			return invalid(http.StatusBadRequest, "input", "input %d has %d token ids; 1 to %d are allowed", i, len(row), s.model.MaxTokens())
		}
		for _, id := range row {
			if id < 0 || int(id) >= s.model.Vocabulary() {
				return invalid(http.StatusBadRequest, "input", "input %d: token id %d is outside the vocabulary of %d", i, id, s.model.Vocabulary())
			}
		}
	}
	return nil
}

// list decodes a JSON list, which must have at least one element and no null.
func list[T any](data []byte) ([]T, error) {
	var elements []*T
	if len(data) == 0 {
		return nil, errors.New("it is missing")
	}
	if err := json.Unmarshal(data, &elements); err != nil {
		return nil, err
	}
	if len(elements) == 0 {
		return nil, errors.New("it is empty")
	}
	out := make([]T, len(elements))
	for i, e := range elements {
		if e == nil {
			return nil, fmt.Errorf("element %d is null", i)
		}
		out[i] = *e
	}
	return out, nil
}

func lists(rows []json.RawMessage) (ids [][]int32, err error) {
	for i, row := range rows {
		values, err := list[int32](row)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		ids = append(ids, values)
	}
	return ids, nil
}

// beginning returns the first byte of a JSON value and, for a list, also that of its first
// element. White space is skipped.
func beginning(data []byte) string {
	var first []byte
	for _, b := range data {
		switch {
		case b == ' ' || b == '\t' || b == '\r' || b == '\n':
			continue
		case b != '[' || len(first) > 0:
			return string(append(first, b))
		}
		first = append(first, b)
	}
	return string(first)
}
