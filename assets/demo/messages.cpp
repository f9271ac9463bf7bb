// A queue whose messages live for some hundred milliseconds.
#include "program.h"

KEEP void MessageQueue::Initialize() {
    heap = HeapCreate(0, 16 * KB, 256 * KB);
    journal = CommitPages(1 * MB);
    first = nullptr;
    channels = nullptr;
    for (unsigned id = 0; id < 20; id++) {
        auto channel = new Channel();
        channel->id = id;
        channel->next = channels;
        channels = channel;
    }
}

namespace {

// Inlined into whoever posts.
INLINE Message* NewMessage(void* heap, unsigned length) {
    return static_cast<Message*>(RtlAllocateHeap(heap, 0, sizeof(Message) + length));
}

} // namespace

KEEP void MessageQueue::Post(unsigned channel, unsigned length) {
    auto message = NewMessage(heap, length);
    message->channel = channel;
    message->length = length;
    message->next = first;
    first = message;
}

KEEP void MessageQueue::Drain() {
    while (first) {
        auto next = first->next;
        RtlFreeHeap(heap, 0, first);
        first = next;
    }
}

KEEP void MessageQueue::Close() {
    Drain();
    HeapDestroy(heap);
    ReleasePages(journal);
}
