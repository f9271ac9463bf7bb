// What the program uses of Windows, declared here so that no SDK is needed to build it.
#pragma once

using size_t = decltype(sizeof 0);

#define KEEP __declspec(noinline)       // a frame of its own in call stacks
#define INLINE __forceinline            // a frame only in the PDB
#define ALLOCATOR __declspec(allocator) // the PDB notes the type at each call
#define IMPORT                          // the build makes import libraries of these lines

extern "C" {
// KERNELBASE.dll
IMPORT void* VirtualAlloc(void* address, size_t size, unsigned kind, unsigned protection);
IMPORT int VirtualFree(void* address, size_t size, unsigned kind);
IMPORT void* HeapCreate(unsigned options, size_t initial, size_t maximum);
IMPORT int HeapDestroy(void* heap);
IMPORT void Sleep(unsigned milliseconds);

// ntdll.dll; HeapAlloc and HeapFree of the SDK are other names of these
IMPORT ALLOCATOR void* RtlAllocateHeap(void* heap, unsigned flags, size_t size);
IMPORT int RtlFreeHeap(void* heap, unsigned flags, void* block);
IMPORT unsigned EtwEventWriteTransfer(size_t provider, const void* event, const void*, const void*, unsigned count,
                                      const void* data);

// ucrtbase.dll
IMPORT ALLOCATOR void* _malloc_base(size_t size);
IMPORT void _free_base(void* block);
IMPORT int _configure_narrow_argv(int mode);
IMPORT int _initialize_narrow_environment();
IMPORT int _register_onexit_function(void* table, int (*function)());
IMPORT size_t _beginthreadex(void*, unsigned stack, unsigned (*start)(void*), void* argument, unsigned, unsigned* id);
}

constexpr unsigned COMMIT = 0x1000, RESERVE = 0x2000, RELEASE = 0x8000, READ_WRITE = 4;
constexpr size_t KB = 1024, MB = 1024 * KB;

ALLOCATOR void* operator new(size_t size);
void operator delete(void* block) noexcept;

INLINE char* CommitPages(size_t size) {
    return static_cast<char*>(VirtualAlloc(nullptr, size, RESERVE | COMMIT, READ_WRITE));
}

INLINE void ReleasePages(void* pages) {
    VirtualFree(pages, 0, RELEASE);
}

// Grows by a half whenever it is full.
template <class T>
struct Array {
    T* items = nullptr;
    unsigned count = 0, room = 0;

    INLINE void Add(const T& item) {
        if (count == room) Grow();
        items[count++] = item;
    }

    KEEP void Grow() {
        room += room / 2 + 1;
        auto more = static_cast<T*>(operator new(room * sizeof(T)));
        for (unsigned i = 0; i < count; i++) more[i] = items[i];
        operator delete(items);
        items = more;
    }
};
