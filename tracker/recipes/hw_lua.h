/* Lua 5.1 to 5.4, LuaJIT (2.1, GC64): a tracker for each state, by its lua_Alloc.
 *
 *     hw_tracker_open(&scripts, "Lua: quests");
 *     lua_State *state = lua_newstate(hw_lua_alloc, &scripts);
 *
 * Close the tracker after lua_close. One thread at a time works in a state, so a resized block is told
 * as one event. */
#ifndef HW_RECIPE_LUA_H
#define HW_RECIPE_LUA_H

#include "../highwater.h"

#include <stdlib.h>

/* Of a new block `old_size` is a kind of object, no size. */
static inline void *hw_lua_alloc(void *tracker, void *old, size_t old_size, size_t size) {
    HwTracker *of = (HwTracker *)tracker;
    uintptr_t was = (uintptr_t)old; /* a freed pointer has no value any more */
    void *block;
    (void)old_size;
    if (size == 0) {
        hw_tracker_free(of, old);
        free(old);
        return NULL;
    }
    block = realloc(old, size);
    hw_tracker_realloc(of, (const void *)was, block, size);
    return block;
}

#endif
