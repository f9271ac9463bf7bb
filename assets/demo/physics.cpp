// The simulation: a thread that works on a heap of its own, a sawtooth of memory.
#include "program.h"

INLINE void* operator new(size_t, void* place) {
    return place;
}

constexpr size_t ARENA = 2 * MB, PIECE = 512 * KB;

INLINE PhysicsHeap::PhysicsHeap() : tracker("PhysicsHeap") {
    arena = top = end = static_cast<char*>(VirtualAlloc(nullptr, ARENA, RESERVE, READ_WRITE));
}

INLINE PhysicsHeap::~PhysicsHeap() {
    ReleasePages(arena);
}

KEEP bool PhysicsHeap::Grow() {
    auto piece = static_cast<char*>(VirtualAlloc(end, PIECE, COMMIT, READ_WRITE));
    if (piece) end += PIECE;
    return piece != nullptr;
}

KEEP void* PhysicsHeap::Allocate(size_t size) {
    while (top + size > end) {
        if (!Grow()) return nullptr;
    }
    auto block = top;
    top += (size + 63) / 64 * 64;
    tracker.AllocateEvent(block, size);
    return block;
}

KEEP void* PhysicsHeap::Reallocate(void* block, size_t size) {
    auto moved = top + size <= end ? top : static_cast<char*>(block);
    tracker.ReallocateEvent(block, moved, size);
    return moved;
}

KEEP void PhysicsHeap::Free(void* block) {
    tracker.DeallocateEvent(block);
    top = static_cast<char*>(block);
}

KEEP void BroadPhase::UpdatePairs(PhysicsHeap& heap, unsigned bodies) {
    pairs.Reserve(heap, bodies * 64);
    if (bodies % 6 == 3) pairs.Resize(heap, bodies * 96);
}

KEEP void ContactSolver::AddContacts(PhysicsHeap& heap, unsigned pairs) {
    contacts.Reserve(heap, pairs * 16);
    if (pairs % 6 == 3) contacts.Resize(heap, pairs * 24);
}

KEEP void ContactSolver::Reset(PhysicsHeap& heap) {
    heap.Free(contacts.items);
}

// A thread for as long as there is a world.
KEEP unsigned PhysicsThread(void* argument) {
    auto world = static_cast<PhysicsWorld*>(argument);
    while (world->IsRunning()) {
        world->Step();
        Sleep(20);
    }
    return 0;
}

KEEP void PhysicsWorld::Create() {
    alignas(PhysicsHeap) static char place[sizeof(PhysicsHeap)];
    heap = new (place) PhysicsHeap();
    heap->Grow();
    for (auto& body : bodies) body = static_cast<RigidBody*>(heap->Allocate(sizeof(RigidBody)));
    for (auto& joint : joints) joint = new Joint();
    running = true;
    unsigned id;
    _beginthreadex(nullptr, 64 * KB, PhysicsThread, this, 0, &id);
}

KEEP void PhysicsWorld::Step() {
    // Some more each time, and once in a while all goes at once.
    if (++step % 50 == 0) return solver.Reset(*heap);
    broad_phase.UpdatePairs(*heap, step % 50);
    solver.AddContacts(*heap, step % 50);
    auto islands = static_cast<Island*>(heap->Allocate(512 * sizeof(Island)));
    for (unsigned i = 0; i < 512; i++) islands[i] = {i, 1};
}

KEEP void PhysicsWorld::Destroy() {
    running = false;
    Sleep(40);
    heap->~PhysicsHeap();
}
