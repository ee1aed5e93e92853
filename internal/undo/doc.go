// Package undo keeps the elements that writes in place overwrite, and rebuilds from them
// what a memory held before.
//
// A memory has versions, and each write ends one. A Log lists the elements that the
// writes saved. Older elements are a copy of the memory with the saved elements put back,
// the newest first.
//
// What belongs here: parts of a memory, saved elements, and rebuilding. What does not: who
// still needs an older version, and locking (package array).
package undo
