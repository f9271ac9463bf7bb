/* mimalloc (microsoft/mimalloc): blocks of one subsystem under a name of their own.
 *
 * For all blocks of a program nothing of this is needed: build mimalloc with MI_TRACK_ETW, and its own
 * events are the tracker "mimalloc". mimalloc has no hook for single blocks (mi_register_* are for
 * deferred frees, messages and errors), so a subsystem calls these instead of mi_malloc and so on. */
#ifndef HW_RECIPE_MIMALLOC_H
#define HW_RECIPE_MIMALLOC_H

#include "../highwater.h"

#include <mimalloc.h>

static inline void *hw_mi_malloc(HwTracker *tracker, size_t size) {
    void *block = mi_malloc(size);
    hw_tracker_alloc(tracker, block, size);
    return block;
}

static inline void *hw_mi_malloc_aligned(HwTracker *tracker, size_t size, size_t alignment) {
    void *block = mi_malloc_aligned(size, alignment);
    hw_tracker_alloc(tracker, block, size);
    return block;
}

static inline void hw_mi_free(HwTracker *tracker, void *block) {
    hw_tracker_free(tracker, block);
    mi_free(block);
}

static inline void *hw_mi_realloc(HwTracker *tracker, void *old, size_t size) {
    size_t old_size = hw_tracker_is_on() ? mi_usable_size(old) : 0;
    void *block;
    hw_tracker_free(tracker, old); /* another thread may get it inside mi_realloc */
    block = mi_realloc(old, size);
    if (block) hw_tracker_alloc(tracker, block, size);
    else hw_tracker_alloc(tracker, old, old_size);
    return block;
}

#endif
