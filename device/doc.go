// Package device has devices and their capabilities, memory and its pool, streams, events
// and graphs, and the one place that launches work.
//
// What belongs here: finding devices, allocating, copying between host and
// device, ordering work between streams. What does not: element types and
// shapes (dtype, layout), what an operation means (ops, matmul), and CUDA C++
// (cutlass). The CUDA driver is opened with dlopen when a GPU is first requested.
// Nothing runs at import, and a program without a driver lacks only
// the GPU.
//
// GPK_DEVICE names the default device, GPK_MEMORY_LIMIT bounds the pool of each
// device, GPK_LIB is the path of the kernel library and GPK_NVRTC that of the compiler
// of CUDA C++. Explain reports their effect.
//
// # Ordering
//
// Work on one stream runs in the order in which it was enqueued. To order streams, a
// Buffer records its last write and the last read of each stream. Launch
// makes a reader wait for the write, and a writer and the pool wait for the write and the
// reads. Callers of Launch, Copy and the transfers need no further synchronization. One mutex
// per device guards this state and is never held while waiting.
//
// Launches in a row go through a launch queue, whose thread makes the driver's
// calls (package internal/submit). An operation then costs its caller the larger of
// gpk's and the driver's time, not their sum. All other ordered work waits
// until the queue is empty. GPK_SUBMIT=direct, or fewer than four processors, turns
// the queue off. A stream whose Handle was called bypasses it.
//
// # Observers
//
// An Observer (package internal/observe), such as package profile, is notified of each piece of work
// and its time, of buffers and of graphs. GPU work is then bracketed by two events, which are
// read later without waiting, and bypasses the launch queue. Without an Observer the hook costs a launch
// one load.
//
// # Code compiled at run time
//
// Device.Compile compiles CUDA C++ to a Function with NVRTC, which is opened with
// dlopen like the driver, from a fixed list of places. compileLater compiles in the
// background. Cubins are cached in the folder kernels of gpk's cache, by source,
// options, architecture, compiler and driver; a damaged file is compiled
// again.
//
// # Memory
//
// Memory comes from a stream-ordered pool: a block that is freed on a
// stream serves the next request of that stream at once, even while the GPU still
// uses it. The block that was freed last is reused first. Buffer.Free returns memory
// immediately.
//
// The memory of a Buffer that is dropped returns to the pool after a garbage collection. Go's collector does
// not see the pool's memory, so the pool requests collections. It does so in the background, when the
// bytes allocated and not freed since the last collection exceed both the bytes that were alive after it
// and 64 MiB (on a GPU, 1/64 of its memory). A request for new memory waits for
// the collection once half as much again was allocated. Collections take at most a tenth of
// the time: where the program's own heap makes them slow, they are rarer, and
// dropped Buffers take more memory, up to the limit. A request that finds no room always collects first,
// whatever the time. So the bound on time holds only where the room below the limit is at least ten times
// what the program would allocate and drop in the time of one collection.
//
// The limit is GPK_MEMORY_LIMIT or that of SetMemoryLimit. The default is a GPU's whole memory, and on
// the CPU seven eighths of the machine's or the container's memory.
// The CPU's blocks from 256 KiB on come from the system and not from Go's heap, so
// GOMEMLIMIT and GOGC do not count them. Call Buffer.Expose before passing a pointer into one to code
// that does not keep the Buffer reachable.
package device
