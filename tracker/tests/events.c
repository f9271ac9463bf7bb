/* Each event, byte for byte, and when which events are written. With the name of a file: writes the
 * events of a small story into it, for a test of the reader. */
#include "etw.h"

void check_cpp(void);
const HwShared *shared_of_c(void);

/* Files of one program have one state, in C and in C++. */
const HwShared *shared_of_c(void) { return &hw_shared; }

static HwTracker first, second, third;

/* The descriptor is that of Visual Studio's library: version 1, channel 16, opcodes behind the ids. */
static const Played *check(LONG at, USHORT id, ULONG bytes) {
    const Played *event = &played[at];
    CHECK(at < played_count);
    CHECK(event->event.Id == id && event->event.Opcode == id - 90 && event->bytes == bytes);
    CHECK(event->event.Version == 1 && event->event.Channel == 16 && event->event.Level == 4);
    CHECK(event->event.Task == 0 && event->event.Keyword == 0x8000000000000000ULL);
    return event;
}

static void check_name(LONG at, USHORT id, const HwTracker *tracker, const WCHAR *name) {
    const Played *event = check(at, id, 532);
    WCHAR expected[260] = {0};
    uint32_t units;
    memcpy(&units, event->payload + 8, sizeof units);
    memcpy(expected, name, wcslen(name) * sizeof(WCHAR));
    CHECK(word(event, 0) == (uintptr_t)tracker && units == 260);
    CHECK(memcmp(event->payload + 12, expected, sizeof expected) == 0);
}

static void check_words(LONG at, USHORT id, int count, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    const Played *event = check(at, id, (ULONG)count * 8);
    CHECK(word(event, 0) == a && word(event, 8) == b);
    CHECK(count < 3 || word(event, 16) == c);
    CHECK(count < 4 || word(event, 24) == d);
}

static const void *block(uintptr_t address) { return (const void *)address; }

static void nothing_without_a_session(void) {
    CHECK(registered == 0);
    hw_tracker_alloc(&first, block(16), 1); /* not open yet */
    hw_tracker_open(&first, "First");
    CHECK(registered == 1 && !hw_tracker_is_on());
    hw_tracker_alloc(&first, block(0x1000), 64);
    hw_tracker_free(&first, block(0x1000));
    hw_tracker_close(&first);
    CHECK(registered == 0 && played_count == 0 && lost == 0);
}

static void every_event(void) {
    uintptr_t handle = (uintptr_t)&first;
    hw_tracker_open(&first, "Spur 漢字 😀");
    etw_start(4, 0);
    etw_clear();
    hw_tracker_alloc(&first, block(0x7000), 0x123456789ABCULL);
    check_words(0, 100, 3, 0x7000, 0x123456789ABCULL, handle, 0);
    hw_tracker_realloc(&first, block(0x7000), block(0x9000), 7);
    check_words(1, 102, 4, 0x9000, 7, 0x7000, handle);
    hw_tracker_free(&first, block(0x9000));
    check_words(2, 101, 2, 0x9000, handle, 0, 0);
    hw_tracker_open(&second, NULL);
    check_name(3, 103, &second, L"Unknown");
    hw_tracker_close(&second);
    check_name(4, 104, &second, L"Unknown");
    hw_tracker_close(&first);
    check_name(5, 104, &first, L"Spur 漢字 😀");
    CHECK(played_count == 6);
    etw_stop();
}

static void what_is_no_block(void) {
    hw_tracker_open(&first, "First");
    etw_start(0, 0);
    etw_clear();
    hw_tracker_alloc(&first, NULL, 8);
    hw_tracker_free(&first, NULL);
    hw_tracker_realloc(&first, block(0x10), NULL, 8); /* failed */
    hw_tracker_realloc(&first, NULL, NULL, 0);
    hw_tracker_alloc(&second, block(0x10), 8); /* not open */
    hw_tracker_close(&second);
    CHECK(played_count == 0);
    hw_tracker_realloc(&first, NULL, block(0x20), 8);
    check_words(0, 100, 3, 0x20, 8, (uintptr_t)&first, 0);
    hw_tracker_realloc(&first, block(0x20), NULL, 0);
    check_words(1, 101, 2, 0x20, (uintptr_t)&first, 0, 0);
    CHECK(played_count == 2);
    hw_tracker_close(&first);
    etw_stop();
}

