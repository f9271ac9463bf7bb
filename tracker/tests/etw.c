/* The stand-in for ETW (etw.h). One provider, any number of sessions. */
#include "etw.h"

Played *played;
volatile LONG played_count;
volatile LONG registered, lost;

enum { HANDLE_NUMBER = 0x5151 };
static volatile LONG sessions;
static volatile LONG keeps = 1;
static volatile LONG level_now;
static volatile LONG keywords_fit = 1;
static PENABLECALLBACK callback;
static const GUID expected = {0x988917C5, 0x5748, 0x42A8, {0xA1, 0x27, 0xA9, 0xA2, 0x28, 0x52, 0x65, 0xD5}};

static Played *next_place(void) {
    LONG at;
    if (!played) played = (Played *)VirtualAlloc(NULL, ROOM * sizeof(Played), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    at = InterlockedIncrement(&played_count) - 1;
    CHECK(played && at < ROOM);
    return &played[at];
}

static void call_back(ULONG code, UCHAR level, ULONGLONG keywords) {
    GUID source;
    memset(&source, 0, sizeof source);
    if (callback) callback(&source, code, level, keywords, 0, NULL, NULL);
}

void etw_start(UCHAR level, ULONGLONG keywords) {
    Played *mark = next_place();
    memset(mark, 0, sizeof *mark);
    level_now = level;
    keywords_fit = keywords == 0 || (keywords & HW_KEYWORD) != 0;
    InterlockedIncrement(&sessions);
    call_back(1, level, keywords);
}

void etw_stop(void) {
    CHECK(InterlockedDecrement(&sessions) >= 0);
    call_back(0, 0, 0);
}

void etw_ask(void) { call_back(2, 0, 0); }

void etw_clear(void) { played_count = 0; }

void etw_keep(int does) { keeps = does; }

uint64_t word(const Played *event, int at) {
    uint64_t value;
    memcpy(&value, event->payload + at, sizeof value);
    return value;
}

/* As Windows may: calls the callback before it hands out the handle. */
ULONG EVNTAPI EventRegister(LPCGUID provider, PENABLECALLBACK enable, PVOID context, PREGHANDLE handle) {
    CHECK(memcmp(provider, &expected, sizeof expected) == 0 && context == NULL);
    CHECK(InterlockedIncrement(&registered) == 1);
    callback = enable;
    if (sessions > 0) call_back(1, (UCHAR)level_now, 0);
    *handle = HANDLE_NUMBER;
    return 0;
}

ULONG EVNTAPI EventUnregister(REGHANDLE handle) {
    CHECK(handle == HANDLE_NUMBER);
    CHECK(InterlockedDecrement(&registered) == 0);
    callback = NULL;
    return 0;
}

BOOLEAN EVNTAPI EventProviderEnabled(REGHANDLE handle, UCHAR level, ULONGLONG keyword) {
    CHECK(level == 4 && keyword == HW_KEYWORD);
    return handle == HANDLE_NUMBER && sessions > 0 && (level_now == 0 || level_now >= level) && keywords_fit;
}

ULONG EVNTAPI EventWrite(REGHANDLE handle, PCEVENT_DESCRIPTOR event, ULONG count, PEVENT_DATA_DESCRIPTOR data) {
    Played *kept;
    ULONG i;
    if (handle != HANDLE_NUMBER) {
        InterlockedIncrement(&lost);
        return ERROR_INVALID_HANDLE;
    }
    if (sessions == 0 || !keeps) return 0;
    kept = next_place();
    kept->event = *event;
    kept->thread = GetCurrentThreadId();
    kept->bytes = 0;
    for (i = 0; i < count; i++) {
        CHECK(kept->bytes + data[i].Size <= sizeof kept->payload);
        memcpy(kept->payload + kept->bytes, (const void *)(uintptr_t)data[i].Ptr, data[i].Size);
        kept->bytes += data[i].Size;
    }
    return 0;
}
