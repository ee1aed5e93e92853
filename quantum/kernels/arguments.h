/* arguments.h: the arguments of the entry points of libgpk_quantum.so, which have the interface of gpk_kernels.h:
 *
 *   int ENTRY(int device, uint64_t stream, void* args, int64_t bytes);
 *
 * The structures of package quantum in arguments_cuda.go have the same fields in the same order. Addresses are device
 * addresses. Pitches and strides count elements. Types have the numbers of package dtype; flags are 0 or 1. circuit.cuh
 * and amplitudes.cuh describe the codes of circuits, all of int32 words. */
#ifndef GPK_QUANTUM_ARGUMENTS_H
#define GPK_QUANTUM_ARGUMENTS_H
#include <stdint.h>

/* quantum_angles: the angles of the samples first ... first + n - 1, as float64 [n, angles] at out. x: element (i, j) of
 * all samples is at x + i row + j col, of type float32 or float64. status: two uint64. The first becomes the minimum of
 * its value and the least index i features + j of an element of x that is not finite, the second likewise for the index i
 * angles + a of an angle. If features is 0, x is not checked. If angles is 0, no angles are computed. */
typedef struct {
  int64_t first, n, features;
  uint64_t x;
  int64_t row, col;
  uint64_t code, coefs, out, status;
  int32_t x_type, angles;
} quantum_angles_args;

/* quantum_slots: the values of every sample's slots, of type float32 or float64: value v of a sample is stored at out +
 * sample sample_stride + v value_stride. code begins with the offset of each slot. fixed: the constant matrices. */
typedef struct {
  int64_t n;
  uint64_t code, fixed, angles, out;
  int64_t sample_stride, value_stride;
  int32_t type, slots, n_angles;
} quantum_slots_args;

/* quantum_pass: one pass of a program over the states [n, 2^qubits] of float32 or float64 for a real program, otherwise of
 * complex64 or complex128. A block has 2^local amplitudes of `samples` samples (1 if local < qubits). position: the
 * position of each local bit, then of the others. */
enum { QUANTUM_MAX_POSITIONS = 64 };
typedef struct {
  int64_t n;
  uint64_t state, code, slots;
  int64_t slot_stride;
  uint64_t angles, tables;
  int32_t type, qubits, local, samples, n_angles;
  uint8_t position[QUANTUM_MAX_POSITIONS];
} quantum_pass_args;

/* quantum_norms: out[i] = (sum of the squares of row i of state, [n, width] of float32 or float64)^2, multiplied by the
 * previous value of out, float64, unless first. */
typedef struct {
  int64_t n, width;
  uint64_t state, out;
  int32_t type, first;
} quantum_norms_args;

/* The coordinates of the states of single wires. Line c of x, ld_x apart, has coordinate c of every row of K, line c of y
 * that of every column. `planar` wires of two coordinates come first, then `full` wires of three. */
typedef struct {
  int64_t rows, cols;
  uint64_t x;
  int64_t ld_x;
  uint64_t y;
  int64_t ld_y;
  int32_t planar, full;
} quantum_points;

/* quantum_closed_form: k[i][j] = product over wires of 1/2 + r.s (dot) or 1 - |r - s|^2, with r and s the points of row i
 * and column j. upper: only tiles on and above the diagonal. times: multiplies the previous values of k. */
typedef struct {
  quantum_points points;
  uint64_t k;
  int64_t ld;
  int32_t type, dot, upper, times;
} quantum_closed_form_args;

/* quantum_epilogue: the epilogue of a Gram product, in one pass over k [rows, cols]: entries are squared (square), divided
 * by the square roots of norm_x[i] + jitter and norm_y[j] + jitter (0: not), added up, and stored transposed to mirror (0:
 * not). triangle: k is square and on the diagonal of K; only the part above the diagonal is used, mirror is k or 0, and the
 * diagonal is compared with 1 and set to `one`. total: float64 sum, sum of squares and largest |diagonal - 1|, which are
 * updated. workspace: 24 bytes for each 64 x 64 of rows x cols. */
typedef struct {
  int64_t rows, cols;
  uint64_t k;
  int64_t ld;
  uint64_t mirror;
  int64_t ld_mirror;
  double one;
  uint64_t norm_x, norm_y;
  double jitter;
  uint64_t total, workspace;
  int64_t workspace_bytes;
  int32_t type, triangle, square;
} quantum_epilogue_args;

/* quantum_closed_gram: quantum_closed_form and quantum_epilogue of a float32 tile of K in one kernel, with its mirror and
 * sums. workspace: 48 bytes for each 128 x 128 of rows x cols. With dot it is aligned to 128 bytes, and also has 128 bytes
 * per row and per column, both rounded up to multiples of 128, for each group of eight planar and of four full wires,
 * partial groups included. Without dot the lines of x and y are aligned to 16 bytes. */
typedef struct {
  quantum_points points;
  uint64_t k;
  int64_t ld;
  uint64_t mirror;
  int64_t ld_mirror;
  double one;
  uint64_t total, workspace;
  int64_t workspace_bytes;
  int32_t dot, triangle;
} quantum_closed_gram_args;

/* A circuit's code as the parameter of a kernel: the codes of angles and slots, coefficients and constant matrices begin at
 * the given offsets of bytes. */
enum { QUANTUM_MAX_CODE = 3584 };
typedef struct {
  int32_t coefs, fixed, angles, slots;
  uint8_t bytes[QUANTUM_MAX_CODE] __attribute__((aligned(8)));
} quantum_code;

/* quantum_sample_gram: the symmetric n x n matrix K of few wires that the circuit does not entangle, from the samples:
 * quantum_angles, quantum_slots and quantum_closed_gram at once. The slots are the points of planar wires, then of full
 * wires. notes: `found` words that become all ones, which means that nothing was found, then zeros up to `words`, the last
 * three of which are the sums. If an element of x is not finite, the third sum is NaN. GPK_ERR_UNSUPPORTED, with nothing
 * started, if the kernels do not support these arguments. */
typedef struct {
  int64_t n, features;
  uint64_t x;
  int64_t row, col;
  uint64_t k;
  int64_t ld;
  double one;
  uint64_t notes, workspace;
  int64_t workspace_bytes;
  int32_t x_type, planar, full, found, words, reserved;
  quantum_code code;
} quantum_sample_gram_args;

/* quantum_gram: k = |<x|y>|^2, float32, of the dense states x [rows, width] and y [cols, width], complex64 or real float32,
 * of norm 1, with its mirror, norms and sums as in quantum_epilogue. split: with the accuracy of float32, otherwise of
 * float16. factor: K is the product of several such matrices, whose errors add up; this one is more accurate, and keeps its
 * diagonal. triangle: y is x. total 0: no sums. The workspace is aligned to 128 bytes.
 *
 * quantum_gram_workspace, a query, sets workspace_bytes; 0: the device or the library has no kernel for Hopper. */
typedef struct {
  int64_t rows, cols, width;
  uint64_t x, y, k;
  int64_t ld;
  uint64_t mirror;
  int64_t ld_mirror;
  double one;
  uint64_t norm_x, norm_y;
  double jitter;
  uint64_t total, workspace;
  int64_t workspace_bytes;
  int32_t real, split, factor, triangle;
} quantum_gram_args;

#endif
