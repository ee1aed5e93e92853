// Package profile measures what a program does on its devices: the time of every
// operation by events that are read later, never by a wait in between, the time of
// the host, transfers and memory. Reports are written as text, JSON, a Chrome
// trace, a pprof profile or a page of HTML, and compared.
//
// What belongs here: recording, the report, what is derived from it, and its forms.
// What does not: exporters that need other modules, which have packages of their own
// (serve/otel for OpenTelemetry), and the hooks themselves, which are in packages device
// and array.
package profile
