package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gpk-go/gpk/serve/batch"
	"github.com/gpk-go/gpk/serve/metrics"
)

const (
	readTimeout    = 30 * time.Second // for a request's header and body
	computeTimeout = 30 * time.Second // for its embeddings, after that
)

// server answers requests with a model.
type server struct {
	c        config
	model    embedder
	places   places
	texts    *batch.Batcher[[]int32, []float32]
	draining atomic.Bool
	requests atomic.Int64 // requests of /v1/embeddings that were answered

	metrics    *prometheus.Registry
	answers    *prometheus.CounterVec // their answers, by status
	seconds    prometheus.Histogram   // their times
	tokenCount prometheus.Counter     // tokens of the answers with status 200
}

func newServer(m embedder, c config) *server {
	s := &server{
		c: c, model: m, metrics: prometheus.NewRegistry(),
		places:     places{free: c.queue + c.maxItems},
		texts:      batch.New(m.Embed, batch.Options{MaxItems: c.maxItems, Linger: c.linger}), // places limits its queue
		answers:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "embedding_requests_total", Help: "Requests, by status; 499: the client hung up."}, []string{"status"}),
		seconds:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "embedding_request_seconds", Help: "Time of a request.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16)}),
		tokenCount: prometheus.NewCounter(prometheus.CounterOpts{Name: "embedding_tokens_total", Help: "Tokens of the requests with status 200."}),
	}
	s.metrics.MustRegister(s.answers, s.seconds, s.tokenCount, metrics.Batcher("texts", s.texts),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/embeddings", s.serveEmbeddings)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if s.draining.Load() {
			write(w, unavailable("the server is shutting down"))
			return
		}
		write(w, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		write(w, invalid(http.StatusNotFound, "", "there is no %s %s", r.Method, r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *server) serveEmbeddings(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	answer, err := s.embed(w, r)
	var status int
	switch {
	case r.Context().Err() != nil:
		status = 499 // the client no longer waits for the answer
	case err != nil:
		status = write(w, apiErrorOf(err))
	default:
		if status = write(w, answer); status == http.StatusOK {
			s.tokenCount.Add(float64(answer.Usage.TotalTokens))
		}
	}
	s.requests.Add(1)
	s.answers.WithLabelValues(strconv.Itoa(status)).Inc()
	s.seconds.Observe(time.Since(began).Seconds())
}

// embed computes the answer to a request.
func (s *server) embed(w http.ResponseWriter, r *http.Request) (*response, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, invalid(http.StatusMethodNotAllowed, "", "the method has to be POST")
	}
	q, err := s.readRequest(w, r)
	if err != nil {
		return nil, err
	}
	in, err := s.readInputs(q.Input)
	if err != nil {
		return nil, err
	}
	leave, err := s.places.take(in.count())
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), computeTimeout)
	defer cancel()
	ids, err := s.tokens(ctx, in)
	if err != nil {
		return nil, err
	}
	vectors, err := s.vectors(ctx, ids)
	if err != nil {
		return nil, err
	}
	return newResponse(q, ids, vectors), nil
}

// vectors passes each text to the Batcher. If one fails, those that are still waiting leave
// the queue.
func (s *server) vectors(ctx context.Context, texts [][]int32) ([][]float32, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([][]float32, len(texts))
	var wg sync.WaitGroup
	for i, text := range texts {
		wg.Go(func() {
			v, err := s.texts.Do(ctx, text)
			if err != nil {
				cancel(err)
			}
			out[i] = v
		})
	}
	wg.Wait()
	return out, context.Cause(ctx)
}

// write writes v as JSON and returns the status.
func write(w http.ResponseWriter, v any) int {
	status := http.StatusOK
	data, err := json.Marshal(v)
	if err != nil { // an embedding contains NaN or Inf
		slog.Error("an answer is not JSON", "error", err)
		v = failure()
		data, _ = json.Marshal(v)
	}
	if e, ok := v.(*apiError); ok {
		if status = e.status; e.retry {
			w.Header().Set("Retry-After", "1")
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // an error concerns only the client
	return status
}
