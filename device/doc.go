// Package device has the resources of an operation: devices and their capabilities, memory
// and its pool, streams, events and graphs, and the single entry point for launches.
//
// This package finds devices, allocates, copies between host and device, and orders work
// between streams. It does not contain element types and shapes (dtype, layout), the
// meaning of operations (ops, matmul), or CUDA C++ (cutlass). The CUDA driver is bound with
// dlopen when a GPU is first requested. Nothing runs at import, and without a driver a
// program lacks only the GPU.
//
// GPK_DEVICE names the default device, GPK_MEMORY_LIMIT bounds the pool of each device,
// GPK_LIB is the path of the kernel library, and GPK_NVRTC that of the compiler of CUDA
// C++. Explain reports the result.
//
// # Ordering
//
// Work runs in the order in which it was put on a stream. For ordering between streams a
// Buffer records its last write and the last read of each stream. Launch makes a reader
// wait for the write, and a writer and the pool wait for all of them. Callers of Launch,
// Copy and the transfers need no further synchronization. One mutex per device guards all
// this, and is never held while waiting.
//
// Launches that follow each other closely go through a queue, whose thread makes the
// driver's calls (package internal/submit). An operation then costs its caller the larger of
// gpk's time and the driver's, not their sum. All other ordered calls wait until the queue
// is empty. GPK_SUBMIT=direct, or fewer than four processors, disables the queue.
// Stream.Handle excludes the stream from it.
//
// # Observers
//
// An Observer (package internal/observe) is notified of each piece of work and its time, of
// buffers and of graphs; package profile is one. GPU work is then bracketed by two events,
// which are read later without waiting, and bypasses the queue. Without an Observer a
// launch costs one additional load.
//
// # Code compiled at run time
//
// Device.Compile compiles CUDA C++ to a Function with NVRTC, which is bound with dlopen
// like the driver, from fixed places only. compileLater compiles in the background. Cubins
// are stored in the folder kernels of gpk's cache, by source, options, architecture,
// compiler and driver. A damaged file is compiled again.
//
// # Memory
//
// Memory comes from a stream-ordered pool: memory that is freed on a stream can serve the
// next request of that stream at once, even if the GPU is still using it. The most recently
// freed block is reused first. Buffer.Free is the fastest way to return memory.
//
// A Buffer that becomes unreachable is freed after a garbage collection. Go's collector
// does not see the pool's memory, so the pool requests collections. It requests one in the
// background when the bytes that were allocated since the last one and not freed exceed the
// bytes that survived it, and exceed 64 MiB (on a GPU, 1/64 of its memory). At one and a
// half times that threshold a request for new memory waits for the collection. Collections
// take at most a tenth of the time: if the program's own heap makes them slow, they are
// rarer, and unreachable Buffers hold more memory. This rule is suspended when less than an
// eighth of the limit is left, and a request that finds no room always collects first.
//
// The limit is GPK_MEMORY_LIMIT or that of SetMemoryLimit. The default is a GPU's whole
// memory, and on the CPU seven eighths of the machine's memory or of its container's limit.
// The CPU's blocks of at least 256 KiB come from the system and not from Go's heap, so that
// GOMEMLIMIT and GOGC do not count them. Before a pointer into a block is given to code
// that does not keep the Buffer alive, call Buffer.Expose.
package device
