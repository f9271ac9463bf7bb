//! The rule that finds the responsible caller, given only the roles of a stack's frames.
//!
//! Frames are numbered from the innermost. The allocator's run is the code that gets the memory. Hooks between two
//! parts of the allocator are its guests and belong to the run. Behind the run, frames of libraries are skipped.

use crate::stack_rules::Role;

/// Largest number of guest frames between the run and an entry point.
const GUESTS: usize = 8;
/// Largest number of guest frames where no names tell which frame is an entry point.
const UNNAMED_GUESTS: usize = 4;
/// Number of frames examined behind unnamed guests.
const LOOKED_AT: usize = 1_000;

/// The frames of a stack, innermost first.
pub(super) trait Frames {
    /// Returns the role of a frame; `None` behind the outermost.
    fn role(&mut self, frame: usize) -> Option<Role>;

    /// Returns whether two frames are in the same module.
    fn is_one_module(&mut self, a: usize, b: usize) -> bool;
}

/// The frame numbers at which a stack divides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Division {
    /// Number of frames in the allocator's run.
    pub(super) run: usize,
    /// Number of the responsible caller's frame.
    pub(super) responsible: usize,
}

/// Divides a stack of at least one frame.
pub(super) fn divide(frames: &mut impl Frames) -> Division {
    let run = run(frames);
    let mut behind = run;
    while let Some(role) = frames.role(behind) {
        if !role.is_passed() {
            return Division { run, responsible: behind };
        }
        behind += 1;
    }
    let is_there = frames.role(run).is_some();
    Division { run, responsible: if is_there { run } else { 0 } }
}

/// Returns the number of frames in the allocator's run.
fn run(frames: &mut impl Frames) -> usize {
    let mut run = 0;
    loop {
        while frames.role(run).is_some_and(|role| role.has(Role::ALLOCATOR)) {
            run += 1;
        }
        match behind_guests(frames, run).or_else(|| behind_unnamed_guests(frames, run)) {
            Some(behind) => run = behind,
            None => return run,
        }
    }
}

/// Returns the frame behind an entry point that is at most [`GUESTS`] frames behind the run, if there is one.
fn behind_guests(frames: &mut impl Frames, run: usize) -> Option<usize> {
    let mut guests = run..=run + GUESTS;
    let entry = guests.find_map(|frame| match frames.role(frame) {
        None => Some(None),
        Some(role) => role.has(Role::ENTRY).then_some(Some(frame + 1)),
    });
    entry.flatten()
}

