// The parts of MemoryTestApp and how they know each other.
#pragma once
#include "heap_tracker.h"
#include "system.h"

int Main();
void LoadConfiguration();
void ParseSettings(const char* text);

// A name and its value in the configuration.
struct Setting {
    unsigned name, length;
    const char* value;
    double number;
};

// Where a kind of message goes.
struct Channel {
    unsigned id, posted;
    Channel* next;
    char name[64];
};

struct Message {
    Message* next;
    unsigned channel, length;
    char text[1];
};

// Messages come and go on a heap of their own.
class MessageQueue {
public:
    void Initialize();
    void Post(unsigned channel, unsigned length);
    void Drain();
    void Close();

private:
    void* heap;
    char* journal;
    Channel* channels;
    Message* first;
};

// A custom heap on pages of its own, of which a tracker tells.
class PhysicsHeap {
public:
    PhysicsHeap();
    ~PhysicsHeap();
    bool Grow();
    ALLOCATOR void* Allocate(size_t size);
    ALLOCATOR void* Reallocate(void* block, size_t size);
    void Free(void* block);

private:
    VSHeapTracker::CHeapTracker tracker;
    char *arena, *top, *end;
};

struct RigidBody {
    float position[3], velocity[3], rotation[4];
    unsigned shape, flags;
    char state[4096 - 48];
};

// Bodies that move together; for one step.
struct Island {
    unsigned first, count;
};

struct BodyPair {
    unsigned a, b;
    float separation;
};

struct Contact {
    unsigned a, b;
    float point[3], normal[3], depth, impulse;
};

struct Joint {
    unsigned a, b;
    float anchor[3], limit[2];
    char solver[96];
};

// Many of one type, on the physics heap.
template <class T>
struct Batch {
    T* items = nullptr;
    Batch* next = nullptr;

    INLINE void Reserve(PhysicsHeap& heap, unsigned count) { items = static_cast<T*>(heap.Allocate(count * sizeof(T))); }
    INLINE void Resize(PhysicsHeap& heap, unsigned count) {
        items = static_cast<T*>(heap.Reallocate(items, count * sizeof(T)));
    }
};

class BroadPhase {
public:
    void UpdatePairs(PhysicsHeap& heap, unsigned bodies);

private:
    Batch<BodyPair> pairs;
};

class ContactSolver {
public:
    void AddContacts(PhysicsHeap& heap, unsigned pairs);
    void Reset(PhysicsHeap& heap);

private:
    Batch<Contact> contacts;
};

class PhysicsWorld {
public:
    void Create();
    void Step();
    void Destroy();
    bool IsRunning() const { return running; }

private:
    PhysicsHeap* heap;
    RigidBody* bodies[10];
    Joint* joints[10];
    BroadPhase broad_phase;
    ContactSolver solver;
    volatile bool running;
    unsigned step;
};
