/* Vulkan: what the loader, layers and the driver allocate of the processor's memory (not the GPU's: hw_vma.h).
 *
 *     hw_tracker_open(&driver, "Vulkan driver");
 *     VkAllocationCallbacks callbacks = hw_vulkan_callbacks(&driver);
 *     vkCreateInstance(&info, &callbacks, &instance);
 *
 * Each object is destroyed with the callbacks that it was created with. */
#ifndef HW_RECIPE_VULKAN_H
#define HW_RECIPE_VULKAN_H

#include "../highwater.h"

#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

/* Before each block: where malloc's begins, and its size. */
typedef struct HwVulkanBlock {
    void *base;
    size_t size;
} HwVulkanBlock;

static inline HwVulkanBlock *hw_vulkan_block(void *block) { return (HwVulkanBlock *)block - 1; }

static inline void *VKAPI_CALL hw_vulkan_alloc(void *tracker, size_t size, size_t alignment, VkSystemAllocationScope scope) {
    size_t step = alignment < sizeof(HwVulkanBlock) ? sizeof(HwVulkanBlock) : alignment;
    char *base = (char *)malloc(size + 2 * step);
    void *block;
    (void)scope;
    if (!base) return NULL;
    block = (void *)(((uintptr_t)base + 2 * step - 1) / step * step);
    hw_vulkan_block(block)->base = base;
    hw_vulkan_block(block)->size = size;
    hw_tracker_alloc((HwTracker *)tracker, block, size);
    return block;
}

static inline void VKAPI_CALL hw_vulkan_free(void *tracker, void *block) {
    if (!block) return;
    hw_tracker_free((HwTracker *)tracker, block);
    free(hw_vulkan_block(block)->base);
}

static inline void *VKAPI_CALL hw_vulkan_realloc(void *tracker, void *old, size_t size, size_t alignment,
                                                 VkSystemAllocationScope scope) {
    void *block = size > 0 ? hw_vulkan_alloc(tracker, size, alignment, scope) : NULL;
    if (old && block) {
        size_t old_size = hw_vulkan_block(old)->size;
        memcpy(block, old, size < old_size ? size : old_size);
    }
    if (block || size == 0) hw_vulkan_free(tracker, old); /* a realloc that failed leaves the old block */
    return block;
}

static inline VkAllocationCallbacks hw_vulkan_callbacks(HwTracker *tracker) {
    VkAllocationCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.pUserData = tracker;
    callbacks.pfnAllocation = hw_vulkan_alloc;
    callbacks.pfnReallocation = hw_vulkan_realloc;
    callbacks.pfnFree = hw_vulkan_free;
    return callbacks;
}

#endif
