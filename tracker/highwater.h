/* highwater.h: names and blocks of your own allocators, in Windows memory traces (ETW).
 *
 * One header for C99 and C++11 and later, MSVC, clang-cl and MinGW; no library. It writes the
 * events of Visual Studio's VSHeapTracker, byte for byte, so highwater and Visual Studio show
 * them. On other systems, and with HW_TRACKER_OFF defined, everything here does nothing.
 *
 *     static HwTracker textures;
 *     hw_tracker_open(&textures, "Textures");            // before its first block
 *
 *     void *block = pool_take(size);
 *     hw_tracker_alloc(&textures, block, size);          // after the inner allocation
 *     hw_tracker_free(&textures, block);                 // before the inner free
 *     pool_give(block);
 *
 *     hw_tracker_close(&textures);                       // its blocks count as freed
 *
 * While no session listens, alloc and free cost one load and a branch. While one does, they cost
 * an EventWrite, without a lock. Whenever a session starts, the names of all open trackers are
 * sent again. Any thread may call anything; one tracker is opened and closed by one thread at a
 * time, stays where it is while it is open, and is zero before its first use.
 *
 * HW_TRACK_LIVE, defined for the whole program, also sends all live blocks when a session starts,
 * so that a recording of a running game knows them. Their call stacks are those of the session's
 * start. It keeps a table of 32 bytes a block, which costs some 20 ns a call while nobody listens.
 *
 * MIT No Attribution (MIT-0)
 *
 * Copyright 2026 The highwater developers
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software
 * and associated documentation files (the "Software"), to deal in the Software without
 * restriction, including without limitation the rights to use, copy, modify, merge, publish,
 * distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
 * Software is furnished to do so.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
 * BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
 * DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
#ifndef HIGHWATER_H
#define HIGHWATER_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && !defined(HW_TRACKER_OFF)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#define HW_LEAN_IS_OURS
#endif
#ifndef NOMINMAX
#define NOMINMAX
#define HW_NOMINMAX_IS_OURS
#endif
#include <windows.h>

#include <evntprov.h>
#ifdef HW_LEAN_IS_OURS
#undef WIN32_LEAN_AND_MEAN
#undef HW_LEAN_IS_OURS
#endif
#ifdef HW_NOMINMAX_IS_OURS
#undef NOMINMAX
#undef HW_NOMINMAX_IS_OURS
#endif

#ifdef _MSC_VER
#pragma comment(lib, "advapi32")
#define HW_COLD static __declspec(noinline) __inline
#define HW_HOT static __forceinline
#define HW_IS_LIKELY(condition) (condition)
#else
#define HW_COLD static __attribute__((noinline, unused))
#define HW_HOT static __inline__ __attribute__((always_inline, unused))
#define HW_IS_LIKELY(condition) __builtin_expect(!!(condition), 1)
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HW_NAME_UNITS = 260, /* of UTF-16, the last one zero */
    HW_NAME_BYTES = 532  /* of an event with a name, without the structure's padding */
};

/* An open tracker. The first three fields are the payload of the events 103 and 104. */
typedef struct HwTracker {
    uint64_t handle; /* the tracker's address; 0 while it is closed */
    uint32_t name_units;
    WCHAR name[HW_NAME_UNITS];
    struct HwTracker *next;
} HwTracker;

/* A place of the table of live blocks. */
typedef struct HwPlace {
    volatile LONG state;
    volatile LONG session; /* the one that knows of the block */
    HwTracker *tracker;
    uintptr_t address;
    uint64_t size;
} HwPlace;

/* A part of the table; each has twice the places of the one before. */
typedef struct HwPlaces {
    struct HwPlaces *older;
    size_t count;
    HwPlace place[1];
} HwPlaces;

/* What all trackers of a module (.exe, .dll) share. */
typedef struct HwShared {
    volatile LONG listening;
    volatile LONG session; /* counts the starts of sessions */
    volatile LONG since;   /* the first of those since when somebody has listened all the time */
    REGHANDLE provider;
    HwTracker *first;
    LONG open;
    SRWLOCK opening; /* of `provider` and `open` */
    SRWLOCK names;   /* of the list; the callback takes it, and no other */
    HwPlaces *volatile places;
} HwShared;

