// Package otel exports gpk to OpenTelemetry: the counters of batchers, workers, memory
// monitors and memory pools as metrics, and the spans of a profile as traces.
//
//	meter := provider.Meter("example.com/server")
//	_, err := otel.Batcher(meter, "embeddings", b)
//	_, err = otel.Pool(meter, device.Default())
//
// Metrics are observable instruments: the counters are read when the reader of the meter's
// provider collects. This package stores nothing. Each function returns a registration, whose
// Unregister stops the report. Names begin with gpk., and units follow UCUM. A number
// that only grows is a counter, one that can be summed over devices or queues an
// UpDownCounter, and any other a gauge.
//
// What belongs here: names, units and attributes for the counters and spans of other packages.
// What does not: the counters and spans themselves, and exporters, which the program chooses.
// This is the only package of gpk that imports go.opentelemetry.io/otel, and it imports no
// SDK. Package metrics does the same for Prometheus.
package otel
