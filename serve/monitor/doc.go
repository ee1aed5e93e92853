// Package monitor watches the memory of a device over time: how much is in use, when
// little is left, and which lines of the program allocate memory that is never freed.
//
// A Monitor takes snapshots, when Snapshot is called or every Options.Interval after Start.
// It compares each with the thresholds of Pressure, and calls back on changes.
//
// What belongs here: memory figures over time and conclusions from them. What does not:
// allocation (package device has the pool and its limit) and where an operation runs
// (package route).
package monitor