/* One object for all files that include this. */
__declspec(selectany) HwShared hw_shared = {0, 0, 0, 0, NULL, 0, SRWLOCK_INIT, SRWLOCK_INIT, NULL};

enum { HW_ALLOC = 100, HW_FREE = 101, HW_REALLOC = 102, HW_OPEN = 103, HW_CLOSE = 104 };
#define HW_KEYWORD 0x8000000000000000ULL
#define HW_LEVEL 4

/* Writes one event of Visual Studio's provider for custom heaps. */
HW_COLD void hw_tracker_event(USHORT id, const void *payload, ULONG bytes) {
    EVENT_DESCRIPTOR event;
    EVENT_DATA_DESCRIPTOR data;
    event.Id = id;
    event.Version = 1;
    event.Channel = 16;
    event.Level = HW_LEVEL;
    event.Opcode = (UCHAR)(id - 90);
    event.Task = 0;
    event.Keyword = HW_KEYWORD;
    data.Ptr = (ULONGLONG)(uintptr_t)payload;
    data.Size = bytes;
    data.Reserved = 0;
    EventWrite(hw_shared.provider, &event, 1, &data);
}

HW_COLD void hw_tracker_tell_alloc(const HwTracker *tracker, uintptr_t block, uint64_t size) {
    uint64_t payload[3];
    payload[0] = block;
    payload[1] = size;
    payload[2] = (uint64_t)(uintptr_t)tracker;
    hw_tracker_event(HW_ALLOC, payload, sizeof payload);
}

HW_COLD void hw_tracker_tell_free(const HwTracker *tracker, uintptr_t block) {
    uint64_t payload[2];
    payload[0] = block;
    payload[1] = (uint64_t)(uintptr_t)tracker;
    hw_tracker_event(HW_FREE, payload, sizeof payload);
}

HW_COLD void hw_tracker_tell_realloc(const HwTracker *tracker, uintptr_t old, uintptr_t block, uint64_t size) {
    uint64_t payload[4];
    payload[0] = block;
    payload[1] = size;
    payload[2] = old;
    payload[3] = (uint64_t)(uintptr_t)tracker;
    hw_tracker_event(HW_REALLOC, payload, sizeof payload);
}

#ifdef HW_TRACK_LIVE
/* The table of live blocks. A block takes one of the HW_TRIES places from that of its hash on, in
 * the newest part that has one; nothing ever moves. Whoever changes a place or tells of it makes it
 * busy first, so what a session hears of one block is in order, and each session hears of it once. */
enum { HW_UNUSED = 0, HW_BUSY = 1, HW_LIVE = 2, HW_FREED = 3, HW_TRIES = 32, HW_FIRST_PLACES = 4096 };

HW_COLD size_t hw_place_of(const HwTracker *tracker, uintptr_t block, size_t count) {
    uint64_t mixed = ((uint64_t)block >> 3 ^ (uint64_t)(uintptr_t)tracker << 17) * 0x9E3779B97F4A7C15ULL;
    return (size_t)(mixed >> 24) & (count - 1);
}

/* A busy place for a new block in this part, or NULL. */
HW_COLD HwPlace *hw_place_free_in(HwPlaces *part, const HwTracker *tracker, uintptr_t block) {
    size_t at = hw_place_of(tracker, block, part->count), i;
    for (i = 0; i < HW_TRIES; i++) {
        HwPlace *place = &part->place[(at + i) & (part->count - 1)];
        LONG state = place->state;
        if ((state == HW_UNUSED || state == HW_FREED) && InterlockedCompareExchange(&place->state, HW_BUSY, state) == state)
            return place;
    }
    return NULL;
}

