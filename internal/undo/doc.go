// Package undo keeps the elements that writes in place overwrite, and rebuilds earlier
// contents of a memory from them.
//
// A memory has versions, and each write ends one. A Log lists the elements that the writes
// saved. An older version is a copy of the memory with the saved elements put back, the
// newest first.
//
// What belongs here: parts of a memory, saved elements, and rebuilding. What does not: the
// record of who still needs an older version, and locking (package array).
package undo
