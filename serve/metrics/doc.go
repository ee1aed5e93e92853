// Package metrics exports the counters of gpk to Prometheus: each function returns a
// prometheus.Collector, which a registry reads when Prometheus scrapes the program.
//
//	reg := prometheus.NewRegistry()
//	reg.MustRegister(metrics.Batcher("embeddings", b), metrics.Pool(device.Default()))
//	http.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
//
// A collector stores nothing: it reads the counters at each scrape. Names follow the
// conventions of Prometheus: seconds, bytes, and _total for numbers that only grow.
//
// What belongs here: names, units and labels of counters that other packages keep. What
// does not: the counters, and an HTTP server. This is the only package of gpk that imports
// github.com/prometheus/client_golang.
package metrics
