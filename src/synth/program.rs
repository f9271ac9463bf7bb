//! `MemoryTestApp.exe` of the demo as it was built from `assets/demo`.
//! Written by `scripts/demo.sh`; not to be changed by hand.

use super::image::{Build, Call, Function};

/// Which build it is.
pub(super) const BUILD: Build = Build {
    guid: [0xC0, 0x80, 0xE0, 0x98, 0xA3, 0xFF, 0x8A, 0xBB, 0x4C, 0x4C, 0x44, 0x20, 0x50, 0x44, 0x42, 0x2E],
    time_stamp: 0xD6530E4C,
};

/// Bytes that it has when it is mapped.
pub(super) const SIZE: u64 = 0x4000;

/// Its PDB in a cabinet, as a symbol store has it.
pub(super) const PDB: &[u8] =
    include_bytes!("../../assets/demo/MemoryTestApp.pdb/98E080C0FFA3BB8A4C4C44205044422E1/MemoryTestApp.pd_");

/// CRC-32 of the sources, each behind its name and a zero.
#[cfg(test)]
pub(super) const SOURCES: u32 = 0x1739F532;

/// Its functions.
pub(super) const FUNCTIONS: &[Function] = &[
    Function { name: "VSHeapTracker::CHeapTracker::CHeapTracker", rva: 0x1000, size: 0x59 },
    Function { name: "VSHeapTracker::CHeapTracker::~CHeapTracker", rva: 0x1060, size: 0x51 },
    Function { name: "VSHeapTracker::CHeapTracker::AllocateEvent", rva: 0x10c0, size: 0x70 },
    Function { name: "VSHeapTracker::CHeapTracker::DeallocateEvent", rva: 0x1130, size: 0x58 },
    Function { name: "VSHeapTracker::CHeapTracker::ReallocateEvent", rva: 0x1190, size: 0x94 },
    Function { name: "ParseSettings", rva: 0x1230, size: 0xc9 },
    Function { name: "LoadConfiguration", rva: 0x1300, size: 0x8c },
    Function { name: "Main", rva: 0x1390, size: 0x131 },
    Function { name: "AllocateWorkingBuffers", rva: 0x14d0, size: 0x28 },
    Function { name: "InnerLoopOperation", rva: 0x1500, size: 0x3c },
    Function { name: "Operation1", rva: 0x1540, size: 0xe },
    Function { name: "ManipulateTemporaryBuffer", rva: 0x1550, size: 0x66 },
    Function { name: "Array<Setting>::Grow", rva: 0x15c0, size: 0x70 },
    Function { name: "MessageQueue::Initialize", rva: 0x1630, size: 0x8f },
    Function { name: "MessageQueue::Post", rva: 0x16c0, size: 0x39 },
    Function { name: "MessageQueue::Drain", rva: 0x1700, size: 0x40 },
    Function { name: "MessageQueue::Close", rva: 0x1740, size: 0x2c },
    Function { name: "PhysicsHeap::Grow", rva: 0x1770, size: 0x3b },
    Function { name: "PhysicsHeap::Allocate", rva: 0x17b0, size: 0x56 },
    Function { name: "PhysicsHeap::Reallocate", rva: 0x1810, size: 0x29 },
    Function { name: "PhysicsHeap::Free", rva: 0x1840, size: 0x1c },
    Function { name: "BroadPhase::UpdatePairs", rva: 0x1860, size: 0x60 },
    Function { name: "ContactSolver::AddContacts", rva: 0x18c0, size: 0x60 },
    Function { name: "ContactSolver::Reset", rva: 0x1920, size: 0x17 },
    Function { name: "PhysicsThread", rva: 0x1940, size: 0x43 },
    Function { name: "PhysicsWorld::Step", rva: 0x1990, size: 0xc8 },
    Function { name: "PhysicsWorld::Create", rva: 0x1a60, size: 0x112 },
    Function { name: "PhysicsWorld::Destroy", rva: 0x1b80, size: 0x3b },
    Function { name: "operator new", rva: 0x1bc0, size: 0xe },
    Function { name: "operator delete", rva: 0x1bd0, size: 0xe },
    Function { name: "__scrt_common_main_seh", rva: 0x1be0, size: 0x1c },
    Function { name: "pre_c_initialization", rva: 0x1c00, size: 0x2b },
    Function { name: "FlushNothing", rva: 0x1c30, size: 0x3 },
];

