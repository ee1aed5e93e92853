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
// # Code compiled at run time
//
// Device.Compile turns CUDA C++ into a Function with NVRTC, which is bound with
// dlopen as the driver is, from stated places alone. CompileLater does so in the
// background. Cubins are kept in the folder kernels of gpk's cache, by source,
// options, architecture, compiler and driver; what is damaged there is compiled
// again.
//
// # Memory
//
// Memory comes from a pool that is ordered by streams: what is freed on a
// stream serves the next request of that stream at once, though the GPU may
// still be using it. Buffer.Free is the fast way back; a Buffer that is dropped
// comes back after a garbage collection, which the pool itself asks for.
package device
