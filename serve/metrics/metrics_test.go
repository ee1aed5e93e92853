package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/serve/internal/servetest"
	"github.com/gpk-go/gpk/serve/metrics"
	"github.com/gpk-go/gpk/serve/monitor"
)

// scrape returns the metrics in Prometheus's text format. The registry checks that they
// match their descriptions.
func scrape(t *testing.T, collectors ...prometheus.Collector) string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	return w.Body.String()
}

// expect checks that the lines are in the text.
func expect(t *testing.T, scraped string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+scraped, "\n"+line+"\n") {
			t.Errorf("%s is not in\n%s", line, scraped)
		}
	}
}

func TestBatcher(t *testing.T) {
	got := scrape(t, metrics.Batcher("a", servetest.Counts), metrics.Batcher("b", servetest.Stats{}))
	expect(t, got,
		`# TYPE gpk_batch_items_total counter`, `# TYPE gpk_batch_size histogram`, `# TYPE gpk_batch_queued_items gauge`,
		`gpk_batch_accepted_items_total{batcher="a"} 21`,
		`gpk_batch_items_total{batcher="a",outcome="done"} 5`,
		`gpk_batch_items_total{batcher="a",outcome="failed"} 1`,
		`gpk_batch_items_total{batcher="a",outcome="left"} 3`,
		`gpk_batch_items_total{batcher="a",outcome="dropped"} 4`,
		`gpk_batch_items_total{batcher="a",outcome="rejected"} 2`,
		`gpk_batch_queued_items{batcher="a"} 7`,
		`gpk_batch_running_items{batcher="a"} 1`,
		`gpk_batch_size_bucket{batcher="a",le="1"} 1`,
		`gpk_batch_size_bucket{batcher="a",le="2"} 1`,
		`gpk_batch_size_bucket{batcher="a",le="4"} 3`,
		`gpk_batch_size_bucket{batcher="a",le="+Inf"} 3`,
		`gpk_batch_size_sum{batcher="a"} 9`,
		`gpk_batch_size_count{batcher="a"} 3`,
		`gpk_batch_waiting_seconds_bucket{batcher="a",le="1"} 7`,
		`gpk_batch_waiting_seconds_bucket{batcher="a",le="+Inf"} 9`,
		`gpk_batch_waiting_seconds_sum{batcher="a"} 12.5`,
		`gpk_batch_computing_seconds_bucket{batcher="a",le="0.25"} 1`,
		`gpk_batch_computing_seconds_count{batcher="a"} 2`,
		`gpk_batch_items_total{batcher="b",outcome="done"} 0`,
	)
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics.Batcher("a", servetest.Counts))
	if reg.Register(metrics.Batcher("a", servetest.Counts)) == nil {
		t.Error("two Batchers of one name were registered")
	}
}

// TestBatcherOfBatch scrapes a Batcher that has run.
func TestBatcherOfBatch(t *testing.T) {
	b := servetest.NewBatcher()
	servetest.RunBatcher(t, b)
	expect(t, scrape(t, metrics.Batcher("x", b)),
		`gpk_batch_items_total{batcher="x",outcome="done"} 3`,
		`gpk_batch_size_bucket{batcher="x",le="1"} 3`,
		`gpk_batch_computing_seconds_count{batcher="x"} 3`)
}

func TestWorker(t *testing.T) {
	w := servetest.NewWorker(t)
	expect(t, scrape(t, metrics.Worker("w", w)), `gpk_worker_state{state="created",worker="w"} 1`)
	servetest.RunWorker(t, w)
	expect(t, scrape(t, metrics.Worker("w", w)),
		`gpk_worker_received_messages_total{worker="w"} 3`,
		`gpk_worker_messages_total{outcome="handled",worker="w"} 2`,
		`gpk_worker_messages_total{outcome="failed",worker="w"} 1`,
		`gpk_worker_messages_total{outcome="stopped",worker="w"} 0`,
		`gpk_worker_queued_messages{band="normal",worker="w"} 0`,
		`gpk_worker_state{state="created",worker="w"} 0`,
		`gpk_worker_state{state="terminated",worker="w"} 1`,
		fmt.Sprintf(`gpk_worker_handling_seconds{quantile="0.5",worker="w"} %v`, w.Telemetry().Handling.Median.Seconds()),
		fmt.Sprintf(`gpk_worker_waiting_seconds{quantile="0.99",worker="w"} %v`, w.Telemetry().Waiting.P99.Seconds()),
	)
}

func TestMonitor(t *testing.T) {
	m := monitor.New(nil, monitor.Options{Source: servetest.Source{Total: 1000, Free: 300, InUse: 500, Cached: 50}})
	defer m.Close()
	if got := scrape(t, metrics.Monitor("gpu", m)); strings.Contains(got, "gpk_memory") {
		t.Errorf("before the first snapshot:\n%s", got)
	}
	m.Snapshot()
	expect(t, scrape(t, metrics.Monitor("gpu", m)),
		`gpk_memory_total_bytes{monitor="gpu"} 1000`,
		`gpk_memory_free_bytes{monitor="gpu"} 300`,
		`gpk_memory_in_use_bytes{monitor="gpu"} 500`,
		`gpk_memory_cached_bytes{monitor="gpu"} 50`,
		`gpk_memory_pressure{monitor="gpu"} 1`)
}

func TestPool(t *testing.T) {
	d := devicetest.CPU(t)
	got := scrape(t, metrics.Pool(d))
	expect(t, got, `# TYPE gpk_pool_allocations_total counter`, fmt.Sprintf(`gpk_pool_limit_bytes{device="cpu"} %v`, float64(d.Pool().Limit)))
	if n := strings.Count(got, "\ngpk_pool_"); n != 10 {
		t.Errorf("%d metrics, PoolStats has 10 fields:\n%s", n, got)
	}
}
