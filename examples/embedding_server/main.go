// Command embedding_server answers requests for embeddings in the form of OpenAI's API, with
// a model of BERT's kind. Texts of concurrent requests are computed in one batch.
//
//	go run ./examples/embedding_server -model all-MiniLM-L6-v2
//	curl localhost:8080/v1/embeddings -H 'Content-Type: application/json' \
//		-d '{"model": "all-MiniLM-L6-v2", "input": ["A man is eating food."]}'
//
// GET /healthz reports whether the server accepts requests, and GET /metrics is for
// Prometheus. After SIGTERM or SIGINT the program ends when every request is answered.
// README.md has the details.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/nn/bert"
	"github.com/gpk-go/gpk/serve/metrics"
)

// config holds the values of the flags.
type config struct {
	addr, model, device, dtype string
	name                       string        // name of the model in requests
	maxItems                   int           // maximum number of texts of a batch
	maxInputs                  int           // maximum number of texts of a request
	queue                      int           // maximum number of texts that wait while a full batch runs
	linger                     time.Duration // time that the first text of a batch waits for others
	notice                     time.Duration // time between the status 503 on /healthz and the end of the listener
	drain                      time.Duration // time for requests in flight after that
}

func parse(args []string) (c config, err error) {
	fs := flag.NewFlagSet("embedding_server", flag.ContinueOnError)
	fs.StringVar(&c.model, "model", "", "the `folder` of a model as published for sentence-transformers")
	fs.StringVar(&c.name, "name", "", "the model's name in requests; otherwise that of its folder")
	fs.StringVar(&c.addr, "addr", "localhost:8080", "the `address` to listen on")
	fs.StringVar(&c.device, "device", "", "cpu, cuda or cuda:1; otherwise the first GPU that works, else the CPU")
	fs.StringVar(&c.dtype, "dtype", "", "fp32, fp16 or bf16; otherwise that of the weights")
	fs.IntVar(&c.maxItems, "max-items", 64, "the most texts of a batch")
	fs.IntVar(&c.maxInputs, "max-inputs", 256, "the most texts of a request")
	fs.IntVar(&c.queue, "queue", 1024, "the most texts that wait while a full batch runs; further requests are answered 429")
	fs.DurationVar(&c.linger, "linger", 2*time.Millisecond, "how long the first text of a batch waits for others")
	fs.DurationVar(&c.notice, "notice", time.Second, "how long /healthz says 503 on SIGTERM before the listener is closed")
	fs.DurationVar(&c.drain, "drain", 30*time.Second, "the most time for requests in flight after that")
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	switch {
	case fs.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case c.maxItems < 1 || c.maxInputs < 1 || c.queue < c.maxInputs:
		err = errors.New("-max-items and -max-inputs are at least 1, and -queue is at least -max-inputs")
	case c.linger < 0 || c.notice < 0 || c.drain < 0:
		err = errors.New("-linger, -notice and -drain are not negative")
	case c.name == "":
		var dir string
		dir, err = filepath.Abs(c.model)
		c.name = filepath.Base(dir)
	}
	return c, err
}

// load loads the model that the flags name.
func load(c config) (*model, *device.Device, error) {
	if c.model == "" {
		return nil, nil, errors.New("-model names no folder")
	}
	d := device.Default()
	if c.device != "" {
		var err error
		if d, err = device.Open(c.device); err != nil {
			return nil, nil, fmt.Errorf("-device: %w", err)
		}
	}
	opts := []bert.Option{bert.WithDevice(d)}
	if c.dtype != "" {
		dt, err := dtype.Parse(c.dtype)
		if err != nil || !dt.IsFloat() || dt == gpk.Float64 {
			return nil, nil, fmt.Errorf("-dtype %q is not one of fp32, fp16, bf16", c.dtype)
		}
		opts = append(opts, bert.WithDType(dt))
	}
	e, err := bert.Load(c.model, opts...)
	if err != nil {
		return nil, nil, err
	}
	return &model{e}, d, nil
}

func run(ctx context.Context, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	m, d, err := load(c)
	if err != nil {
		return err
	}
	defer m.Close()
	return start(ctx, c, m, metrics.Pool(d))
}

// start serves a model until ctx ends.
func start(ctx context.Context, c config, m embedder, more ...prometheus.Collector) error {
	s := newServer(m, c)
	s.metrics.MustRegister(more...)
	l, err := net.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	slog.Info("ready", "address", l.Addr().String(), "model", c.name)
	return s.serve(ctx, l)
}

// untilSignal returns a context that SIGTERM ends. A second signal ends the program at once.
func untilSignal() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	context.AfterFunc(ctx, stop)
	return ctx
}

func main() {
	if err := run(untilSignal(), os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		slog.Error(err.Error())
		os.Exit(1)
	}
}
