// Package monitor watches the memory of a device over time: how much of it is used, when
// that becomes dangerous, and which lines of the program allocate what never comes back.
//
// A Monitor takes snapshots, when Snapshot is called or every Options.Interval after Start.
// Each one is compared with the thresholds of Pressure, and callbacks are told of changes.
//
// What belongs here: figures over time and what follows from them. What does not: who is
// given memory (package device has the pool and its limit) and where an operation runs
// (package route).
package monitor
