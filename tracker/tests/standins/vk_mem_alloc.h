/* Stand-in for Vulkan Memory Allocator's header (README.md). */
#pragma once
#include <vulkan/vulkan.h>
typedef struct VmaAllocator_T *VmaAllocator;
typedef struct VmaAllocation_T {
    VkDeviceSize size;
} *VmaAllocation;
typedef struct VmaAllocationInfo {
    uint32_t memoryType;
    VkDeviceMemory deviceMemory;
    VkDeviceSize offset;
    VkDeviceSize size;
    void *pMappedData;
    void *pUserData;
    const char *pName;
} VmaAllocationInfo;
typedef void(VKAPI_PTR *PFN_vmaAllocateDeviceMemoryFunction)(VmaAllocator, uint32_t, VkDeviceMemory, VkDeviceSize, void *);
typedef void(VKAPI_PTR *PFN_vmaFreeDeviceMemoryFunction)(VmaAllocator, uint32_t, VkDeviceMemory, VkDeviceSize, void *);
typedef struct VmaDeviceMemoryCallbacks {
    PFN_vmaAllocateDeviceMemoryFunction pfnAllocate;
    PFN_vmaFreeDeviceMemoryFunction pfnFree;
    void *pUserData;
} VmaDeviceMemoryCallbacks;
static inline void vmaGetAllocationInfo(VmaAllocator allocator, VmaAllocation allocation, VmaAllocationInfo *info) {
    (void)allocator;
    info->size = allocation->size;
}
