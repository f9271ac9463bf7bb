// Stand-in for Unreal's header (../README.md): the virtual functions that its public reference lists.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#ifdef _WIN32
#define PLATFORM_WINDOWS 1
#define _TCHAR_DEFINED // Windows' headers leave TCHAR alone
#else
#define PLATFORM_WINDOWS 0
#endif
typedef std::size_t SIZE_T;
using uint32 = std::uint32_t;
using TCHAR = wchar_t;
struct FGenericMemoryStats;
class FOutputDevice;
enum { DEFAULT_ALIGNMENT = 0 };
class FMalloc {
public:
    virtual ~FMalloc() = default;
    virtual void *Malloc(SIZE_T Count, uint32 = DEFAULT_ALIGNMENT) { return std::malloc(Count); }
    virtual void *TryMalloc(SIZE_T Count, uint32 = DEFAULT_ALIGNMENT) { return std::malloc(Count); }
    virtual void *Realloc(void *Original, SIZE_T Count, uint32 = DEFAULT_ALIGNMENT) {
        return Count == 0 ? (std::free(Original), nullptr) : std::realloc(Original, Count);
    }
    virtual void *TryRealloc(void *Original, SIZE_T Count, uint32 Alignment = DEFAULT_ALIGNMENT) {
        return Count > SIZE_T(-1) / 4 ? nullptr : FMalloc::Realloc(Original, Count, Alignment);
    }
    virtual void Free(void *Original) { std::free(Original); }
    virtual SIZE_T QuantizeSize(SIZE_T Count, uint32) { return Count; }
    virtual bool GetAllocationSize(void *, SIZE_T &SizeOut) { return SizeOut = 77, true; }
    virtual void Trim(bool) {}
    virtual void SetupTLSCachesOnCurrentThread() {}
    virtual void ClearAndDisableTLSCachesOnCurrentThread() {}
    virtual void InitializeStatsMetadata() {}
    virtual void UpdateStats() {}
    virtual void GetAllocatorStats(FGenericMemoryStats &) {}
    virtual void DumpAllocatorStats(FOutputDevice &) {}
    virtual bool IsInternallyThreadSafe() const { return true; }
    virtual bool ValidateHeap() { return true; }
    virtual const TCHAR *GetDescriptiveName() { return L"stand-in"; }
};
