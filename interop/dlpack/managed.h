// The structs of DLPack's C ABI, as dlpack.h 1.0 lays them out. Go has the same in
// tensor.go.
#ifndef GPK_DLPACK_MANAGED_H
#define GPK_DLPACK_MANAGED_H

#include <stdint.h>

struct tensor {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

struct managed {
  struct tensor tensor;
  void *context;
  void (*deleter)(struct managed *);
};

struct versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct versioned *);
  uint64_t flags;
  struct tensor tensor;
};

// Each returns a struct of zeros with a deleter that releases the handle in context, and
// with room for shape and strides of ndim axes. It is freed by free().
struct managed *gpk_dlpack_managed(int ndim);
struct versioned *gpk_dlpack_versioned(int ndim);

// Calls a deleter with the struct that it belongs to.
void gpk_dlpack_delete(void *deleter, void *tensor);

#endif
