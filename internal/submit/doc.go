// Package submit is the launch queue: a thread makes calls into C in order. A kernel launch
// takes the driver some microseconds, in which the program can prepare its next operation.
//
// A Queue is a ring of records in C's memory. A record is the address of a C function and
// the words of its argument. Writing a record takes plain stores and one atomic store, and
// no cgo call. The thread runs while calls follow each other closely, spins for a moment
// after the last one, then sleeps, and ends after a second without a call.
package submit
