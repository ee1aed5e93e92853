// A companion library for tests, with one entry.
#include <stdint.h>

#define ENTRY __attribute__((visibility("default")))
#ifndef COMPANION_ABI
#define COMPANION_ABI 1
#endif

ENTRY int gpk_kernels_abi(void) { return COMPANION_ABI; }
ENTRY const char* gpk_kernels_error_string(int code) { return "as the companion says"; }
ENTRY int fake_twice(int device, uint64_t stream, void* args, int64_t bytes) {
  if (bytes != 8) return 10077;
  *(int64_t*)args *= 2;
  return 0;
}
