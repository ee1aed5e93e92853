// Package worker runs a function on messages, one at a time, on a goroutine that owns a
// stream of a device and, where wanted, state on that device: running statistics, a KV
// cache, a model.
//
//	w := worker.New("mean", handle, worker.Options{Queue: 256})
//	err := w.Launch(ctx)             // a goroutine and a stream; messages wait
//	err = w.Activate(ctx)            // Options.Setup makes the state; messages are handled
//	mean, err := w.Ask(ctx, reading) // an answer
//	err = w.Send(ctx, reading, worker.High)
//	err = w.Drain(ctx)               // handles what waits, frees everything, ends
//
// # States
//
// A Worker that New has made is Created. What is not in this table is a *StateError:
//
//	from         by                                  to
//	Created      Launch                              Idle
//	Created      Terminate                           Terminated
//	Idle         Activate                            Active
//	Idle         Drain, Terminate                    Draining
//	Idle         runtime.Goexit in Setup             Failed
//	Active       Deactivate                          Idle
//	Active       Drain, Terminate                    Draining
//	Active       more panics than Restarts allows    Failed
//	Draining     its end                             Terminated
//	Draining     more panics than Restarts allows    Failed
//	Failed       Terminate                           Terminated
//
// Terminate hurries a Worker that is Draining, and does nothing to one that is Terminated.
// Idle and Active workers accept messages. Idle ones keep them until Activate.
//
// # State on the device
//
// Arrays given to Context.Hold live until Deactivate, Drain, Terminate, a restart or a
// failure. Context.Scope frees at once what a message computes. Context.Cleanup frees
// everything else.
//
// What belongs here: the life of one worker, its queue and its counters. What does not:
// forming batches (package batch), or choosing among workers.
package worker
