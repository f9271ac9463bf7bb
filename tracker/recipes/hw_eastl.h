/* EASTL (electronicarts/EASTL): an allocator for its containers, in front of another one.
 *
 *     highwater::Tracker ai("AI");
 *     eastl::vector<Agent, HwEastlAllocator> agents{HwEastlAllocator(ai)}; */
#ifndef HW_RECIPE_EASTL_H
#define HW_RECIPE_EASTL_H

#include "../highwater.h"

#include <EASTL/allocator.h>

class HwEastlAllocator {
public:
    explicit HwEastlAllocator(highwater::Tracker &tracker, const char *name = "highwater")
        : tracker_(&tracker), inner_(name) {}
    HwEastlAllocator(const HwEastlAllocator &from, const char *name) : tracker_(from.tracker_), inner_(from.inner_) {
        inner_.set_name(name);
    }

    void *allocate(size_t size, int flags = 0) {
        void *block = inner_.allocate(size, flags);
        tracker_->on_alloc(block, size);
        return block;
    }
    void *allocate(size_t size, size_t alignment, size_t offset, int flags = 0) {
        void *block = inner_.allocate(size, alignment, offset, flags);
        tracker_->on_alloc(block, size);
        return block;
    }
    void deallocate(void *block, size_t size) {
        tracker_->on_free(block);
        inner_.deallocate(block, size);
    }

    const char *get_name() const { return inner_.get_name(); }
    void set_name(const char *name) { inner_.set_name(name); }

    friend bool operator==(const HwEastlAllocator &a, const HwEastlAllocator &b) { return a.tracker_ == b.tracker_; }
    friend bool operator!=(const HwEastlAllocator &a, const HwEastlAllocator &b) { return !(a == b); }

private:
    highwater::Tracker *tracker_;
    eastl::allocator inner_;
};

#endif
