// Package submit hands calls into C to a thread that carries them out in
// order: a kernel launch costs the driver some microseconds, which the program
// then spends on its next operation.
//
// A Queue is a ring of records in C's memory. A record is the address of a C
// function and the words it is called with. Writing one is plain stores and one
// atomic one; there is no cgo call on the way. The thread runs while calls come in
// a row, spins for a moment after the last one, sleeps, and ends when nothing comes
// for a second.
package submit
