// Stand-in for EASTL's header (../README.md).
#pragma once
#include <cstddef>
#include <cstdlib>
namespace eastl {
class allocator {
public:
    explicit allocator(const char *name = "EASTL") : name(name) {}
    void *allocate(size_t n, int = 0) { return std::malloc(n); }
    void *allocate(size_t n, size_t, size_t, int = 0) { return std::malloc(n); }
    void deallocate(void *p, size_t) { std::free(p); }
    const char *get_name() const { return name; }
    void set_name(const char *to) { name = to; }

private:
    const char *name;
};
} // namespace eastl
