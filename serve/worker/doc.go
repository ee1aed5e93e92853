// Package worker runs a function on messages, one at a time, on a goroutine that owns a stream of a device and,
// optionally, state on that device: running statistics, a KV cache, a model.
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
// New returns a Worker in state Created. A transition that is not in this table is a *StateError:
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
// Terminate shortens Draining: it drops the messages that wait. It does nothing to a Worker that is Terminated.
// Idle and Active workers accept messages. An Idle one keeps them until Activate.
//
// # State on the device
//
// Arrays passed to Context.Hold live until Deactivate, Drain, Terminate, a restart or a failure. Arrays of
// Context.Scope are freed when the handler returns. A function passed to Context.Cleanup frees other resources.
//
// What belongs here: the life cycle of one worker, its queue and its counters. What does not: forming batches
// (package batch), or choosing among workers.
package worker