/// Returns the C run-time's frame behind guests of one module, if neither has names. Requires a frame behind it that is
/// neither of Windows nor of that module, and none of that module; otherwise the guests could be a callback.
fn behind_unnamed_guests(frames: &mut impl Frames, run: usize) -> Option<usize> {
    let is_unnamed = |role: Role| role.has(Role::UNNAMED);
    let is_runtime = |role: Role| is_unnamed(role) && role.has(Role::RUNTIME);
    let mut runtime = run;
    while runtime - run <= UNNAMED_GUESTS {
        let role = frames.role(runtime)?;
        if is_runtime(role) {
            break;
        }
        if !is_unnamed(role) || !frames.is_one_module(run, runtime) {
            return None;
        }
        runtime += 1;
    }
    if !(1..=UNNAMED_GUESTS).contains(&(runtime - run)) || !frames.role(runtime).is_some_and(is_runtime) {
        return None;
    }
    let mut is_others = false;
    for behind in runtime + 1..runtime + LOOKED_AT {
        let Some(role) = frames.role(behind) else { break };
        if frames.is_one_module(run, behind) {
            return None;
        }
        is_others |= !role.has(Role::WINDOWS);
    }
    is_others.then_some(runtime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack_rules::{FrameFacts, StackRules, WrittenOrigins};

    /// A stack as printed frames, innermost first.
    struct Printed<'a>(&'a [&'a str], StackRules);

    fn parts(frame: &str) -> (Option<&str>, Option<&str>) {
        match frame.split_once('!') {
            None => (None, None),
            Some((module, function)) => (Some(module), (!function.starts_with('+')).then_some(function)),
        }
    }

    impl Frames for Printed<'_> {
        fn role(&mut self, frame: usize) -> Option<Role> {
            let text = self.0.get(frame)?;
            let (text, file) = text.split_once(" @ ").map_or((*text, None), |(text, file)| (text, Some(file)));
            let (module, function) = parts(text);
            let folder = if matches!(module, Some("game.exe" | "hook.dll" | "app.dll" | "plugin.dll")) {
                r"C:\game\"
            } else {
                r"C:\Windows\System32\"
            };
            let path = module.map(|module| format!("{folder}{module}"));
            let address = if text.starts_with("ntoskrnl") || text.starts_with("0xf") { 1 << 63 } else { 0x1000 };
            Some(self.1.role(&FrameFacts { address, module, path: path.as_deref(), rva: 1, function, file }))
        }

        fn is_one_module(&mut self, a: usize, b: usize) -> bool {
            let module = |frame: usize| self.0.get(frame).and_then(|frame| parts(frame).0);
            module(a).is_some() && module(a) == module(b)
        }
    }

    fn of(frames: &[&str]) -> Division {
        divide(&mut Printed(frames, StackRules::default()))
    }

    /// Each stack is innermost first; `>` marks the frame behind the run, `*` the responsible caller.
    #[test]
    fn planted_stacks_have_their_responsible_caller() {
        let stacks: &[&[&str]] = &[
            // Allocators with various names.
            &["ntdll.dll!RtlAllocateHeap", ">*game.exe!Load", "game.exe!main"],
            &[
                "ntdll.dll!RtlpAllocateHeapInternal",
                "ntdll.dll!RtlAllocateHeap",
                "ucrtbase.dll!_malloc_base",
                "game.exe!operator new",
                ">*game.exe!Load",
            ],
            &["ntdll.dll!+0x1", "ucrtbase.dll!+0x2", ">*game.exe!+0x3", "game.exe!+0x4"],
            &[
                "ntoskrnl.exe!+0x1",
                "0xfffff80000000000",
                "ntdll.dll!NtAllocateVirtualMemory",
                "kernelbase.dll!VirtualAlloc2",
                ">*game.exe!Arena::Grow",
            ],
            &[
                "ntoskrnl.exe!NtAllocateVirtualMemory",
                "ntdll.dll!RtlpFindAndCommitPages",
                "ntdll.dll!RtlAllocateHeap",
                ">*game.exe!LoadLevel",
            ],
            &[
                "ntdll.dll!RtlAllocateHeap",
                "kernelbase.dll!LocalAlloc",
                "combase.dll!CRetailMalloc_Alloc",
                "combase.dll!CoTaskMemAlloc",
                ">*game.exe!Load",
            ],
            &["ntdll.dll!RtlAllocateHeap", "kernel32.dll!HeapAllocStub", ">*game.exe!Load"],
            &["ucrtbase.dll!_o_malloc", ">*game.exe!Load"],
            &["game.exe!mi_heap_malloc", "game.exe!mi_malloc", ">*game.exe!Load"],
            &[
                "game.exe!FMallocBinned2::Malloc",
                "game.exe!FMemory::Malloc",
                "game.exe!TArray<int>::ResizeGrow",
                ">*game.exe!AActor::BeginPlay",
            ],
            &["game.exe!rpmalloc", ">*game.exe!Load"],
            &["game.exe!je_malloc", ">*game.exe!Load"],
            // A user's function is no allocator, whatever words its name contains.
            &["ntdll.dll!RtlAllocateHeap", ">*game.exe!Level::AllocateEnemies", "game.exe!main"],
            &["ntdll.dll!RtlAllocateHeap", ">*game.exe!PoolMalloc", "game.exe!Load"],
            &["ntdll.dll!RtlAllocateHeap", ">*game.exe!PoolAllocator::allocate", "game.exe!Load"],
            &["ntdll.dll!RtlAllocateHeap", ">*game.exe!Malloc", "game.exe!Load"],
            &["ntdll.dll!+0x1", ">*app.dll!+0x2"],
            // Growing containers belong to the allocator if no user code is inside them.
            &[
                "game.exe!operator new",
                "game.exe!std::vector<int,std::allocator<int> >::_Emplace_reallocate<int>",
                ">*game.exe!Load",
            ],
            &[
                "game.exe!operator new",
                ">*game.exe!Particle::Particle",
                "game.exe!std::vector<Particle>::_Emplace_reallocate<int>",
                "game.exe!Load",
            ],
            &["game.exe!operator new", ">*game.exe!Node::Node", "game.exe!std::make_shared<Node>", "game.exe!Load"],
            // Guests: hooks, and a game's own manager behind operator new.
            &["ntdll.dll!RtlAllocateHeap", "hook.dll!Detour", "hook.dll!Record", "ucrtbase.dll!malloc", ">*game.exe!Load"],
            &["ntdll.dll!RtlAllocateHeap", "game.exe!MemoryManager::Get", "game.exe!operator new", ">*game.exe!Load"],
            &[
                "ntdll.dll!RtlAllocateHeap",
                "hook.dll!a",
                "hook.dll!b",
                "hook.dll!c",
                "hook.dll!d",
                "hook.dll!e",
                "hook.dll!f",
                "hook.dll!g",
                "hook.dll!h",
                "ucrtbase.dll!malloc",
                ">*game.exe!Load",
            ],
            &[
                "ntdll.dll!RtlAllocateHeap",
                ">*hook.dll!a",
                "hook.dll!b",
                "hook.dll!c",
                "hook.dll!d",
                "hook.dll!e",
                "hook.dll!f",
                "hook.dll!g",
                "hook.dll!h",
                "hook.dll!i",
                "ucrtbase.dll!malloc",
                "game.exe!Load",
            ],
            // Without names.
            &["ntdll.dll!+0x1", "hook.dll!+0x2", "ucrtbase.dll!+0x3", ">*game.exe!+0x4"],
            &[
                "ntdll.dll!+0x1",
                "hook.dll!+0x2",
                "hook.dll!+0x3",
                "hook.dll!+0x4",
                "hook.dll!+0x5",
                "ucrtbase.dll!+0x6",
                ">*game.exe!+0x7",
            ],
            &[
                "ntdll.dll!+0x1",
                ">*hook.dll!+0x2",
                "hook.dll!+0x3",
                "hook.dll!+0x4",
                "hook.dll!+0x5",
                "hook.dll!+0x6",
                "ucrtbase.dll!+0x7",
                "game.exe!+0x8",
            ],
            &["ntdll.dll!+0x1", ">*game.exe!+0x2", "ucrtbase.dll!+0x3", "game.exe!+0x4"], // qsort's function
            &["ntdll.dll!+0x1", ">*game.exe!+0x2", "ucrtbase.dll!+0x3", "kernel32.dll!+0x4", "ntdll.dll!+0x5"], // a thread of the C run-time
            &["ntdll.dll!+0x1", ">*plugin.dll!+0x2", "user32.dll!+0x3", "game.exe!+0x4"], // a window procedure
            &["ntdll.dll!+0x1", ">*hook.dll!+0x2", "plugin.dll!+0x3", "ucrtbase.dll!+0x4", "game.exe!+0x5"],
            &["ntdll.dll!+0x1", ">*hook.dll!Named", "ucrtbase.dll!+0x3", "game.exe!+0x4"],
            // A callback has no entry point behind it.
            &["ntdll.dll!RtlAllocateHeap", ">*game.exe!Compare", "ucrtbase.dll!qsort", "game.exe!Load"],
            &["ntdll.dll!RtlAllocateHeap", ">*game.exe!WndProc", "user32.dll!DispatchMessageW", "game.exe!main"],
            // Libraries behind the run.
            &["ntdll.dll!RtlAllocateHeap", ">d3d11.dll!Create", "dxgi.dll!Present", "*game.exe!Render", "game.exe!main"],
            &[
                "app.dll!__rdl_alloc",
                "app.dll!alloc::alloc::alloc",
                "app.dll!alloc::raw_vec::RawVec<T,A>::grow_one",
                ">app.dll!alloc::vec::Vec<T,A>::push @ /rustc/17067e9/library/alloc/src/vec/mod.rs",
                "*app.dll!leak::grow @ src\\leak.rs",
            ],
            &[
                "ntdll.dll!RtlAllocateHeap",
                ">game.exe!serde_json::parse @ C:\\Users\\a\\.cargo\\registry\\src\\i\\serde_json\\src\\de.rs",
                "*game.exe!load",
            ],
            &["ntdll.dll!RtlAllocateHeap", ">game.exe!std::vector<int>::push_back", "*game.exe!Load"],
            &[
                "ntdll.dll!RtlAllocateHeap",
                ">game.exe!invoke_main @ D:\\a\\_work\\1\\s\\src\\vctools\\crt\\exe_common.inl",
                "*game.exe!Load",
            ],
            // No frame is the user's.
            &[
                "ntdll.dll!RtlAllocateHeap",
                ">*user32.dll!Create",
                "kernel32.dll!BaseThreadInitThunk",
                "ntdll.dll!RtlUserThreadStart",
            ],
            &["*ntdll.dll!RtlAllocateHeap", "kernel32.dll!BaseThreadInitThunk", "ntdll.dll!RtlUserThreadStart"],
            &[">*0x1234"],
        ];
        assert!(stacks.len() >= 40, "{}", stacks.len());
        for &stack in stacks {
            let find =
                |mark: char| stack.iter().position(|frame| frame.chars().take_while(|c| ">*".contains(*c)).any(|c| c == mark));
            let frames: Vec<&str> = stack.iter().map(|frame| frame.trim_start_matches(['>', '*'])).collect();
            let responsible = find('*').unwrap();
            let expected = Division { run: find('>').unwrap_or(frames.len()), responsible };
            assert_eq!(of(&frames), expected, "{frames:#?}");
        }
    }

    #[test]
    fn a_user_can_add_to_the_list_and_contradict_it() {
        let of = |text: &str, frames: &[&str]| divide(&mut Printed(frames, StackRules::parse(text).unwrap())).responsible;
        let stack = [
            "ntdll.dll!RtlAllocateHeap",
            "game.exe!Pool::Get",
            "game.exe!Load",
            "app.dll!Run",
            "game.exe!main @ C:\\game\\main.cpp",
        ];
        for (text, responsible) in [
            ("", 1),
            ("[[allocator]]\nframe = 'Pool::*'", 2),
            ("[[fold]]\nframe = 'pool::*'", 2),
            ("[[allocator]]\nframe = 'game.exe!Load'", 3),
            ("[[allocator]]\nframe = 'game.exe!Load'\ngrowth = true", 1),
            ("[[allocator]]\nmodule = 'GAME.exe'", 3),
            ("[[library]]\nframe = ['Pool::*', 'Load']", 3),
            ("[[library]]\nmodule = 'game.exe'", 3),
            ("[[own]]\nmodule = 'app.*'", 3),
            ("[[own]]\nsource = 'c:/game/'", 4),
            ("[[own]]\nframe = 'RtlAllocateHeap'", 0),
            ("[[own]]\nmodule = 'ntdll.dll'", 1), // names of allocators say more than modules
        ] {
            assert_eq!(of(text, &stack), responsible, "{text}");
        }
        assert_eq!(of("[[own]]\nmodule = 'ntdll.dll'", &["ntdll.dll!LdrLoadDll", "game.exe!main"]), 0);
        assert_eq!(WrittenOrigins::default(), *StackRules::default().origins());
    }
}
