// Package device holds what an operation runs on and with: devices and what
// they can do, memory and its pool, streams, events and graphs, and the one
// place that launches work.
//
// What belongs here: finding devices, allocating, copying between host and
// device, ordering work between streams. What does not: element types and
// shapes (dtype, layout), what an operation means (ops, matmul), and CUDA C++
// (cutlass). The CUDA driver is bound with dlopen when a GPU is first asked
// for; nothing runs at import, and a program without a driver loses nothing
// but the GPU.
//
// GPK_DEVICE names the default device, GPK_MEMORY_LIMIT bounds the pool of each
// device, GPK_LIB says where the kernel library is and GPK_NVRTC the compiler
// of CUDA C++. Explain tells what came of it.
//
// # Ordering
//
// Work runs in the order in which it was put on a stream. Between streams a
// Buffer keeps its last write and the last read of each stream, and Launch
// makes a reader wait for the write, and a writer and the pool wait for all of
// them. Whoever launches through Launch, Copy and the transfers need not think
// of it. One mutex a device guards all this and is never held while waiting.
//
// Launches that come in a row go through a queue, whose thread makes the driver's
// calls (package internal/submit): an operation then costs its caller the larger of
// what gpk and the driver take, not their sum. Everything else that has an order waits
// until the queue is empty. GPK_SUBMIT=direct, or fewer than four processors, turns
// it off. Stream.Handle takes the stream out of it.
//
// # Observers
//
// An Observer (package internal/observe) is told of each piece of work and its time, of buffers and
// graphs: package profile is one. Work of a GPU is then bracketed by two events, which are
// read later without waiting, and does not go through the queue. Without an Observer a launch
// costs one load more.
//
// # Code compiled at run time
//
// Device.Compile turns CUDA C++ into a Function with NVRTC, which is bound with
// dlopen as the driver is, from stated places alone. compileLater does so in the
// background. Cubins are kept in the folder kernels of gpk's cache, by source,
// options, architecture, compiler and driver; what is damaged there is compiled
// again.
//
// # Memory
//
// Memory comes from a pool that is ordered by streams: what is freed on a
// stream serves the next request of that stream at once, though the GPU may
// still be using it. The block that came back last is reused first. Buffer.Free is
// the fast way back.
//
// A Buffer that is dropped comes back after a garbage collection. Go's collector does
// not see the pool's memory, so the pool asks for collections: in the background, when
// more bytes were allocated since the last one, and not freed, than it left alive, and
// more than 64 MiB (on a GPU, 1/64 of its memory). A request for new memory waits for
// the collection once half as much again was allocated. Collections take a tenth of
// the time at most: where the program's own heap makes them slow, they are rarer, and
// dropped Buffers take more memory. The rule ends where less than an eighth of the
// limit is left, and a request that finds no room always collects first.
//
// The limit is GPK_MEMORY_LIMIT or SetMemoryLimit's, else a GPU's whole memory, and on
// the CPU seven eighths of the machine's memory or of what its container may have.
// The CPU's blocks from 256 KiB on come from the system and not from Go's heap, so
// that GOMEMLIMIT and GOGC do not count them. Who gives a pointer into one to code
// that does not keep the Buffer calls Buffer.Expose first.
package device
