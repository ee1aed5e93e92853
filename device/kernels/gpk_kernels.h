/* The interface between gpk and a library of your own kernels (docs/kernels.md).
 *
 * A library is a shared object with C entries:
 *
 *   int ENTRY(int device, uint64_t stream, void* args, int64_t bytes);
 *
 * args is the struct that the Go program passes, and bytes is its size. It consists of
 * numbers of fixed size; device addresses are uint64_t. The entry compares bytes with the
 * size of its own struct, selects the device, and enqueues kernels on the stream (a
 * CUstream, which is a cudaStream_t too). It returns 0, a cudaError_t, or a code of its own
 * above 10000, and does not wait for the kernels. Several threads may call an entry at
 * once. The device uses its primary context, as the CUDA runtime does.
 *
 * GPK_KERNEL_LIBRARY(message), written once in a source, defines two functions that every
 * library must have: one returns the interface version, the other the text of a code. message is a function
 * const char* (int), or cudaGetErrorString through a cast.
 */
#ifndef GPK_KERNELS_H
#define GPK_KERNELS_H

#include <stdint.h>

#define GPK_KERNELS_ABI 1

#ifdef __cplusplus
#define GPK_KERNEL_ENTRY extern "C" __attribute__((visibility("default")))
#else
#define GPK_KERNEL_ENTRY __attribute__((visibility("default")))
#endif

#define GPK_KERNEL_LIBRARY(message)                              \
  GPK_KERNEL_ENTRY int gpk_kernels_abi(void) { return GPK_KERNELS_ABI; } \
  GPK_KERNEL_ENTRY const char* gpk_kernels_error_string(int code) { return message(code); }

/* The code for arguments whose size is not that of the entry's struct. */
#define GPK_KERNELS_BAD_ARGUMENT 10002

#endif
