/* Stand-in for rpmalloc's header (README.md). */
#pragma once
#include <stdlib.h>
static inline void *rpmalloc(size_t size) { return malloc(size); }
static inline void *rpaligned_alloc(size_t alignment, size_t size) { return (void)alignment, malloc(size); }
static inline void *rprealloc(void *p, size_t size) { return realloc(p, size); }
static inline void rpfree(void *p) { free(p); }
static inline size_t rpmalloc_usable_size(void *p) { return p ? 1 : 0; }
