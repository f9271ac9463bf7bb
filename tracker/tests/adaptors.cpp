// The C++ adaptors, and a second file of the same program that has the same trackers.
#include "etw.h"

#include <list>
#include <vector>

// Live blocks and bytes of a tracker, from what was played.
static void add_up(HwTracker *tracker, int &blocks, uint64_t &bytes) {
    std::vector<std::pair<uint64_t, uint64_t>> live;
    for (LONG i = 0; i < played_count; i++) {
        const Played &event = played[i];
        if (event.event.Id == 100 && word(&event, 16) == reinterpret_cast<uintptr_t>(tracker)) {
            live.emplace_back(word(&event, 0), word(&event, 8));
        } else if (event.event.Id == 101 && word(&event, 8) == reinterpret_cast<uintptr_t>(tracker)) {
            size_t at = 0;
            while (at < live.size() && live[at].first != word(&event, 0)) at++;
            CHECK(at < live.size());
            live.erase(live.begin() + static_cast<ptrdiff_t>(at));
        }
    }
    blocks = static_cast<int>(live.size());
    bytes = 0;
    for (const auto &block : live) bytes += block.second;
}

static void check_live(highwater::Tracker &tracker, int blocks, uint64_t bytes) {
    int has = 0;
    uint64_t of = 0;
    add_up(tracker.get(), has, of);
    CHECK(has == blocks && of == bytes);
}

static void check_containers() {
    highwater::Tracker one("One"), other("Other");
    {
        std::vector<int, highwater::Allocator<int>> numbers(one);
        numbers.reserve(10);
        numbers.reserve(100);
        check_live(one, 1, 400);
        std::vector<int, highwater::Allocator<int>> moved(other);
        moved.reserve(3);
        moved = std::move(numbers); // its block stays that of its tracker
        check_live(one, 1, 400);
        check_live(other, 0, 0);
        std::list<short, highwater::Allocator<short>> nodes(other);
        nodes.assign(5, 1);
        int blocks = 0;
        uint64_t bytes = 0;
        add_up(other.get(), blocks, bytes);
        CHECK(blocks >= 5 && bytes >= 5 * sizeof(short));
    }
    check_live(one, 0, 0);
    check_live(other, 0, 0);
#ifdef HW_HAS_PMR
    highwater::Resource resource(one);
    {
        std::pmr::vector<std::pmr::vector<char>> rows(&resource);
        rows.resize(3);
        for (auto &row : rows) row.reserve(1000);
        int blocks = 0;
        uint64_t bytes = 0;
        add_up(one.get(), blocks, bytes);
        CHECK(blocks == 4 && bytes >= 3000);
    }
    check_live(one, 0, 0);
#endif
}

extern "C" void check_cpp(void);
extern "C" const HwShared *shared_of_c(void);
extern "C" void check_cpp(void) {
    CHECK(registered == 0 && shared_of_c() == &hw_shared);
    etw_start(4, 0);
    etw_clear();
    check_containers();
    etw_stop();
    CHECK(registered == 0);
}
