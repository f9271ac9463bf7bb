/* D3D12 Memory Allocator (GPUOpen-LibrariesAndSDKs/D3D12MemoryAllocator): resources of the GPU, and
 * what the library itself allocates of the processor's memory.
 *
 *     highwater::Tracker textures("GPU textures");
 *     allocator->CreateResource(…, &allocation, …);
 *     hw_d3d12ma_created(textures, allocation);
 *     hw_d3d12ma_releasing(textures, allocation);    // before the last Release
 *     allocation->Release();
 *
 *     D3D12MA::ALLOCATION_CALLBACKS callbacks = hw_d3d12ma_callbacks(library);
 *     desc.pAllocationCallbacks = &callbacks;        // of D3D12MA::CreateAllocator
 *
 * A resource has no address that the processor knows: the allocation's stands for it, and the size is
 * the GPU's. So pages of such a tracker mean nothing. */
#ifndef HW_RECIPE_D3D12MA_H
#define HW_RECIPE_D3D12MA_H

#include "../highwater.h"

#include <D3D12MemAlloc.h>
#include <cstdlib>

inline void hw_d3d12ma_created(highwater::Tracker &tracker, const D3D12MA::Allocation *allocation) {
    if (allocation) tracker.on_alloc(allocation, allocation->GetSize());
}

inline void hw_d3d12ma_releasing(highwater::Tracker &tracker, const D3D12MA::Allocation *allocation) {
    tracker.on_free(allocation);
}

/* Where malloc's block begins stands before ours. */
inline void *hw_d3d12ma_alloc(size_t size, size_t alignment, void *tracker) {
    size_t step = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    char *base = static_cast<char *>(std::malloc(size + 2 * step));
    if (!base) return nullptr;
    void *block = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(base) + 2 * step - 1) / step * step);
    static_cast<void **>(block)[-1] = base;
    static_cast<highwater::Tracker *>(tracker)->on_alloc(block, size);
    return block;
}

inline void hw_d3d12ma_free(void *block, void *tracker) {
    if (!block) return;
    static_cast<highwater::Tracker *>(tracker)->on_free(block);
    std::free(static_cast<void **>(block)[-1]);
}

inline D3D12MA::ALLOCATION_CALLBACKS hw_d3d12ma_callbacks(highwater::Tracker &tracker) {
    D3D12MA::ALLOCATION_CALLBACKS callbacks = {hw_d3d12ma_alloc, hw_d3d12ma_free, &tracker};
    return callbacks;
}

#endif
