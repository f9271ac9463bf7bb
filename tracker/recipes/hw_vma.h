/* Vulkan Memory Allocator (GPUOpen-LibrariesAndSDKs/VulkanMemoryAllocator, 3.x): the GPU's memory.
 *
 *     hw_tracker_open(&heap, "GPU memory");          // what VMA takes of the driver
 *     VmaDeviceMemoryCallbacks callbacks = hw_vma_callbacks(&heap);
 *     info.pDeviceMemoryCallbacks = &callbacks;      // of vmaCreateAllocator; is copied
 *
 *     hw_tracker_open(&textures, "GPU textures");    // what a pool hands out
 *     vmaCreateImage(…, &image, &allocation, NULL);
 *     hw_vma_created(&textures, allocator, allocation);
 *     hw_vma_destroying(&textures, allocation);
 *     vmaDestroyImage(allocator, image, allocation);
 *
 * These blocks have no address that the processor knows: the handle stands for it, and the size is
 * the GPU's. So pages of such a tracker mean nothing. */
#ifndef HW_RECIPE_VMA_H
#define HW_RECIPE_VMA_H

#include "../highwater.h"

#include <string.h>
#include <vk_mem_alloc.h>

static inline void VKAPI_CALL hw_vma_taken(VmaAllocator allocator, uint32_t type, VkDeviceMemory memory, VkDeviceSize size,
                                           void *tracker) {
    (void)allocator, (void)type;
    hw_tracker_alloc((HwTracker *)tracker, (const void *)(uintptr_t)memory, size);
}

static inline void VKAPI_CALL hw_vma_given_back(VmaAllocator allocator, uint32_t type, VkDeviceMemory memory,
                                                VkDeviceSize size, void *tracker) {
    (void)allocator, (void)type, (void)size;
    hw_tracker_free((HwTracker *)tracker, (const void *)(uintptr_t)memory);
}

static inline VmaDeviceMemoryCallbacks hw_vma_callbacks(HwTracker *tracker) {
    VmaDeviceMemoryCallbacks callbacks;
    memset(&callbacks, 0, sizeof callbacks);
    callbacks.pfnAllocate = hw_vma_taken;
    callbacks.pfnFree = hw_vma_given_back;
    callbacks.pUserData = tracker;
    return callbacks;
}

static inline void hw_vma_created(HwTracker *tracker, VmaAllocator allocator, VmaAllocation allocation) {
    VmaAllocationInfo info;
    memset(&info, 0, sizeof info);
    if (allocation) vmaGetAllocationInfo(allocator, allocation, &info);
    hw_tracker_alloc(tracker, (const void *)allocation, info.size);
}

static inline void hw_vma_destroying(HwTracker *tracker, VmaAllocation allocation) {
    hw_tracker_free(tracker, (const void *)allocation);
}

#endif
