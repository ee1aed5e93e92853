// Package unified is one buffer with two sides, the host's and a device's, that copies
// between them when it must and never twice.
//
// The host's side is reached within the callbacks of HostRead and HostWrite alone, and the
// device's side is the gpk.Array that Device returns. The Buffer knows which side is newer:
//
//	       HostWrite                Device(Write)
//	Empty ───────────> Host  Empty ───────────────> Device
//	Host   ── Device(Read): one upload ──> Both
//	Device ── HostRead: one download ────> Both
//	Both   ── HostWrite ──> Host,  Device(ReadWrite), or a write of the array ──> Device
//
// What belongs here: which side is newer, and when bytes move. What does not: the moving
// itself (array, device), and whether it is worth it (package route).
package unified
