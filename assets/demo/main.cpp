// MemoryTestApp: what Microsoft's exercise "track user mode process allocations" looks
// for. A buffer that stays, one more half way, ten that come and go, and a leak.
#include "program.h"

constexpr size_t BUFFER = 10 * MB;

// One reading of a sensor that nobody frees.
struct Sample {
    unsigned long long time;
    double values[3];
    const Sample* before;
};
static_assert(sizeof(Sample) == 40, "the exercise finds blocks of 40 bytes");

static Array<Setting> settings;
static const Sample* latest;
static MessageQueue queue;
static PhysicsWorld world;
static char* working_buffer;

KEEP void ParseSettings(const char* text) {
    CommitPages(340 * 4 * KB);
    for (unsigned i = 0; text[i]; i++) settings.Add({i, 1, text + i, 0.5 * i});
}

KEEP void LoadConfiguration() {
    auto text = CommitPages(1 * MB);
    for (unsigned i = 0; i < 60; i++) text[i] = 'a';
    ParseSettings(text);
}

KEEP static void AllocateWorkingBuffers() {
    working_buffer = static_cast<char*>(VirtualAlloc(nullptr, BUFFER, RESERVE | COMMIT, READ_WRITE));
}

KEEP static void ManipulateTemporaryBuffer() {
    auto buffer = static_cast<char*>(VirtualAlloc(nullptr, BUFFER, RESERVE | COMMIT, READ_WRITE));
    for (size_t i = 0; i < BUFFER; i += 4 * KB) buffer[i] = 1;
    Sleep(100);
    ReleasePages(buffer);
}

KEEP static void Operation1() {
    ManipulateTemporaryBuffer();
}

KEEP static void InnerLoopOperation(unsigned long long time) {
    latest = new Sample{time, {}, latest};
}

KEEP int Main() {
    LoadConfiguration();
    AllocateWorkingBuffers();
    queue.Initialize();
    world.Create();
    for (unsigned tick = 0; tick < 32 * 34; tick++) {
        InnerLoopOperation(tick);
        queue.Post(tick % 20, tick % 400);
        if (tick % 8 == 7) queue.Drain();
        if (tick % 109 == 54) Operation1();
        if (tick == 16 * 34) VirtualAlloc(nullptr, BUFFER, RESERVE | COMMIT, READ_WRITE);
        Sleep(31);
    }
    ReleasePages(working_buffer);
    queue.Close();
    world.Destroy();
    return 0;
}
