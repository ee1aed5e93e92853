// Package submit hands calls into C to a thread that makes them in order: a kernel launch
// takes the driver some microseconds, and the program can prepare its next operation
// meanwhile.
//
// A Queue is a ring of records in C's memory. A record is the address of a C function and
// the words of its argument. Writing a record takes plain stores and one atomic store, and
// no cgo call. The thread runs while calls follow each other closely, spins for a moment
// after the last one, then sleeps, and ends if nothing comes for a second.
package submit
