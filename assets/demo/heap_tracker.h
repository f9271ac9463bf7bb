// Stands for the class of the same name that Visual Studio's library for custom native
// heaps has: each call writes one event.
#pragma once
#include "system.h"

namespace VSHeapTracker {

class CHeapTracker {
public:
    explicit CHeapTracker(const char* name);
    ~CHeapTracker();
    void AllocateEvent(void* block, size_t size);
    void DeallocateEvent(void* block);
    void ReallocateEvent(void* block, void* moved, size_t size);

private:
    const char* name;
};

} // namespace VSHeapTracker
