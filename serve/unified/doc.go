// Package unified has a buffer with a copy of its elements on the host and one on a device. It
// transfers elements only when the older copy is accessed.
//
// The host's side is accessible only within the callbacks of HostRead and HostWrite. The
// device's side is the gpk.Array that Device returns. The Buffer tracks which side is newer:
//
//	       HostWrite                Device(Write)
//	Empty ───────────> Host  Empty ───────────────> Device
//	Host   ── Device(Read): one upload ──> Both
//	Device ── HostRead: one download ────> Both
//	Both   ── HostWrite ──> Host,  Device(ReadWrite), or a write of the array ──> Device
//
// What belongs here: which side is newer, and when bytes move. What does not: the copies
// themselves (array, device), and whether they pay off (package route).
package unified
