/* Unreal Engine 4 and 5: a proxy in front of the engine's allocator, as its own FMallocPoisonProxy is.
 * In the engine's source, at the end of FMemory::GCreateMalloc (HAL/UnrealMemory.cpp):
 *
 *     GMalloc = new FMallocHighwaterProxy(GMalloc);
 *
 * Unreal's own -trace=memory is for Unreal Insights; this is for one recording of everything that a
 * process has. */
#ifndef HW_RECIPE_UNREAL_H
#define HW_RECIPE_UNREAL_H

#include "HAL/MemoryBase.h"

#if PLATFORM_WINDOWS
#include "Windows/AllowWindowsPlatformTypes.h"
#endif
#include "../highwater.h"
#if PLATFORM_WINDOWS
#include "Windows/HideWindowsPlatformTypes.h"
#endif

class FMallocHighwaterProxy : public FMalloc {
public:
    explicit FMallocHighwaterProxy(FMalloc *InMalloc) : Inner(InMalloc), Tracker("Unreal") {}

    virtual void *Malloc(SIZE_T Count, uint32 Alignment) override { return Told(Inner->Malloc(Count, Alignment), Count); }
    virtual void *TryMalloc(SIZE_T Count, uint32 Alignment) override {
        return Told(Inner->TryMalloc(Count, Alignment), Count);
    }
    virtual void *Realloc(void *Original, SIZE_T Count, uint32 Alignment) override {
        return Resized(Original, Count, Alignment, false);
    }
    virtual void *TryRealloc(void *Original, SIZE_T Count, uint32 Alignment) override {
        return Resized(Original, Count, Alignment, true);
    }
    virtual void Free(void *Original) override {
        Tracker.on_free(Original);
        Inner->Free(Original);
    }

    virtual SIZE_T QuantizeSize(SIZE_T Count, uint32 Alignment) override { return Inner->QuantizeSize(Count, Alignment); }
    virtual bool GetAllocationSize(void *Original, SIZE_T &SizeOut) override {
        return Inner->GetAllocationSize(Original, SizeOut);
    }
    virtual void Trim(bool bTrimThreadCaches) override { Inner->Trim(bTrimThreadCaches); }
    virtual void SetupTLSCachesOnCurrentThread() override { Inner->SetupTLSCachesOnCurrentThread(); }
    virtual void ClearAndDisableTLSCachesOnCurrentThread() override { Inner->ClearAndDisableTLSCachesOnCurrentThread(); }
    virtual void InitializeStatsMetadata() override { Inner->InitializeStatsMetadata(); }
    virtual void UpdateStats() override { Inner->UpdateStats(); }
    virtual void GetAllocatorStats(FGenericMemoryStats &Stats) override { Inner->GetAllocatorStats(Stats); }
    virtual void DumpAllocatorStats(FOutputDevice &Device) override { Inner->DumpAllocatorStats(Device); }
    virtual bool IsInternallyThreadSafe() const override { return Inner->IsInternallyThreadSafe(); }
    virtual bool ValidateHeap() override { return Inner->ValidateHeap(); }
    virtual const TCHAR *GetDescriptiveName() override { return Inner->GetDescriptiveName(); }

private:
    void *Told(void *Block, SIZE_T Count) {
        Tracker.on_alloc(Block, Count);
        return Block;
    }

    // Another thread may get the old block inside the inner allocator's Realloc: its end is told before.
    void *Resized(void *Original, SIZE_T Count, uint32 Alignment, bool bTry) {
        SIZE_T OldSize = 0;
        if (Original && hw_tracker_is_on()) Inner->GetAllocationSize(Original, OldSize);
        Tracker.on_free(Original);
        void *Block = bTry ? Inner->TryRealloc(Original, Count, Alignment) : Inner->Realloc(Original, Count, Alignment);
        if (!Block && Count > 0) Tracker.on_alloc(Original, OldSize); // it failed and left the old block
        return Told(Block, Count);
    }

    FMalloc *Inner;
    highwater::Tracker Tracker;
};

#endif
