<<<<<<< HEAD
// Package undo keeps the elements that writes in place overwrite, and rebuilds earlier
// contents of a memory from them.
//
// A memory has versions, and each write ends one. A Log lists the elements that the writes
// saved. An older version is a copy of the memory with the saved elements put back, the
// newest first.
//
// What belongs here: parts of a memory, saved elements, and rebuilding. What does not: the
// record of who still needs an older version, and locking (package array).
=======
// Package undo saves the elements that writes in place overwrite, and rebuilds older
// versions of a memory from them.
//
// Each write ends a version of the memory. A Log lists the elements that the
// writes saved. To rebuild an older version, the saved elements are restored in a copy of the memory,
// the newest first.
//
// What belongs here: parts of a memory, saved elements, and rebuilding. What does not: which
// older versions still have readers, and locking (package array).
>>>>>>> prose3
package undo
