/* The recipes for C, with stand-ins for the libraries: they compile, and their trackers add up. */
#include "../recipes/hw_jemalloc.h"
#include "../recipes/hw_lua.h"
#include "../recipes/hw_mimalloc.h"
#include "../recipes/hw_rpmalloc.h"
#include "../recipes/hw_sdl.h"
#include "../recipes/hw_vma.h"
#include "../recipes/hw_vulkan.h"

#include "recipes.h"

static HwTracker tracked;

#define HW_STB_TRACKER &tracked
#include "../recipes/hw_stb.h"

/* As lua.h declares it. */
typedef void *(*lua_Alloc)(void *ud, void *ptr, size_t osize, size_t nsize);

static void use_mimalloc(void) {
    void *a = hw_mi_malloc(&tracked, 10), *b = hw_mi_malloc_aligned(&tracked, 20, 64);
    expect_live(&tracked, 2, 30);
    a = hw_mi_realloc(&tracked, a, 100);
    expect_live(&tracked, 2, 120);
    hw_mi_free(&tracked, a);
    hw_mi_free(&tracked, b);
    hw_mi_free(&tracked, NULL);
}

static void use_rpmalloc(void) {
    void *a = hw_rpmalloc(&tracked, 10), *b = hw_rpaligned_alloc(&tracked, 64, 20);
    a = hw_rprealloc(&tracked, a, 50);
    expect_live(&tracked, 2, 70);
    hw_rpfree(&tracked, a);
    hw_rpfree(&tracked, b);
}

static void use_jemalloc(void) {
    static HwArena arena;
    extent_hooks_t *hooks = &arena.hooks;
    bool zero = false, commit = true;
    char *extent;
    expect(hw_jemalloc_follow(&arena, &tracked, 3) && standin_hooks == hooks);
    extent = (char *)hooks->alloc(hooks, NULL, 8192, 4096, &zero, &commit, 3);
    expect_live(&tracked, 1, 8192);
    expect(hooks->dalloc(hooks, extent, 8192, true, 3)); /* kept */
    expect_live(&tracked, 1, 8192);
    expect(!hooks->split(hooks, extent, 8192, 4096, 4096, true, 3));
    expect_live(&tracked, 2, 8192);
    expect(!hooks->merge(hooks, extent, 4096, extent + 4096, 4096, true, 3));
    expect_live(&tracked, 1, 8192);
    expect(hooks->commit(hooks, extent, 8192, 0, 8192, 3) && hooks->decommit(hooks, extent, 8192, 0, 8192, 3));
    expect(hooks->purge_lazy(hooks, extent, 8192, 0, 1, 3) && hooks->purge_forced(hooks, extent, 8192, 0, 1, 3));
    expect(!hooks->split(hooks, extent, 8192, 4096, 4096, true, 3));
    expect(!hooks->dalloc(hooks, extent, 4096, true, 3));
    hooks->destroy(hooks, extent + 4096, 4096, true, 3);
}

static void use_sdl(void) {
    void *a, *b;
    hw_sdl_follow(&tracked);
    a = SDL_malloc(10);
    b = SDL_calloc(3, 10);
    a = SDL_realloc(a, 15);
    expect_live(&tracked, 2, 45);
    SDL_free(a);
    SDL_free(b);
}

static void use_lua(void) {
    lua_Alloc allocate = hw_lua_alloc;
    void *a = allocate(&tracked, NULL, 5, 100);
    a = allocate(&tracked, a, 100, 300);
    expect_live(&tracked, 1, 300);
    expect(allocate(&tracked, a, 300, 0) == NULL && allocate(&tracked, NULL, 0, 0) == NULL);
}

static void use_stb(void) {
    void *a = STBI_MALLOC(10), *b = STBTT_malloc(5, NULL), *c = STBIW_MALLOC(1);
    a = STBI_REALLOC_SIZED(a, 10, 20);
    c = STBIW_REALLOC_SIZED(c, 1, 2);
    expect_live(&tracked, 3, 27);
    STBI_FREE(a);
    STBTT_free(b, NULL);
    STBIW_FREE(c);
}

static void use_vulkan(void) {
    VkAllocationCallbacks callbacks = hw_vulkan_callbacks(&tracked);
    size_t alignment;
    for (alignment = 1; alignment <= 4096; alignment *= 2) {
        char *a = (char *)callbacks.pfnAllocation(callbacks.pUserData, 10, alignment, VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
        expect((uintptr_t)a % alignment == 0);
        memset(a, 7, 10);
        a = (char *)callbacks.pfnReallocation(callbacks.pUserData, a, 100, alignment, VK_SYSTEM_ALLOCATION_SCOPE_OBJECT);
        expect((uintptr_t)a % alignment == 0 && a[9] == 7);
        expect_live(&tracked, 1, 100);
        expect(!callbacks.pfnReallocation(callbacks.pUserData, a, 0, alignment, VK_SYSTEM_ALLOCATION_SCOPE_OBJECT));
        callbacks.pfnFree(callbacks.pUserData, NULL);
    }
}

static void use_vma(void) {
    VmaDeviceMemoryCallbacks callbacks = hw_vma_callbacks(&tracked);
    struct VmaAllocation_T allocation = {1 << 20};
    VkDeviceMemory memory = (VkDeviceMemory)(uintptr_t)0x10;
    callbacks.pfnAllocate(NULL, 0, memory, 1 << 28, callbacks.pUserData);
    hw_vma_created(&tracked, NULL, &allocation);
    hw_vma_created(&tracked, NULL, NULL);
    expect_live(&tracked, 2, (1 << 28) + (1 << 20));
    hw_vma_destroying(&tracked, &allocation);
    callbacks.pfnFree(NULL, 0, memory, 1 << 28, callbacks.pUserData);
}

int main(void) {
    void (*const all[])(void) = {use_mimalloc, use_rpmalloc, use_jemalloc, use_sdl, use_lua, use_stb, use_vulkan, use_vma};
    size_t i;
    begin();
    hw_tracker_open(&tracked, "Recipe");
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        all[i]();
        expect_live(&tracked, 0, 0);
    }
    hw_tracker_close(&tracked);
    use_recipes_in_cpp();
    printf("recipes: they add up\n");
    return 0;
}
