#include "heap_tracker.h"

namespace VSHeapTracker {

namespace {

struct Field {
    const void* data;
    unsigned size, kind;
};

constexpr size_t PROVIDER = 0x988917C5;
const unsigned OPEN = 1, CLOSE = 2, ALLOCATE = 3, FREE = 4, REALLOCATE = 5;

INLINE void Write(const unsigned& event, const Field* fields, unsigned count) {
    EtwEventWriteTransfer(PROVIDER, &event, nullptr, nullptr, count, fields);
}

} // namespace

KEEP CHeapTracker::CHeapTracker(const char* name) : name(name) {
    const Field fields[] = {{this, 8, 0}, {name, 12, 0}};
    Write(OPEN, fields, 2);
}

KEEP CHeapTracker::~CHeapTracker() {
    const Field fields[] = {{this, 8, 0}, {name, 12, 0}};
    Write(CLOSE, fields, 2);
}

KEEP void CHeapTracker::AllocateEvent(void* block, size_t size) {
    const Field fields[] = {{this, 8, 0}, {&block, 8, 0}, {&size, 8, 0}};
    Write(ALLOCATE, fields, 3);
}

KEEP void CHeapTracker::DeallocateEvent(void* block) {
    const Field fields[] = {{this, 8, 0}, {&block, 8, 0}};
    Write(FREE, fields, 2);
}

KEEP void CHeapTracker::ReallocateEvent(void* block, void* moved, size_t size) {
    const Field fields[] = {{this, 8, 0}, {&block, 8, 0}, {&moved, 8, 0}, {&size, 8, 0}};
    Write(REALLOCATE, fields, 4);
}

} // namespace VSHeapTracker
