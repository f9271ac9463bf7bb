/* Stand-in for mimalloc's header (README.md). */
#pragma once
#include <stdlib.h>
static inline void *mi_malloc(size_t size) { return malloc(size); }
static inline void *mi_malloc_aligned(size_t size, size_t alignment) { return (void)alignment, malloc(size); }
static inline void *mi_realloc(void *p, size_t size) { return realloc(p, size); }
static inline void mi_free(void *p) { free(p); }
static inline size_t mi_usable_size(const void *p) { return p ? 1 : 0; }
