package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpk-go/gpk/serve/batch"
)

// metric is one number, or one histogram, that a collector exports.
type metric[S any] struct {
	desc      *prometheus.Desc
	kind      prometheus.ValueType
	values    []string                 // values of the variable labels
	value     func(S) float64          // nil for a histogram
	histogram func(S) *batch.Histogram // nil for a number
}

// collector exports metrics of values of type S that read returns.
type collector[S any] struct {
	labels  prometheus.Labels // labels of all metrics
	metrics []metric[S]
	read    func() (S, bool) // false if there is nothing to export yet
}

// Describe implements prometheus.Collector.
func (c *collector[S]) Describe(ch chan<- *prometheus.Desc) {
	var last *prometheus.Desc
	for _, m := range c.metrics {
		if m.desc != last {
			ch <- m.desc
		}
		last = m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector[S]) Collect(ch chan<- prometheus.Metric) {
	s, ok := c.read()
	if !ok {
		return
	}
	for _, m := range c.metrics {
		if m.histogram == nil {
			ch <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(s), m.values...)
			continue
		}
		h := m.histogram(s)
		counts, n := make(map[float64]uint64, len(h.Bounds)), uint64(0)
		for i, bound := range h.Bounds { // Prometheus's buckets are cumulative
			n += h.Counts[i]
			counts[bound] = n
		}
		ch <- prometheus.MustNewConstHistogram(m.desc, h.Count(), h.Sum, counts)
	}
}

func (c *collector[S]) add(name, help string, kind prometheus.ValueType, value func(S) float64) {
	c.metrics = append(c.metrics, metric[S]{desc: prometheus.NewDesc(name, help, nil, c.labels), kind: kind, value: value})
}

func (c *collector[S]) counter(name, help string, value func(S) uint64) {
	c.add(name, help, prometheus.CounterValue, func(s S) float64 { return float64(value(s)) })
}

func (c *collector[S]) gauge(name, help string, value func(S) float64) {
	c.add(name, help, prometheus.GaugeValue, value)
}

func (c *collector[S]) histogram(name, help string, value func(S) *batch.Histogram) {
	c.metrics = append(c.metrics, metric[S]{desc: prometheus.NewDesc(name, help, nil, c.labels), histogram: value})
}

// sample is one value of a label, and the metric's value for it.
type sample[S any] struct {
	label string
	value func(S) float64
}

// labelled adds a metric with a label, one sample for each of the label's values.
func (c *collector[S]) labelled(name, help string, kind prometheus.ValueType, label string, samples []sample[S]) {
	desc := prometheus.NewDesc(name, help, []string{label}, c.labels)
	for _, s := range samples {
		c.metrics = append(c.metrics, metric[S]{desc: desc, kind: kind, values: []string{s.label}, value: s.value})
	}
}
