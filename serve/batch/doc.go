// Package batch turns many small calls into few large ones: callers pass one item
// each, and a function computes the items of a batch together, in one launch on a GPU.
//
//	b := batch.New(embed, batch.Options{MaxItems: 100, Linger: 10 * time.Millisecond})
//	defer b.Close(ctx)
//	vector, err := b.Do(ctx, text) // from any number of goroutines
//
// A batch starts when MaxItems items wait, or when its first item has waited for Linger.
// One batch runs at a time; items that arrive meanwhile form the next one. So batches grow
// with the load, and a Linger of 0 adds no latency. SizeFor returns how many items fit into
// the free memory of a device.
//
// MatMuls computes many matrix products as few batched ones.
//
// What belongs here: forming batches, on the host. What does not: a queue with
// priorities, or state on a device (package worker).
package batch
