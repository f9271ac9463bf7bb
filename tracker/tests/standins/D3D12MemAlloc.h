// Stand-in for D3D12 Memory Allocator's header (README.md).
#pragma once
#include <cstddef>
#include <cstdint>
namespace D3D12MA {
using ALLOCATE_FUNC_PTR = void *(*)(size_t, size_t, void *);
using FREE_FUNC_PTR = void (*)(void *, void *);
struct ALLOCATION_CALLBACKS {
    ALLOCATE_FUNC_PTR pAllocate;
    FREE_FUNC_PTR pFree;
    void *pPrivateData;
};
class Allocation {
public:
    std::uint64_t GetSize() const { return 65536; }
};
} // namespace D3D12MA