/// Its calls, by caller and callee.
pub(super) const CALLS: &[Call] = &[
    Call { caller: "AllocateWorkingBuffers", callee: "VirtualAlloc", returns_to: 0x14ec },
    Call { caller: "Array<Setting>::Grow", callee: "operator delete", returns_to: 0x1625 },
    Call { caller: "Array<Setting>::Grow", callee: "operator new", returns_to: 0x15e6 },
    Call { caller: "BroadPhase::UpdatePairs", callee: "PhysicsHeap::Allocate", returns_to: 0x1886 },
    Call { caller: "BroadPhase::UpdatePairs", callee: "PhysicsHeap::Reallocate", returns_to: 0x18b5 },
    Call { caller: "ContactSolver::AddContacts", callee: "PhysicsHeap::Allocate", returns_to: 0x18e6 },
    Call { caller: "ContactSolver::AddContacts", callee: "PhysicsHeap::Reallocate", returns_to: 0x1915 },
    Call { caller: "ContactSolver::Reset", callee: "PhysicsHeap::Free", returns_to: 0x1932 },
    Call { caller: "InnerLoopOperation", callee: "operator new", returns_to: 0x1512 },
    Call { caller: "LoadConfiguration", callee: "ParseSettings", returns_to: 0x1386 },
    Call { caller: "LoadConfiguration", callee: "VirtualAlloc", returns_to: 0x131f },
    Call { caller: "Main", callee: "AllocateWorkingBuffers", returns_to: 0x13a8 },
    Call { caller: "Main", callee: "InnerLoopOperation", returns_to: 0x142c },
    Call { caller: "Main", callee: "LoadConfiguration", returns_to: 0x13a3 },
    Call { caller: "Main", callee: "MessageQueue::Close", returns_to: 0x14a4 },
    Call { caller: "Main", callee: "MessageQueue::Drain", returns_to: 0x144d },
    Call { caller: "Main", callee: "MessageQueue::Initialize", returns_to: 0x13b7 },
    Call { caller: "Main", callee: "MessageQueue::Post", returns_to: 0x143d },
    Call { caller: "Main", callee: "Operation1", returns_to: 0x145a },
    Call { caller: "Main", callee: "PhysicsWorld::Create", returns_to: 0x13c3 },
    Call { caller: "Main", callee: "PhysicsWorld::Destroy", returns_to: 0x14b0 },
    Call { caller: "Main", callee: "Sleep", returns_to: 0x13da },
    Call { caller: "Main", callee: "VirtualAlloc", returns_to: 0x147f },
    Call { caller: "Main", callee: "VirtualFree", returns_to: 0x1498 },
    Call { caller: "ManipulateTemporaryBuffer", callee: "Sleep", returns_to: 0x15a0 },
    Call { caller: "ManipulateTemporaryBuffer", callee: "VirtualAlloc", returns_to: 0x156d },
    Call { caller: "ManipulateTemporaryBuffer", callee: "VirtualFree", returns_to: 0x15b0 },
    Call { caller: "MessageQueue::Close", callee: "HeapDestroy", returns_to: 0x1755 },
    Call { caller: "MessageQueue::Close", callee: "MessageQueue::Drain", returns_to: 0x174d },
    Call { caller: "MessageQueue::Close", callee: "VirtualFree", returns_to: 0x1766 },
    Call { caller: "MessageQueue::Drain", callee: "RtlFreeHeap", returns_to: 0x172d },
    Call { caller: "MessageQueue::Initialize", callee: "HeapCreate", returns_to: 0x1652 },
    Call { caller: "MessageQueue::Initialize", callee: "VirtualAlloc", returns_to: 0x166d },
    Call { caller: "MessageQueue::Initialize", callee: "operator new", returns_to: 0x168a },
    Call { caller: "MessageQueue::Post", callee: "RtlAllocateHeap", returns_to: 0x16e0 },
    Call { caller: "Operation1", callee: "ManipulateTemporaryBuffer", returns_to: 0x1549 },
    Call { caller: "ParseSettings", callee: "Array<Setting>::Grow", returns_to: 0x12dd },
    Call { caller: "ParseSettings", callee: "VirtualAlloc", returns_to: 0x1262 },
    Call { caller: "PhysicsHeap::Allocate", callee: "PhysicsHeap::Grow", returns_to: 0x17d6 },
    Call { caller: "PhysicsHeap::Allocate", callee: "VSHeapTracker::CHeapTracker::AllocateEvent", returns_to: 0x17fb },
    Call { caller: "PhysicsHeap::Free", callee: "VSHeapTracker::CHeapTracker::DeallocateEvent", returns_to: 0x1851 },
    Call { caller: "PhysicsHeap::Grow", callee: "VirtualAlloc", returns_to: 0x1792 },
    Call { caller: "PhysicsHeap::Reallocate", callee: "VSHeapTracker::CHeapTracker::ReallocateEvent", returns_to: 0x1830 },
    Call { caller: "PhysicsThread", callee: "PhysicsWorld::Step", returns_to: 0x1968 },
    Call { caller: "PhysicsThread", callee: "Sleep", returns_to: 0x1972 },
    Call { caller: "PhysicsWorld::Create", callee: "PhysicsHeap::Allocate", returns_to: 0x1add },
    Call { caller: "PhysicsWorld::Create", callee: "PhysicsHeap::Grow", returns_to: 0x1abc },
    Call { caller: "PhysicsWorld::Create", callee: "VSHeapTracker::CHeapTracker::CHeapTracker", returns_to: 0x1a84 },
    Call { caller: "PhysicsWorld::Create", callee: "VirtualAlloc", returns_to: 0x1a9c },
    Call { caller: "PhysicsWorld::Create", callee: "_beginthreadex", returns_to: 0x1b66 },
    Call { caller: "PhysicsWorld::Create", callee: "operator new", returns_to: 0x1b0a },
    Call { caller: "PhysicsWorld::Destroy", callee: "Sleep", returns_to: 0x1b99 },
    Call { caller: "PhysicsWorld::Destroy", callee: "VSHeapTracker::CHeapTracker::~CHeapTracker", returns_to: 0x1bb5 },
    Call { caller: "PhysicsWorld::Destroy", callee: "VirtualFree", returns_to: 0x1bad },
    Call { caller: "PhysicsWorld::Step", callee: "BroadPhase::UpdatePairs", returns_to: 0x19d0 },
    Call { caller: "PhysicsWorld::Step", callee: "ContactSolver::AddContacts", returns_to: 0x19f7 },
    Call { caller: "PhysicsWorld::Step", callee: "ContactSolver::Reset", returns_to: 0x1a52 },
    Call { caller: "PhysicsWorld::Step", callee: "PhysicsHeap::Allocate", returns_to: 0x1a04 },
    Call { caller: "VSHeapTracker::CHeapTracker::AllocateEvent", callee: "EtwEventWriteTransfer", returns_to: 0x112b },
    Call { caller: "VSHeapTracker::CHeapTracker::CHeapTracker", callee: "EtwEventWriteTransfer", returns_to: 0x1050 },
    Call { caller: "VSHeapTracker::CHeapTracker::DeallocateEvent", callee: "EtwEventWriteTransfer", returns_to: 0x1183 },
    Call { caller: "VSHeapTracker::CHeapTracker::ReallocateEvent", callee: "EtwEventWriteTransfer", returns_to: 0x121c },
    Call { caller: "VSHeapTracker::CHeapTracker::~CHeapTracker", callee: "EtwEventWriteTransfer", returns_to: 0x10ac },
    Call { caller: "__scrt_common_main_seh", callee: "Main", returns_to: 0x1bf7 },
    Call { caller: "__scrt_common_main_seh", callee: "pre_c_initialization", returns_to: 0x1be9 },
    Call { caller: "operator delete", callee: "_free_base", returns_to: 0x1bd9 },
    Call { caller: "operator new", callee: "_malloc_base", returns_to: 0x1bc9 },
    Call { caller: "pre_c_initialization", callee: "_configure_narrow_argv", returns_to: 0x1c21 },
    Call { caller: "pre_c_initialization", callee: "_initialize_narrow_environment", returns_to: 0x1c26 },
    Call { caller: "pre_c_initialization", callee: "_register_onexit_function", returns_to: 0x1c17 },
];
