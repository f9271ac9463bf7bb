/* Live blocks of a tracker, followed through its events (recipes.h). */
#include "recipes.h"

#ifdef _WIN32
#include "etw.h"

void begin(void) { etw_start(4, 0); }

static struct {
    uint64_t address, size;
} live[64];
static int count;

static void forget(uint64_t address) {
    int i;
    for (i = 0; i < count && live[i].address != address; i++) {}
    CHECK(i < count);
    live[i] = live[--count];
}

static void add(uint64_t address, uint64_t size) {
    CHECK(count < 64);
    live[count].address = address;
    live[count++].size = size;
}

void expect_live_of(const HwTracker *tracker, int blocks, uint64_t bytes, const char *file, int line) {
    uint64_t sum = 0, handle = (uintptr_t)tracker;
    LONG at;
    int i;
    count = 0;
    for (at = 0; at < played_count; at++) {
        const Played *event = &played[at];
        switch (event->event.Id) {
        case 100:
            if (word(event, 16) == handle) add(word(event, 0), word(event, 8));
            break;
        case 101:
            if (word(event, 8) == handle) forget(word(event, 0));
            break;
        case 102:
            if (word(event, 24) != handle) break;
            forget(word(event, 16));
            add(word(event, 0), word(event, 8));
            break;
        }
    }
    for (i = 0; i < count; i++) sum += live[i].size;
    if (count == blocks && sum == bytes) return;
    fprintf(stderr, "%s:%d: %d blocks of %llu bytes\n", file, line, count, (unsigned long long)sum);
    exit(1);
}
#else
void begin(void) {}
void expect_live_of(const HwTracker *tracker, int blocks, uint64_t bytes, const char *file, int line) {
    (void)tracker, (void)blocks, (void)bytes, (void)file, (void)line;
}
#endif