/* Adds a part of the table behind `newest`, unless another thread was first. */
HW_COLD int hw_places_grow(HwPlaces *newest) {
    size_t count = newest ? newest->count * 2 : (size_t)HW_FIRST_PLACES;
    size_t bytes = sizeof(HwPlaces) + count * sizeof(HwPlace);
    HwPlaces *part = (HwPlaces *)VirtualAlloc(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (!part) return 0;
    part->older = newest;
    part->count = count;
    if (InterlockedCompareExchangePointer((void *volatile *)&hw_shared.places, part, newest) != newest)
        VirtualFree(part, 0, MEM_RELEASE);
    return 1;
}

/* A busy place for a new block; NULL without memory. */
HW_COLD HwPlace *hw_place_take(HwTracker *tracker, uintptr_t block, uint64_t size) {
    HwPlaces *newest, *part;
    HwPlace *place = NULL;
    do {
        newest = hw_shared.places;
        for (part = newest; part && !place; part = part->older) place = hw_place_free_in(part, tracker, block);
    } while (!place && hw_places_grow(newest));
    if (place) {
        place->tracker = tracker;
        place->address = block;
        place->size = size;
        place->session = 0;
    }
    return place;
}

/* Makes a place busy that has a block; 0 if it has none. Waits only for a session's start. */
HW_COLD int hw_place_hold(HwPlace *place) {
    for (;;) {
        LONG state = place->state;
        if (state == HW_LIVE && InterlockedCompareExchange(&place->state, HW_BUSY, HW_LIVE) == HW_LIVE) return 1;
        if (state == HW_UNUSED || state == HW_FREED) return 0;
        YieldProcessor();
    }
}

HW_COLD void hw_place_leave(HwPlace *place, LONG state) {
    if (state == HW_FREED) place->address = 0;
    InterlockedExchange(&place->state, state);
}

/* The busy place of a live block, or NULL. */
HW_COLD HwPlace *hw_place_find(const HwTracker *tracker, uintptr_t block) {
    HwPlaces *part;
    for (part = hw_shared.places; part; part = part->older) {
        size_t at = hw_place_of(tracker, block, part->count), i;
        for (i = 0; i < HW_TRIES; i++) {
            HwPlace *place = &part->place[(at + i) & (part->count - 1)];
            if (place->state == HW_UNUSED) break;
            if (place->address != block || place->tracker != tracker || !hw_place_hold(place)) continue;
            if (place->address == block && place->tracker == tracker) return place;
            hw_place_leave(place, HW_LIVE);
        }
    }
    return NULL;
}

/* Tells of a busy place's block, unless the session knows it. */
HW_COLD void hw_place_tell(HwPlace *place) {
    LONG session = hw_shared.session;
    if (!hw_shared.listening || place->session == session) return;
    hw_tracker_tell_alloc(place->tracker, place->address, place->size);
    place->session = session;
}

/* Calls for all live blocks: tells of them, or forgets those of one tracker. */
HW_COLD void hw_places_each(const HwTracker *forgotten) {
    HwPlaces *part;
    size_t i;
    for (part = hw_shared.places; part; part = part->older) {
        for (i = 0; i < part->count; i++) {
            HwPlace *place = &part->place[i];
            if (place->state == HW_UNUSED || (forgotten && place->tracker != forgotten) || !hw_place_hold(place)) continue;
            if (!forgotten) hw_place_tell(place);
            hw_place_leave(place, place->tracker == forgotten ? HW_FREED : HW_LIVE);
        }
    }
}
#endif

/* ETW's callback: a session starts (1), stops (0), or asks for what there is (2). It may run
 * inside EventRegister, whose handle is not there yet, but then no tracker is open either. */
HW_COLD void NTAPI hw_tracker_control(LPCGUID source, ULONG code, UCHAR level, ULONGLONG any, ULONGLONG all,
                                      PEVENT_FILTER_DESCRIPTOR filter, PVOID context) {
    HwTracker *tracker;
    LONG listens;
    (void)source, (void)all, (void)filter, (void)context;
    AcquireSRWLockExclusive(&hw_shared.names);
    /* Of two sessions one may still be there. */
    listens = EventProviderEnabled(hw_shared.provider, HW_LEVEL, HW_KEYWORD) != 0;
    if (code == 1 && (level == 0 || level >= HW_LEVEL) && (any == 0 || (any & HW_KEYWORD))) listens = 1;
    if (listens && code != 0) {
        for (tracker = hw_shared.first; tracker; tracker = tracker->next) hw_tracker_event(HW_OPEN, tracker, HW_NAME_BYTES);
        InterlockedIncrement(&hw_shared.session);
        if (!hw_shared.listening) InterlockedExchange(&hw_shared.since, hw_shared.session);
    }
    InterlockedExchange(&hw_shared.listening, listens);
    ReleaseSRWLockExclusive(&hw_shared.names);
#ifdef HW_TRACK_LIVE
    if (listens && code != 0) hw_places_each(NULL);
#endif
}

/* The first open tracker of a module registers the provider, the last one takes it back. */
HW_COLD void hw_tracker_count(LONG change) {
    static const GUID provider = {0x988917C5, 0x5748, 0x42A8, {0xA1, 0x27, 0xA9, 0xA2, 0x28, 0x52, 0x65, 0xD5}};
    AcquireSRWLockExclusive(&hw_shared.opening);
    if (change > 0 && hw_shared.open == 0) {
        if (EventRegister(&provider, hw_tracker_control, NULL, &hw_shared.provider) != 0) hw_shared.provider = 0;
    }
    hw_shared.open += change;
    if (change < 0 && hw_shared.open == 0) {
        EventUnregister(hw_shared.provider);
        hw_shared.provider = 0;
        InterlockedExchange(&hw_shared.listening, 0);
    }
    ReleaseSRWLockExclusive(&hw_shared.opening);
}

/* Opens a tracker with a name in UTF-8, of which 259 UTF-16 units count. */
HW_COLD void hw_tracker_open(HwTracker *tracker, const char *name) {
    WCHAR *units = tracker->name;
    int i = 0, count = 0;
    if (tracker->handle) return;
    if (!name) name = "Unknown"; /* as Visual Studio's library says */
    while (name[i] && i < 4 * HW_NAME_UNITS) i++;
    /* Too long a name is cut, at a whole character, until it fits. */
    while (i > 0 && (count = MultiByteToWideChar(CP_UTF8, 0, name, i, units, HW_NAME_UNITS - 1)) == 0) {
        do i--;
        while (i > 0 && ((unsigned char)name[i] & 0xC0) == 0x80);
    }
    if (count > 0 && (units[count - 1] & 0xFC00) == 0xD800) count--; /* half of one */
    for (i = count; i < HW_NAME_UNITS; i++) units[i] = 0;
    tracker->name_units = HW_NAME_UNITS;
    hw_tracker_count(1);
    AcquireSRWLockExclusive(&hw_shared.names);
    tracker->handle = (uint64_t)(uintptr_t)tracker;
    tracker->next = hw_shared.first;
    hw_shared.first = tracker;
    if (hw_shared.listening) hw_tracker_event(HW_OPEN, tracker, HW_NAME_BYTES);
    ReleaseSRWLockExclusive(&hw_shared.names);
}

/* Closes a tracker: whatever it has counts as freed. */
HW_COLD void hw_tracker_close(HwTracker *tracker) {
    HwTracker **link;
    if (!tracker->handle) return;
#ifdef HW_TRACK_LIVE
    hw_places_each(tracker);
#endif
    AcquireSRWLockExclusive(&hw_shared.names);
    for (link = &hw_shared.first; *link && *link != tracker; link = &(*link)->next) {}
    if (*link) *link = tracker->next;
    if (hw_shared.listening) hw_tracker_event(HW_CLOSE, tracker, HW_NAME_BYTES);
    tracker->handle = 0;
    ReleaseSRWLockExclusive(&hw_shared.names);
    hw_tracker_count(-1);
}

/* Blocks are numbers from here on: compilers would take a pointer for a promise that its bytes are read. */
HW_COLD void hw_tracker_note_alloc(HwTracker *tracker, uintptr_t block, uint64_t size) {
    if (!block || !tracker->handle) return;
#ifdef HW_TRACK_LIVE
    {
        HwPlace *place = hw_place_take(tracker, block, size);
        if (place) {
            MemoryBarrier(); /* it is in the table before we look whether somebody listens */
            hw_place_tell(place);
            hw_place_leave(place, HW_LIVE);
            return;
        }
        if (!hw_shared.listening) return;
    }
#endif
    hw_tracker_tell_alloc(tracker, block, size);
}

HW_COLD void hw_tracker_note_free(HwTracker *tracker, uintptr_t block) {
    if (!block || !tracker->handle) return;
#ifdef HW_TRACK_LIVE
    {
        HwPlace *place = hw_place_find(tracker, block);
        /* A session that is about to hear of the block never does; one that has heard of it hears the end. */
        int is_known = !place || (place->session != 0 && place->session - hw_shared.since >= 0);
        if (hw_shared.listening && is_known) hw_tracker_tell_free(tracker, block);
        if (place) hw_place_leave(place, HW_FREED);
        return;
    }
#else
    hw_tracker_tell_free(tracker, block);
#endif
}

HW_COLD void hw_tracker_note_realloc(HwTracker *tracker, uintptr_t old, uintptr_t block, uint64_t size) {
    if (!tracker->handle) return;
    if (!old || !block) {
        if (block) hw_tracker_note_alloc(tracker, block, size);
        if (old && size == 0) hw_tracker_note_free(tracker, old);
        return; /* a realloc that failed leaves the old block */
    }
#ifdef HW_TRACK_LIVE
    {
        HwPlace *place = hw_place_find(tracker, old);
        int was_known = !place || (place->session != 0 && place->session - hw_shared.since >= 0);
        if (place) hw_place_leave(place, HW_FREED);
        place = hw_place_take(tracker, block, size);
        MemoryBarrier();
        if (hw_shared.listening) {
            LONG session = hw_shared.session;
            if (was_known) hw_tracker_tell_realloc(tracker, old, block, size);
            else hw_tracker_tell_alloc(tracker, block, size);
            if (place) place->session = session;
        }
        if (place) hw_place_leave(place, HW_LIVE);
    }
#else
    hw_tracker_tell_realloc(tracker, old, block, size);
#endif
}

#ifdef HW_TRACK_LIVE
#define HW_IS_OFF 0
#else
#define HW_IS_OFF HW_IS_LIKELY(!hw_shared.listening)
#endif

/* Whether a session listens: for what would cost something to find out. */
HW_HOT int hw_tracker_is_on(void) { return hw_shared.listening != 0; }

/* A block that this allocator has handed out. NULL is passed over: an allocation that failed. */
HW_HOT void hw_tracker_alloc(HwTracker *tracker, const void *block, uint64_t size) {
    if (HW_IS_OFF) return;
    hw_tracker_note_alloc(tracker, (uintptr_t)block, size);
}

/* A block that is about to be given back; said before, or another thread could get it first. */
HW_HOT void hw_tracker_free(HwTracker *tracker, const void *block) {
    if (HW_IS_OFF) return;
    hw_tracker_note_free(tracker, (uintptr_t)block);
}

/* A block that has been resized, and may have moved. Only for allocators whose old block no other
 * thread can get before this is said (one thread, or under the allocator's lock). Elsewhere say
 * free(old) before and alloc(new) after, or alloc(old) again if it failed. C has no word for a pointer
 * that was freed: keep `old` as a uintptr_t across the realloc, and compilers will not warn. */
HW_HOT void hw_tracker_realloc(HwTracker *tracker, const void *old, const void *block, uint64_t size) {
    if (HW_IS_OFF) return;
    hw_tracker_note_realloc(tracker, (uintptr_t)old, (uintptr_t)block, size);
}

#ifdef __cplusplus
}
#endif

