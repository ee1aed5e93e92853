// Package undo saves the elements that writes in place overwrite, and rebuilds older
// versions of a memory from them.
//
// Each write ends a version of the memory. A Log lists the elements that the
// writes saved. To rebuild an older version, the saved elements are restored in a copy of the memory,
// the newest first.
//
// What belongs here: parts of a memory, saved elements, and rebuilding. What does not: which
// older versions still have readers, and locking (package array).
package undo
