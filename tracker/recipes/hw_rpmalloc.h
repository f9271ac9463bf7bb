/* rpmalloc (mjansson/rpmalloc): the program calls these instead of rpmalloc, rpfree and so on. */
#ifndef HW_RECIPE_RPMALLOC_H
#define HW_RECIPE_RPMALLOC_H

#include "../highwater.h"

#include <rpmalloc.h>

static inline void *hw_rpmalloc(HwTracker *tracker, size_t size) {
    void *block = rpmalloc(size);
    hw_tracker_alloc(tracker, block, size);
    return block;
}

static inline void *hw_rpaligned_alloc(HwTracker *tracker, size_t alignment, size_t size) {
    void *block = rpaligned_alloc(alignment, size);
    hw_tracker_alloc(tracker, block, size);
    return block;
}

static inline void hw_rpfree(HwTracker *tracker, void *block) {
    hw_tracker_free(tracker, block);
    rpfree(block);
}

static inline void *hw_rprealloc(HwTracker *tracker, void *old, size_t size) {
    size_t old_size = hw_tracker_is_on() ? rpmalloc_usable_size(old) : 0;
    void *block;
    hw_tracker_free(tracker, old); /* another thread may get it inside rprealloc */
    block = rprealloc(old, size);
    if (block) hw_tracker_alloc(tracker, block, size);
    else hw_tracker_alloc(tracker, old, old_size);
    return block;
}

#endif
