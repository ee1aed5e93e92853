package main

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"

	"github.com/gpk-go/gpk/serve/batch"
)

// response is the body of an answer with status 200.
type response struct {
	Object string      `json:"object"`
	Data   []embedding `json:"data"`
	Model  string      `json:"model"`
	Usage  struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	} `json:"usage"`
}

type embedding struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or a string with their little-endian bytes in base64
}

func newResponse(q request, ids [][]int32, vectors [][]float32) *response {
	a := &response{Object: "list", Model: q.Model}
	for i, v := range vectors {
		e := embedding{Object: "embedding", Index: i, Embedding: v}
		if q.EncodingFormat == "base64" {
			var data []byte
			for _, x := range v {
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
			}
			e.Embedding = base64.StdEncoding.EncodeToString(data)
		}
		a.Data = append(a.Data, e)
		a.Usage.PromptTokens += len(ids[i])
	}
	a.Usage.TotalTokens = a.Usage.PromptTokens
	return a
}

// apiError is the body of an answer with another status.
type apiError struct {
	Message, Type, Param, Code string

	status int
	retry  bool // the same request may succeed later
}

// Error implements error.
func (e *apiError) Error() string { return e.Message }

// MarshalJSON implements json.Marshaler. Empty fields are null.
func (e *apiError) MarshalJSON() ([]byte, error) {
	type body struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
	}
	b := body{Message: e.Message, Type: e.Type}
	if e.Param != "" {
		b.Param = &e.Param
	}
	if e.Code != "" {
		b.Code = &e.Code
	}
	return json.Marshal(map[string]body{"error": b})
}

// invalid returns the answer to an invalid request.
func invalid(status int, param, format string, args ...any) *apiError {
	return &apiError{Message: fmt.Sprintf(format, args...), Type: "invalid_request_error", Param: param, status: status}
}

func unavailable(message string) *apiError {
	return &apiError{Message: message, Type: "server_error", status: http.StatusServiceUnavailable, retry: true}
}

func failure() *apiError {
	return &apiError{Message: "the embeddings could not be computed", Type: "server_error", status: http.StatusInternalServerError}
}

// apiErrorOf returns the answer for an error. Errors that the client did not cause are
// logged, and the client gets no details.
func apiErrorOf(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	switch {
	case errors.Is(err, batch.ErrQueueFull):
		return &apiError{Message: "too many texts are waiting; try again later", Type: "rate_limit_error", Code: "queue_full", status: http.StatusTooManyRequests, retry: true}
	case errors.Is(err, batch.ErrClosed), errors.Is(err, context.Canceled): // errors of the Batcher after its Close has given up
		return unavailable("the server is shutting down")
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("the embeddings took too long")
	}
	slog.Error("embeddings failed", "error", err)
	return failure()
}
