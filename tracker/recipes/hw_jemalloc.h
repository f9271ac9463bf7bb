/* jemalloc (jemalloc/jemalloc, 5.x): the extents of an arena, through its hooks. Shows what an arena
 * holds of the system's memory, and who made it grow; for single blocks wrap mallocx and dallocx as
 * hw_rpmalloc.h does.
 *
 *     hw_tracker_open(&textures, "Texture arena");
 *     static HwArena followed;
 *     hw_jemalloc_follow(&followed, &textures, arena);    // before its first allocation */
#ifndef HW_RECIPE_JEMALLOC_H
#define HW_RECIPE_JEMALLOC_H

#include "../highwater.h"

#include <jemalloc/jemalloc.h>
#include <stdbool.h>
#include <stdio.h>

/* jemalloc uses the structure as long as the arena lives: so must this. */
typedef struct HwArena {
    extent_hooks_t hooks; /* first: what jemalloc hands to the hooks */
    extent_hooks_t *inner;
    HwTracker *tracker;
} HwArena;

static inline void *hw_extent_alloc(extent_hooks_t *hooks, void *at, size_t size, size_t alignment, bool *zero,
                                    bool *commit, unsigned arena) {
    HwArena *self = (HwArena *)hooks;
    void *extent = self->inner->alloc(self->inner, at, size, alignment, zero, commit, arena);
    hw_tracker_alloc(self->tracker, extent, size);
    return extent;
}

/* True is jemalloc's word for "I keep it". */
static inline bool hw_extent_dalloc(extent_hooks_t *hooks, void *extent, size_t size, bool committed, unsigned arena) {
    HwArena *self = (HwArena *)hooks;
    bool is_kept = true;
    hw_tracker_free(self->tracker, extent);
    if (self->inner->dalloc) is_kept = self->inner->dalloc(self->inner, extent, size, committed, arena);
    if (is_kept) hw_tracker_alloc(self->tracker, extent, size);
    return is_kept;
}

static inline void hw_extent_destroy(extent_hooks_t *hooks, void *extent, size_t size, bool committed, unsigned arena) {
    HwArena *self = (HwArena *)hooks;
    hw_tracker_free(self->tracker, extent);
    if (self->inner->destroy) self->inner->destroy(self->inner, extent, size, committed, arena);
}

static inline bool hw_extent_split(extent_hooks_t *hooks, void *extent, size_t size, size_t first, size_t second,
                                   bool committed, unsigned arena) {
    HwArena *self = (HwArena *)hooks;
    if (!self->inner->split || self->inner->split(self->inner, extent, size, first, second, committed, arena)) return true;
    hw_tracker_free(self->tracker, extent);
    hw_tracker_alloc(self->tracker, extent, first);
    hw_tracker_alloc(self->tracker, (char *)extent + first, second);
    return false;
}

static inline bool hw_extent_merge(extent_hooks_t *hooks, void *a, size_t size_a, void *b, size_t size_b, bool committed,
                                   unsigned arena) {
    HwArena *self = (HwArena *)hooks;
    if (!self->inner->merge || self->inner->merge(self->inner, a, size_a, b, size_b, committed, arena)) return true;
    hw_tracker_free(self->tracker, a);
    hw_tracker_free(self->tracker, b);
    hw_tracker_alloc(self->tracker, a, size_a + size_b);
    return false;
}

/* The other hooks change nothing that an extent is; they get the inner structure all the same. */
static inline bool hw_extent_commit(extent_hooks_t *hooks, void *extent, size_t size, size_t from, size_t length,
                                    unsigned arena) {
    extent_hooks_t *inner = ((HwArena *)hooks)->inner;
    return inner->commit ? inner->commit(inner, extent, size, from, length, arena) : true;
}

static inline bool hw_extent_decommit(extent_hooks_t *hooks, void *extent, size_t size, size_t from, size_t length,
                                      unsigned arena) {
    extent_hooks_t *inner = ((HwArena *)hooks)->inner;
    return inner->decommit ? inner->decommit(inner, extent, size, from, length, arena) : true;
}

static inline bool hw_extent_purge_lazy(extent_hooks_t *hooks, void *extent, size_t size, size_t from, size_t length,
                                        unsigned arena) {
    extent_hooks_t *inner = ((HwArena *)hooks)->inner;
    return inner->purge_lazy ? inner->purge_lazy(inner, extent, size, from, length, arena) : true;
}

static inline bool hw_extent_purge_forced(extent_hooks_t *hooks, void *extent, size_t size, size_t from, size_t length,
                                          unsigned arena) {
    extent_hooks_t *inner = ((HwArena *)hooks)->inner;
    return inner->purge_forced ? inner->purge_forced(inner, extent, size, from, length, arena) : true;
}

/* Puts the hooks in front of those that the arena has; false if jemalloc refuses. */
static inline bool hw_jemalloc_follow(HwArena *self, HwTracker *tracker, unsigned arena) {
    char name[48];
    extent_hooks_t *ours = &self->hooks;
    size_t size = sizeof self->inner;
    snprintf(name, sizeof name, "arena.%u.extent_hooks", arena);
    if (mallctl(name, &self->inner, &size, NULL, 0) != 0) return false;
    self->tracker = tracker;
    self->hooks.alloc = hw_extent_alloc;
    self->hooks.dalloc = hw_extent_dalloc;
    self->hooks.destroy = hw_extent_destroy;
    self->hooks.commit = hw_extent_commit;
    self->hooks.decommit = hw_extent_decommit;
    self->hooks.purge_lazy = hw_extent_purge_lazy;
    self->hooks.purge_forced = hw_extent_purge_forced;
    self->hooks.split = hw_extent_split;
    self->hooks.merge = hw_extent_merge;
    return mallctl(name, NULL, NULL, &ours, sizeof ours) == 0;
}

#endif