static void long_names(void) {
    char name[1200];
    WCHAR expected[260] = {0};
    int i;
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    for (i = 0; i < 259; i++) expected[i] = L'a';
    etw_start(4, 0);
    hw_tracker_open(&first, name);
    check_name(played_count - 1, 103, &first, expected);
    hw_tracker_close(&first);
    /* 258 letters, then one of two units, which no longer fits. */
    memcpy(name + 258, "\xF0\x9F\x98\x80", 5);
    expected[258] = 0;
    hw_tracker_open(&first, name);
    check_name(played_count - 1, 103, &first, expected);
    hw_tracker_close(&first);
    etw_stop();
}

static void names_again_for_each_session(void) {
    hw_tracker_open(&first, "First");
    hw_tracker_open(&second, "Second");
    hw_tracker_open(&third, "Third");
    hw_tracker_close(&second);
    etw_clear();
    etw_start(4, 0);
    CHECK(played_count == 3); /* the mark of the start, and two names */
    check_name(1, 103, &third, L"Third");
    check_name(2, 103, &first, L"First");
    etw_start(5, HW_KEYWORD);
    CHECK(played_count == 6);
    check_name(4, 103, &third, L"Third");
    etw_ask();
    CHECK(played_count == 8);
    etw_stop(); /* one of two */
    CHECK(hw_tracker_is_on() && played_count == 8);
    hw_tracker_alloc(&first, block(0x30), 3);
    CHECK(played_count == 9);
    etw_stop();
    CHECK(!hw_tracker_is_on());
    hw_tracker_alloc(&first, block(0x40), 3);
    etw_ask();
    CHECK(played_count == 9);
    hw_tracker_close(&first);
    hw_tracker_close(&third);
    CHECK(registered == 0);
}

static void sessions_that_do_not_want_them(void) {
    hw_tracker_open(&first, "First");
    etw_start(3, 0);
    CHECK(!hw_tracker_is_on());
    etw_stop();
    etw_start(5, 1);
    CHECK(!hw_tracker_is_on());
    etw_stop();
    hw_tracker_close(&first);
}

/* The session was there first: the callback comes inside EventRegister. */
static void registered_while_a_session_listens(void) {
    etw_start(4, 0);
    etw_clear();
    hw_tracker_open(&first, "First");
    CHECK(hw_tracker_is_on() && played_count == 1);
    check_name(0, 103, &first, L"First");
    hw_tracker_open(&first, "Twice"); /* is open already */
    CHECK(played_count == 1);
    hw_tracker_close(&first);
    CHECK(played_count == 2 && !hw_tracker_is_on() && lost == 0);
    etw_stop();
}

static void write_story(const char *path) {
    /* Handles are addresses: here they are the same in each run. */
    HwTracker *at = (HwTracker *)VirtualAlloc((void *)(uintptr_t)0x20000000, 1 << 16, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    FILE *file = fopen(path, "wb");
    LONG i;
    ULONG n;
    CHECK(at && file);
    hw_tracker_open(&at[0], "Textures");
    etw_clear();
    etw_start(4, 0);
    hw_tracker_open(&at[1], "Größe 漢字");
    hw_tracker_alloc(&at[0], block(0x30000000), 4096);
    hw_tracker_alloc(&at[0], block(0x30001000), 512);
    hw_tracker_alloc(&at[1], block(0x30000000), 32); /* a block inside of one of the other */
    hw_tracker_realloc(&at[0], block(0x30001000), block(0x30002000), 1024);
    hw_tracker_free(&at[0], block(0x30000000));
    etw_ask();
    hw_tracker_close(&at[1]);
    fprintf(file, "# id version channel level opcode task keyword payload; written by scripts/tracker.sh\n");
    for (i = 0; i < played_count; i++) {
        const Played *event = &played[i];
        if (event->event.Id == 0) continue;
        fprintf(file, "%u %u %u %u %u %u %016llx ", event->event.Id, event->event.Version, event->event.Channel,
                event->event.Level, event->event.Opcode, event->event.Task, (unsigned long long)event->event.Keyword);
        for (n = 0; n < event->bytes; n++) fprintf(file, "%02x", event->payload[n]);
        fprintf(file, "\n");
    }
    fclose(file);
    hw_tracker_close(&at[0]);
    etw_stop();
}

int main(int count, char **arguments) {
    nothing_without_a_session();
    every_event();
    what_is_no_block();
    long_names();
    names_again_for_each_session();
    sessions_that_do_not_want_them();
    registered_while_a_session_listens();
    check_cpp();
    CHECK(registered == 0 && lost == 0);
    if (count > 1) write_story(arguments[1]);
    printf("events: every byte is right\n");
    return 0;
}
