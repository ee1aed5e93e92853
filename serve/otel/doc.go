// Package otel exports gpk to OpenTelemetry: the counters of batchers, workers, memory
// monitors and memory pools as metrics, and the spans of a profile as traces.
//
//	meter := provider.Meter("example.com/server")
//	_, err := otel.Batcher(meter, "embeddings", b)
//	_, err = otel.Pool(meter, device.Default())
//
// Metrics are observable instruments: the counters are read when the reader of the meter's
// provider collects, and nothing is kept here. Unregister of the registration that a
// function returns ends it. Names begin with gpk., and units are those of UCUM. A number
// that only grows is a counter, one that can be added up over devices or queues an
// UpDownCounter, and any other a gauge.
//
// What belongs here: names, units and attributes of what other packages count and record.
// What does not: the counters and spans, and exporters, which are the program's choice.
// This is the one package of gpk that imports go.opentelemetry.io/otel, and it imports no
// SDK. Package metrics is the same for Prometheus.
package otel