#else /* another system, or HW_TRACKER_OFF */

typedef struct HwTracker {
    char nothing;
} HwTracker;

#ifdef _MSC_VER
#define HW_HOT static __forceinline
#else
#define HW_HOT static __inline__ __attribute__((always_inline, unused))
#endif

HW_HOT int hw_tracker_is_on(void) { return 0; }
HW_HOT void hw_tracker_open(HwTracker *tracker, const char *name) { (void)tracker, (void)name; }
HW_HOT void hw_tracker_close(HwTracker *tracker) { (void)tracker; }
HW_HOT void hw_tracker_alloc(HwTracker *tracker, const void *block, uint64_t size) {
    (void)tracker, (void)block, (void)size;
}
HW_HOT void hw_tracker_free(HwTracker *tracker, const void *block) { (void)tracker, (void)block; }
HW_HOT void hw_tracker_realloc(HwTracker *tracker, const void *old, const void *block, uint64_t size) {
    (void)tracker, (void)old, (void)block, (void)size;
}

#endif

#ifdef __cplusplus
#include <memory>
#include <type_traits>

#if defined(_MSVC_LANG)
#define HW_CPP _MSVC_LANG
#else
#define HW_CPP __cplusplus
#endif
#if HW_CPP >= 201703L && defined(__has_include)
#if __has_include(<memory_resource>)
#include <memory_resource>
#define HW_HAS_PMR 1
#endif
#endif

