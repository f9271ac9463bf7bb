/* Stand-in for Vulkan's header (../README.md). */
#pragma once
#include <stddef.h>
#include <stdint.h>
#ifdef _WIN32
#define VKAPI_CALL __stdcall
#else
#define VKAPI_CALL
#endif
#define VKAPI_PTR VKAPI_CALL
typedef uint64_t VkDeviceSize;
typedef struct VkDeviceMemory_T *VkDeviceMemory;
typedef enum VkSystemAllocationScope { VK_SYSTEM_ALLOCATION_SCOPE_OBJECT = 1 } VkSystemAllocationScope;
typedef int VkInternalAllocationType;
typedef void *(VKAPI_PTR *PFN_vkAllocationFunction)(void *, size_t, size_t, VkSystemAllocationScope);
typedef void *(VKAPI_PTR *PFN_vkReallocationFunction)(void *, void *, size_t, size_t, VkSystemAllocationScope);
typedef void(VKAPI_PTR *PFN_vkFreeFunction)(void *, void *);
typedef void(VKAPI_PTR *PFN_vkInternalNotification)(void *, size_t, VkInternalAllocationType, VkSystemAllocationScope);
typedef struct VkAllocationCallbacks {
    void *pUserData;
    PFN_vkAllocationFunction pfnAllocation;
    PFN_vkReallocationFunction pfnReallocation;
    PFN_vkFreeFunction pfnFree;
    PFN_vkInternalNotification pfnInternalAllocation;
    PFN_vkInternalNotification pfnInternalFree;
} VkAllocationCallbacks;
