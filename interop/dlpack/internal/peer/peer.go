//go:build cgo && (amd64 || arm64)

// Package peer is another DLPack library for tests of package dlpack: it makes and reads
// tensors in C, with separate declarations.
//
// What belongs here: the operations on a tensor of a library that does not know gpk. What
// does not: code that imports gpk.
package peer

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// These declarations follow the text of DLPack's specification, not the declarations of
// package dlpack.
typedef struct { int32_t type; int32_t id; } Device;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } Type;
typedef struct {
  void *data; Device device; int32_t ndim; Type dtype; int64_t *shape; int64_t *strides; uint64_t byte_offset;
} Tensor;
typedef struct Managed { Tensor t; void *ctx; void (*deleter)(struct Managed *); } Managed;
typedef struct Versioned {
  uint32_t major, minor; void *ctx; void (*deleter)(struct Versioned *); uint64_t flags; Tensor t;
} Versioned;

static int deleted;
static int deletions(void) { return __atomic_load_n(&deleted, __ATOMIC_SEQ_CST); }
static void del_managed(Managed *m) {
  free(m->ctx); free(m->t.shape); free(m->t.strides); free(m);
  __atomic_add_fetch(&deleted, 1, __ATOMIC_SEQ_CST);
}
static void del_versioned(Versioned *m) {
  free(m->ctx); free(m->t.shape); free(m->t.strides); free(m);
  __atomic_add_fetch(&deleted, 1, __ATOMIC_SEQ_CST);
}

static int64_t *copy64(const int64_t *p, int n) {
  int64_t *q = malloc(8 * (n + 1));
  if (n > 0) memcpy(q, p, 8 * n);
  return q;
}

static void *make(int versioned, uint32_t major, uint64_t flags, int device, Type dtype, int ndim,
                  const int64_t *shape, const int64_t *strides, const void *bytes, size_t n, size_t origin, uint64_t offset) {
  Tensor t = {0};
  char *memory = malloc(n + 1);
  if (n > 0) memcpy(memory, bytes, n);
  t.data = memory + origin - offset;
  t.device.type = device; t.ndim = ndim; t.dtype = dtype; t.byte_offset = offset;
  t.shape = copy64(shape, ndim);
  if (strides != NULL) t.strides = copy64(strides, ndim);
  if (versioned) {
    Versioned *m = calloc(1, sizeof *m);
    m->major = major; m->flags = flags; m->t = t; m->ctx = memory; m->deleter = del_versioned;
    return m;
  }
  Managed *m = calloc(1, sizeof *m);
  m->t = t; m->ctx = memory; m->deleter = del_managed;
  return m;
}

static Tensor *tensor_of(void *p, int versioned) { return versioned ? &((Versioned *)p)->t : &((Managed *)p)->t; }
static int64_t axis(const int64_t *p, int i) { return p[i]; }
static void *element(Tensor *t, const int64_t *index) {
  char *p = (char *)t->data + t->byte_offset;
  for (int i = 0; i < t->ndim; i++) p += index[i] * t->strides[i] * (t->dtype.bits / 8);
  return p;
}
static void call_deleter(void *p, int versioned) {
  if (versioned) ((Versioned *)p)->deleter((Versioned *)p); else ((Managed *)p)->deleter((Managed *)p);
}
static uint64_t flags_of(void *p) { return ((Versioned *)p)->flags; }
static uint32_t major_of(void *p) { return ((Versioned *)p)->major; }
*/
import "C"

import "unsafe"

// Tensor is a tensor on the CPU for Make. Bytes is its memory. The element of index 0 is
// at byte Origin. The struct's byte offset is Offset, so its data pointer is Offset bytes
// before that element.
type Tensor struct {
	Versioned      bool
	Major          uint32
	Flags          uint64
	Device         int
	Code, Bits     uint8
	Lanes          uint16
	Shape, Strides []int64 // Strides nil: a NULL pointer
	Bytes          []byte
	Origin         int
	Offset         uint64
}

// Make returns a struct whose deleter frees it and counts the call.
func Make(t Tensor) unsafe.Pointer {
	versioned := C.int(0)
	if t.Versioned {
		versioned = 1
	}
	dt := C.Type{code: C.uint8_t(t.Code), bits: C.uint8_t(t.Bits), lanes: C.uint16_t(t.Lanes)}
	return C.make(versioned, C.uint32_t(t.Major), C.uint64_t(t.Flags), C.int(t.Device), dt, C.int(len(t.Shape)),
		(*C.int64_t)(unsafe.SliceData(t.Shape)), (*C.int64_t)(unsafe.SliceData(t.Strides)),
		unsafe.Pointer(unsafe.SliceData(t.Bytes)), C.size_t(len(t.Bytes)), C.size_t(t.Origin), C.uint64_t(t.Offset))
}

// Deletions returns the number of structs of Make that were deleted.
func Deletions() int { return int(C.deletions()) }

// Received is a struct made by another library.
type Received struct {
	Pointer   unsafe.Pointer
	Versioned bool
}

func (r Received) versioned() C.int {
	if r.Versioned {
		return 1
	}
	return 0
}

func (r Received) tensor() *C.Tensor { return C.tensor_of(r.Pointer, r.versioned()) }

// Describe returns everything but the memory.
func (r Received) Describe() Tensor {
	t := r.tensor()
	out := Tensor{Versioned: r.Versioned, Device: int(t.device._type), Code: uint8(t.dtype.code), Bits: uint8(t.dtype.bits), Lanes: uint16(t.dtype.lanes), Offset: uint64(t.byte_offset)}
	for i := range t.ndim {
		out.Shape = append(out.Shape, int64(C.axis(t.shape, C.int(i))))
		out.Strides = append(out.Strides, int64(C.axis(t.strides, C.int(i))))
	}
	if r.Versioned {
		out.Major, out.Flags = uint32(C.major_of(r.Pointer)), uint64(C.flags_of(r.Pointer))
	}
	return out
}

// Element returns the bytes of the element at an index, in the tensor's memory.
func (r Received) Element(index ...int64) []byte {
	t := r.tensor()
	return unsafe.Slice((*byte)(C.element(t, (*C.int64_t)(unsafe.SliceData(index)))), int(t.dtype.bits)/8)
}

// Delete calls the deleter.
func (r Received) Delete() { C.call_deleter(r.Pointer, r.versioned()) }
