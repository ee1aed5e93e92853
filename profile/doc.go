// Package profile measures what a program does on its devices: the time of every
// operation, the time of the host, transfers and memory. Times on a GPU come from events that are
// read later, so that recording never waits for the device. Reports are written as text, JSON, a Chrome
// trace, a pprof profile or an HTML page, and can be compared.
//
// What belongs here: recording, the report, derived figures, and output formats.
// What does not: exporters that need other modules, which have packages of their own
// (serve/otel for OpenTelemetry), and the hooks themselves, which are in packages
// internal/observe, device and array.
package profile
