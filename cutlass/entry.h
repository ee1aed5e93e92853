// Calls of the kernel library's entry points by address, for the C parts of Go files.

#ifndef GPK_ENTRY_H
#define GPK_ENTRY_H

#include <stdint.h>

// GPK_AT is the function at an address, as the entry point's declaration says. GPK_AS is that at address f.
#define GPK_AT(entry, address) ((__typeof__(&entry))(uintptr_t)(address))
#define GPK_AS(entry) GPK_AT(entry, f)

// GPK_QUEUED_AT defines gpk_queued_NAME_at, which returns the address of gpk_queued_NAME: cgo takes none of
// a static function.
#define GPK_QUEUED_AT(name) \
	static uintptr_t gpk_queued_##name##_at(void) { return (uintptr_t)gpk_queued_##name; }

// GPK_QUEUED defines gpk_queued_NAME: entry point gpk_NAME with a queue's calling convention, the function and
// then its structure. It defines gpk_queued_NAME_at too.
#define GPK_QUEUED(name) \
	_Static_assert(sizeof(gpk_##name##_args) <= 59 * 8, "the structure fits a record of the queue, whose first of 60 words is the function"); \
	static int gpk_queued_##name(const uint64_t* a) { return GPK_AT(gpk_##name, a[0])((const gpk_##name##_args*)(a + 1)); } \
	GPK_QUEUED_AT(name)

#endif
