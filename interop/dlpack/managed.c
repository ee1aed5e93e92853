//go:build cgo && (amd64 || arm64)

#include "managed.h"

#include <stdlib.h>

#include "_cgo_export.h"

static void release_managed(struct managed *m) {
  gpkDLPackRelease((uintptr_t)m->context);
  free(m);
}

static void release_versioned(struct versioned *m) {
  gpkDLPackRelease((uintptr_t)m->context);
  free(m);
}

// Returns size bytes of zeros, followed by shape and strides. Like Go, it ends the process
// where there is no memory.
static void *alloc(size_t size, int ndim, int64_t **axes) {
  char *p = calloc(1, size + 2 * sizeof(int64_t) * (ndim + 1));
  if (p == NULL) abort();
  *axes = (int64_t *)(p + size);
  return p;
}

struct managed *gpk_dlpack_managed(int ndim) {
  int64_t *axes;
  struct managed *m = alloc(sizeof *m, ndim, &axes);
  m->tensor.shape = axes;
  m->tensor.strides = axes + ndim;
  m->deleter = release_managed;
  return m;
}

struct versioned *gpk_dlpack_versioned(int ndim) {
  int64_t *axes;
  struct versioned *m = alloc(sizeof *m, ndim, &axes);
  m->tensor.shape = axes;
  m->tensor.strides = axes + ndim;
  m->deleter = release_versioned;
  return m;
}

void gpk_dlpack_delete(void *deleter, void *tensor) {
  ((void (*)(void *))deleter)(tensor);
}
