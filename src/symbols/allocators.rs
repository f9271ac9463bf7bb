//! Which functions are the allocator itself: between them and the code that wanted
//! the memory nobody finds a leak, so views can fold them away.

/// Whole names.
const NAMES: [&str; 62] = [
    // C runtimes
    "malloc",
    "calloc",
    "realloc",
    "free",
    "aligned_alloc",
    "_aligned_malloc",
    "_aligned_realloc",
    "_aligned_free",
    "_recalloc",
    "_strdup",
    "_wcsdup",
    "strdup",
    "_malloc_base",
    "_calloc_base",
    "_realloc_base",
    "_free_base",
    "_recalloc_base",
    "_malloc_dbg",
    "_calloc_dbg",
    "_realloc_dbg",
    "_free_dbg",
    "_malloc_crt",
    "_calloc_crt",
    "_realloc_crt",
    "_malloc_impl",
    "_heap_alloc",
    "_heap_alloc_dbg",
    "_nh_malloc",
    "heap_alloc_dbg",
    "heap_alloc_dbg_internal",
    "realloc_dbg_nolock",
    // C++
    "operator new",
    "operator new[]",
    "operator delete",
    "operator delete[]",
    "std::_Allocate",
    "std::_Deallocate",
    "std::_Allocate_manually_vector_aligned",
    "std::_Default_allocate_traits::_Allocate",
    // Windows
    "HeapAlloc",
    "HeapReAlloc",
    "HeapFree",
    "LocalAlloc",
    "LocalReAlloc",
    "LocalFree",
    "GlobalAlloc",
    "GlobalReAlloc",
    "GlobalFree",
    "CoTaskMemAlloc",
    "CoTaskMemRealloc",
    "CoTaskMemFree",
    "SysAllocString",
    "SysAllocStringLen",
    "VirtualAlloc",
    "VirtualAllocEx",
    "VirtualFree",
    "NtTraceEvent",
    "ZwTraceEvent",
    // Rust
    "__rust_alloc",
    "__rust_realloc",
    "__rust_alloc_zeroed",
    "__rust_dealloc",
];

/// How whole groups of names begin.
const PREFIXES: [&str; 16] = [
    "EtwEventWrite",
    "EtwpEventWrite",
    "EtwWrite",
    "EventWrite",
    "NtAllocateVirtualMemory",
    "NtFreeVirtualMemory",
    "ZwAllocateVirtualMemory",
    "ZwFreeVirtualMemory",
    "std::allocator<",
    "std::_Default_allocator",
    "alloc::alloc::",
    "__rdl_",
    "__rg_",
    "alloc::raw_vec::",
    "std::sys::alloc::",
    "VSHeapTracker::",
];

/// Whether a function (its name without parameters) only serves to get memory.
pub fn is_allocator(function: &str) -> bool {
    let plain = function.split_once('<').map_or(function, |(name, _)| name);
    NAMES.contains(&function)
        || NAMES.contains(&plain)
        || PREFIXES.iter().any(|prefix| function.starts_with(prefix))
        || is_heap_function(function)
}

/// `RtlAllocateHeap`, `RtlpAllocateHeapInternal`, `RtlpHpLfhSlotAllocate`, … of ntdll.
fn is_heap_function(function: &str) -> bool {
    let Some(rest) = function.strip_prefix("Rtl") else { return false };
    rest.starts_with("pHp") || rest.starts_with("pLowFragHeap") || rest.contains("Heap")
}

/// Modules through whose frames Windows and the C runtimes get memory, in lower case.
const MODULES: [&str; 11] = [
    "ntdll.dll",
    "kernelbase.dll",
    "kernel32.dll",
    "ucrtbase.dll",
    "ucrtbased.dll",
    "msvcrt.dll",
    "win32u.dll",
    "ntoskrnl.exe",
    "verifier.dll",
    "wow64.dll",
    "wow64cpu.dll",
];

/// How groups of such modules begin.
const MODULE_PREFIXES: [&str; 5] = ["msvcp", "msvcr", "vcruntime", "ntkrnl", "vrfcore"];

/// Whether a module (its file name) is one of the system's through which memory is got. Of a
/// frame without a name that says whether it can be the allocator's, if all that it called is
/// the allocator's too: elsewhere in a stack these modules start threads and call back.
pub fn is_allocators_module(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    MODULES.contains(&name.as_str()) || MODULE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocators_are_known_by_their_names_and_others_are_not() {
        for name in [
            "RtlAllocateHeap",
            "RtlpAllocateHeapInternal",
            "RtlpHpLfhSlotAllocate",
            "operator new",
            "operator new[]",
            "std::_Allocate<16,std::_Default_allocate_traits,0>",
            "malloc",
            "_malloc_base",
            "alloc::alloc::exchange_malloc",
            "VSHeapTracker::CHeapTracker::AllocateEvent",
            "std::allocator<char>::allocate",
        ] {
            assert!(is_allocator(name), "{name}");
        }
        for name in [
            "main",
            "mallocate",
            "operator new_thing",
            "RtlUserThreadStart",
            "PhysicsHeap::Allocate",
            "",
            "std::vector<int>::push_back",
        ] {
            assert!(!is_allocator(name), "{name}");
        }
    }

    #[test]
    fn modules_of_the_system_are_known_in_any_case() {
        for name in
            ["ntdll.dll", "KERNELBASE.dll", "VCRUNTIME140.dll", "msvcp140.dll", "ntkrnlmp.exe", "ucrtbase.dll", "Win32U.dll"]
        {
            assert!(is_allocators_module(name), "{name}");
        }
        for name in ["game.exe", "", "ntdll", "user32.dll", "my-msvcrt.dll"] {
            assert!(!is_allocators_module(name), "{name}");
        }
    }
}
