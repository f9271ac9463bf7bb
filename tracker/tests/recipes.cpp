// The recipes for C++ (recipes.c).
#include "../recipes/hw_unreal.h"

#include "../recipes/hw_d3d12ma.h"
#include "../recipes/hw_eastl.h"

#include "recipes.h"

static void use_unreal() {
    FMalloc inner;
    FMallocHighwaterProxy proxy(&inner);
    FMalloc *all = &proxy;
    void *a = all->Malloc(10, 0), *b = all->TryMalloc(20, 0);
    a = all->Realloc(a, 100, 0);
    expect(all->TryRealloc(b, SIZE_T(-1) / 2, 0) == nullptr); // stays as it was
    expect(all->Realloc(all->Malloc(1, 0), 0, 0) == nullptr);
    all->Free(a);
    all->Free(b);
    expect(all->IsInternallyThreadSafe() && all->ValidateHeap() && all->GetDescriptiveName() != nullptr);
}

static void use_eastl() {
    highwater::Tracker tracker("EASTL"), other("Other");
    HwEastlAllocator allocator(tracker), copy(allocator, "copy");
    void *a = allocator.allocate(10), *b = copy.allocate(20, 64, 0);
    expect(allocator == copy && allocator != HwEastlAllocator(other) && copy.get_name()[0] == 'c');
    expect_live(tracker.get(), 2, 30);
    copy.deallocate(a, 10);
    allocator.deallocate(b, 20);
    expect_live(tracker.get(), 0, 0);
}

static void use_d3d12ma() {
    highwater::Tracker textures("Textures"), library("Library");
    D3D12MA::Allocation allocation;
    hw_d3d12ma_created(textures, &allocation);
    expect_live(textures.get(), 1, 65536);
    hw_d3d12ma_releasing(textures, &allocation);
    expect_live(textures.get(), 0, 0);
    D3D12MA::ALLOCATION_CALLBACKS callbacks = hw_d3d12ma_callbacks(library);
    for (size_t alignment = 1; alignment <= 256; alignment *= 2) {
        void *a = callbacks.pAllocate(10, alignment, callbacks.pPrivateData);
        expect(reinterpret_cast<uintptr_t>(a) % alignment == 0);
        expect_live(library.get(), 1, 10);
        callbacks.pFree(a, callbacks.pPrivateData);
        callbacks.pFree(nullptr, callbacks.pPrivateData);
    }
    expect_live(library.get(), 0, 0);
}

extern "C" void use_recipes_in_cpp(void) {
    use_unreal();
    use_eastl();
    use_d3d12ma();
}
