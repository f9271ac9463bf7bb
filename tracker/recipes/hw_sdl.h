/* SDL (libsdl-org/SDL), 2.0.7 and later, and 3: everything that SDL allocates.
 *
 *     hw_tracker_open(&sdl, "SDL");
 *     hw_sdl_follow(&sdl);      // before any other function of SDL
 *
 * Needs SDL_GetOriginalMemoryFunctions (SDL 2.24); earlier, hand over malloc, calloc, realloc, free. */
#ifndef HW_RECIPE_SDL_H
#define HW_RECIPE_SDL_H

#include "../highwater.h"

#ifndef HW_SDL_HEADER
#define HW_SDL_HEADER <SDL3/SDL_stdinc.h> /* "SDL_stdinc.h" of SDL 2 */
#endif
#include HW_SDL_HEADER

static HwTracker *hw_sdl_tracker;
static SDL_malloc_func hw_sdl_inner_malloc;
static SDL_calloc_func hw_sdl_inner_calloc;
static SDL_realloc_func hw_sdl_inner_realloc;
static SDL_free_func hw_sdl_inner_free;

static void *SDLCALL hw_sdl_malloc(size_t size) {
    void *block = hw_sdl_inner_malloc(size);
    hw_tracker_alloc(hw_sdl_tracker, block, size);
    return block;
}

static void *SDLCALL hw_sdl_calloc(size_t count, size_t size) {
    void *block = hw_sdl_inner_calloc(count, size);
    hw_tracker_alloc(hw_sdl_tracker, block, (uint64_t)count * size);
    return block;
}

/* A block whose realloc fails, out of memory, is known no longer: its size is not at hand. */
static void *SDLCALL hw_sdl_realloc(void *old, size_t size) {
    void *block;
    hw_tracker_free(hw_sdl_tracker, old);
    block = hw_sdl_inner_realloc(old, size);
    hw_tracker_alloc(hw_sdl_tracker, block, size);
    return block;
}

static void SDLCALL hw_sdl_free(void *block) {
    hw_tracker_free(hw_sdl_tracker, block);
    hw_sdl_inner_free(block);
}

static inline void hw_sdl_follow(HwTracker *tracker) {
    hw_sdl_tracker = tracker;
    SDL_GetOriginalMemoryFunctions(&hw_sdl_inner_malloc, &hw_sdl_inner_calloc, &hw_sdl_inner_realloc, &hw_sdl_inner_free);
    SDL_SetMemoryFunctions(hw_sdl_malloc, hw_sdl_calloc, hw_sdl_realloc, hw_sdl_free);
}

#endif
