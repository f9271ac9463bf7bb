// A game's memory without a game: subsystems with allocators of their own, each with a tracker of
// tracker/highwater.h. Built by scripts/tracker.sh; by hand, from a Visual Studio prompt:
//
//     cl /std:c++17 /EHsc /Zi /I tracker assets\demo\tracker\game.cpp
//
// Record it while it runs (highwater record --trackers --name game.exe): Particles leaks, Level is
// freed as a whole, Textures grows by a step at each level.
#include "highwater.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

// Blocks of one size from a slab, in C's words: alloc after a block is taken, free before it goes back.
class Particles {
public:
    Particles() : tracker() { hw_tracker_open(&tracker, "Particles"); }
    ~Particles() {
        hw_tracker_close(&tracker);
        for (char *slab : slabs) std::free(slab);
    }

    void *Spawn() {
        if (vacant.empty()) Grow();
        void *particle = vacant.back();
        vacant.pop_back();
        hw_tracker_alloc(&tracker, particle, SIZE);
        return particle;
    }
    void Die(void *particle) {
        hw_tracker_free(&tracker, particle);
        vacant.push_back(particle);
    }

private:
    static constexpr size_t SIZE = 96, EACH = 256;

    void Grow() {
        char *slab = static_cast<char *>(std::malloc(SIZE * EACH));
        if (!slab) std::abort();
        slabs.push_back(slab);
        for (size_t i = 0; i < EACH; i++) vacant.push_back(slab + i * SIZE);
    }

    HwTracker tracker;
    std::vector<char *> slabs;
    std::vector<void *> vacant;
};

// Memory of one level: taken bit by bit, given back at once.
class LevelArena {
public:
    explicit LevelArena(size_t size) : tracker("Level"), memory(size) {}

    void *Take(size_t size) {
        size = (size + 15) & ~static_cast<size_t>(15);
        if (used + size > memory.size()) return nullptr;
        void *block = memory.data() + used;
        used += size;
        tracker.on_alloc(block, size);
        return block;
    }

private:
    highwater::Tracker tracker; // its end frees all blocks of the level
    std::vector<char> memory;
    size_t used = 0;
};

// Containers of the standard library on a tracker of their own.
struct Physics {
    struct Body {
        float position[3], speed[3];
    };
    typedef std::vector<Body, highwater::Allocator<Body>> Bodies;

    highwater::Tracker tracker{"Physics"};
    Bodies bodies{tracker};

    void AddBodies(int count) {
        for (int i = 0; i < count; i++) bodies.push_back(Body());
    }
    void Step() {
        Bodies pairs(bodies); // gone at the end of the step
        for (Body &body : pairs) body.position[1] -= 9.81f;
    }
};

// Containers that take a memory resource.
class Textures {
public:
    void Load(size_t bytes) { pixels.emplace_back(bytes); }

private:
    highwater::Tracker tracker{"Textures"};
    highwater::Resource resource{tracker};
    std::pmr::vector<std::pmr::vector<char>> pixels{&resource};
};

void PlayLevel(int number, int frames, int pause, Particles &particles, Physics &physics, Textures &textures) {
    LevelArena level(4 << 20);
    textures.Load(static_cast<size_t>(number) << 20);
    physics.AddBodies(500);
    std::vector<void *> alive;
    for (int frame = 0; frame < frames; frame++) {
        level.Take(1000);
        physics.Step();
        for (int i = 0; i < 20; i++) alive.push_back(particles.Spawn());
        // One of twenty is forgotten: the leak.
        for (int i = 0; i < 19; i++) {
            particles.Die(alive.back());
            alive.pop_back();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    }
}

} // namespace

// Levels, frames of each, milliseconds of a frame.
int main(int count, char **arguments) {
    int levels = count > 1 ? std::atoi(arguments[1]) : 10;
    int frames = count > 2 ? std::atoi(arguments[2]) : 120;
    int pause = count > 3 ? std::atoi(arguments[3]) : 16;
    Particles particles;
    Physics physics;
    Textures textures;
    for (int level = 1; level <= levels; level++) PlayLevel(level, frames, pause, particles, physics, textures);
    std::printf("played %d levels\n", levels);
    return 0;
}