namespace highwater {

/* A tracker that is open while it lives: on_alloc after the inner allocation, on_free before the inner free. */
class Tracker {
public:
    explicit Tracker(const char *name) : tracker_() { hw_tracker_open(&tracker_, name); }
    ~Tracker() { hw_tracker_close(&tracker_); }
    Tracker(const Tracker &) = delete;
    Tracker &operator=(const Tracker &) = delete;

    void on_alloc(const void *block, uint64_t size) noexcept { hw_tracker_alloc(&tracker_, block, size); }
    void on_free(const void *block) noexcept { hw_tracker_free(&tracker_, block); }
    void on_realloc(const void *old, const void *block, uint64_t size) noexcept {
        hw_tracker_realloc(&tracker_, old, block, size);
    }
    HwTracker *get() noexcept { return &tracker_; }

private:
    HwTracker tracker_;
};

/* An allocator of the standard library's kind, in front of another one.
 *
 *     highwater::Tracker tracker("Scene");
 *     std::vector<Node, highwater::Allocator<Node>> nodes(tracker); */
template <class T, class Inner = std::allocator<T>> class Allocator {
    typedef std::allocator_traits<Inner> Traits;
    static_assert(std::is_same<typename Traits::pointer, T *>::value, "the inner allocator has plain pointers");

public:
    typedef T value_type;
    typedef typename Traits::propagate_on_container_copy_assignment propagate_on_container_copy_assignment;
    typedef typename Traits::propagate_on_container_move_assignment propagate_on_container_move_assignment;
    typedef std::true_type propagate_on_container_swap;
    typedef std::false_type is_always_equal;
    template <class U> struct rebind {
        typedef Allocator<U, typename Traits::template rebind_alloc<U>> other;
    };

    Allocator(Tracker &tracker, const Inner &inner = Inner()) noexcept : tracker_(&tracker), inner_(inner) {}
    template <class U, class Other>
    Allocator(const Allocator<U, Other> &from) noexcept : tracker_(from.tracker_), inner_(from.inner_) {}

    T *allocate(size_t count) {
        T *block = Traits::allocate(inner_, count);
        tracker_->on_alloc(block, static_cast<uint64_t>(count) * sizeof(T));
        return block;
    }
    void deallocate(T *block, size_t count) noexcept {
        tracker_->on_free(block);
        Traits::deallocate(inner_, block, count);
    }

    template <class U, class Other> bool operator==(const Allocator<U, Other> &with) const noexcept {
        return tracker_ == with.tracker_ && inner_ == Inner(with.inner_);
    }
    template <class U, class Other> bool operator!=(const Allocator<U, Other> &with) const noexcept {
        return !(*this == with);
    }

private:
    template <class, class> friend class Allocator;
    Tracker *tracker_;
    Inner inner_;
};

#ifdef HW_HAS_PMR
/* A memory resource in front of another one.
 *
 *     highwater::Tracker tracker("Level");
 *     highwater::Resource resource(tracker);
 *     std::pmr::vector<Enemy> enemies(&resource); */
class Resource : public std::pmr::memory_resource {
public:
    explicit Resource(Tracker &tracker, std::pmr::memory_resource *inner = std::pmr::get_default_resource()) noexcept
        : tracker_(tracker), inner_(inner) {}

private:
    void *do_allocate(size_t size, size_t alignment) override {
        void *block = inner_->allocate(size, alignment);
        tracker_.on_alloc(block, size);
        return block;
    }
    void do_deallocate(void *block, size_t size, size_t alignment) override {
        tracker_.on_free(block);
        inner_->deallocate(block, size, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource &with) const noexcept override { return this == &with; }

    Tracker &tracker_;
    std::pmr::memory_resource *inner_;
};
#endif

} // namespace highwater
#endif

#endif
