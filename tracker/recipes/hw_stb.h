/* stb (nothings/stb): include this in the file that has the implementation, before stb's header.
 *
 *     static HwTracker images;         // opened before the first image is loaded
 *     #define HW_STB_TRACKER &images
 *     #include "recipes/hw_stb.h"
 *     #define STB_IMAGE_IMPLEMENTATION
 *     #include "stb_image.h"
 *
 * Pixels are freed with stbi_image_free, never with free, or their ends are not told. */
#ifndef HW_RECIPE_STB_H
#define HW_RECIPE_STB_H

#include "../highwater.h"

#include <stdlib.h>

static inline void *hw_stb_malloc(HwTracker *tracker, size_t size) {
    void *block = malloc(size);
    hw_tracker_alloc(tracker, block, size);
    return block;
}

static inline void hw_stb_free(HwTracker *tracker, void *block) {
    hw_tracker_free(tracker, block);
    free(block);
}

static inline void *hw_stb_realloc(HwTracker *tracker, void *old, size_t old_size, size_t size) {
    void *block;
    hw_tracker_free(tracker, old); /* another thread may get it inside realloc */
    block = realloc(old, size);
    if (block) hw_tracker_alloc(tracker, block, size);
    else hw_tracker_alloc(tracker, old, old_size);
    return block;
}

/* stb_image.h */
#define STBI_MALLOC(size) hw_stb_malloc(HW_STB_TRACKER, size)
#define STBI_REALLOC_SIZED(old, old_size, size) hw_stb_realloc(HW_STB_TRACKER, old, old_size, size)
#define STBI_FREE(block) hw_stb_free(HW_STB_TRACKER, block)
/* stb_image_write.h */
#define STBIW_MALLOC(size) hw_stb_malloc(HW_STB_TRACKER, size)
#define STBIW_REALLOC_SIZED(old, old_size, size) hw_stb_realloc(HW_STB_TRACKER, old, old_size, size)
#define STBIW_FREE(block) hw_stb_free(HW_STB_TRACKER, block)
/* stb_truetype.h */
#define STBTT_malloc(size, user) ((void)(user), hw_stb_malloc(HW_STB_TRACKER, size))
#define STBTT_free(block, user) ((void)(user), hw_stb_free(HW_STB_TRACKER, block))

#endif
