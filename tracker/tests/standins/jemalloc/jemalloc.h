/* Stand-in for jemalloc's header (../README.md): one arena, whose default hooks take addresses of one range. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
typedef struct extent_hooks_s extent_hooks_t;
typedef void *extent_alloc_t(extent_hooks_t *, void *, size_t, size_t, bool *, bool *, unsigned);
typedef bool extent_dalloc_t(extent_hooks_t *, void *, size_t, bool, unsigned);
typedef void extent_destroy_t(extent_hooks_t *, void *, size_t, bool, unsigned);
typedef bool extent_commit_t(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
typedef bool extent_decommit_t(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
typedef bool extent_purge_t(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned);
typedef bool extent_split_t(extent_hooks_t *, void *, size_t, size_t, size_t, bool, unsigned);
typedef bool extent_merge_t(extent_hooks_t *, void *, size_t, void *, size_t, bool, unsigned);
struct extent_hooks_s {
    extent_alloc_t *alloc;
    extent_dalloc_t *dalloc;
    extent_destroy_t *destroy;
    extent_commit_t *commit;
    extent_decommit_t *decommit;
    extent_purge_t *purge_lazy;
    extent_purge_t *purge_forced;
    extent_split_t *split;
    extent_merge_t *merge;
};
static inline void *standin_alloc(extent_hooks_t *hooks, void *at, size_t size, size_t alignment, bool *zero, bool *commit,
                                  unsigned arena) {
    static char range[1 << 16];
    static size_t used;
    (void)hooks, (void)at, (void)alignment, (void)zero, (void)commit, (void)arena;
    used += size;
    return used <= sizeof range ? range + used - size : NULL;
}
static inline bool standin_dalloc(extent_hooks_t *hooks, void *at, size_t size, bool committed, unsigned arena) {
    (void)hooks, (void)at, (void)committed, (void)arena;
    return size > 4096; /* keeps large ones */
}
static inline bool standin_split(extent_hooks_t *hooks, void *at, size_t size, size_t a, size_t b, bool committed,
                                 unsigned arena) {
    (void)hooks, (void)at, (void)committed, (void)arena;
    return size != a + b;
}
static inline bool standin_merge(extent_hooks_t *hooks, void *a, size_t size_a, void *b, size_t size_b, bool committed,
                                 unsigned arena) {
    (void)hooks, (void)size_b, (void)committed, (void)arena;
    return (char *)a + size_a != (char *)b;
}
static extent_hooks_t standin_default = {standin_alloc, standin_dalloc, NULL, NULL, NULL, NULL, NULL, standin_split, standin_merge};
static extent_hooks_t *standin_hooks = &standin_default;
static inline int mallctl(const char *name, void *old, size_t *old_size, void *value, size_t size) {
    if (strcmp(name, "arena.3.extent_hooks") != 0) return 2;
    if (old) memcpy(old, &standin_hooks, *old_size);
    if (value) memcpy(&standin_hooks, value, size);
    return 0;
}
