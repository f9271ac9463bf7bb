//! Rules that classify functions, modules and source folders as allocator, library or the user's own code.
//!
//! The built-in list is `allocators.toml`. Its functions are compared exactly, including case, since a game's
//! `Malloc` is not the C run-time's `malloc`; a user's patterns match like those of all stack rules.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::frame_pattern::FramePattern;
use super::plain_name::plain_name;
use crate::pattern::Pattern;

/// One table of a file: `[[allocator]]`, `[[library]]` or `[[own]]`.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct OriginRule {
    /// Patterns of frames.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frame: Vec<String>,
    /// Patterns of module file names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub module: Vec<String>,
    /// Patterns of parts of source file paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<String>,
    /// Whether the functions may call other code, as a growing container does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub growth: bool,
    /// Whether the modules belong to a C run-time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub runtime: bool,
}

impl OriginRule {
    /// Returns all patterns of the rule.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &String> {
        self.frame.iter().chain(&self.module).chain(&self.source)
    }
}

/// A team's rules about code origins.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct WrittenOrigins {
    /// Functions and modules that allocate on behalf of others.
    pub allocator: Vec<OriginRule>,
    /// Code that is skipped in the search for the responsible caller.
    pub library: Vec<OriginRule>,
    /// The user's own code. With any such rule, code that matches none is not the user's.
    pub own: Vec<OriginRule>,
}

impl WrittenOrigins {
    pub(super) fn rules(&self) -> impl Iterator<Item = &OriginRule> {
        self.allocator.iter().chain(&self.library).chain(&self.own)
    }

    /// Appends rules that are not in the lists yet.
    pub fn add(&mut self, others: &Self) {
        let lists =
            [(&mut self.allocator, &others.allocator), (&mut self.library, &others.library), (&mut self.own, &others.own)];
        for (ours, theirs) in lists {
            let new: Vec<_> = theirs.iter().filter(|rule| !ours.contains(rule)).cloned().collect();
            ours.extend(new);
        }
    }

    /// Returns the number of patterns.
    pub(super) fn len(&self) -> usize {
        self.rules().map(|rule| rule.patterns().count()).sum()
    }
}

/// Patterns of file names; case does not matter.
#[derive(Clone, Default, Debug)]
struct FileNames(Vec<Pattern>);

impl FileNames {
    fn of<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        Self(names.into_iter().map(|name| Pattern::new(&name.to_lowercase())).collect())
    }

    /// Returns whether a pattern matches `name`, which must be in lower case.
    fn have(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.fits(name))
    }
}

/// Patterns of parts of source file paths; case and the kind of separator do not matter.
#[derive(Clone, Default, Debug)]
struct SourceParts(Vec<Pattern>);

/// Returns a path in lower case with `/` as separator, so that no `\` can escape a `*` of a pattern.
fn uniform(path: &str) -> String {
    path.to_lowercase().replace('\\', "/")
}

impl SourceParts {
    fn of<'a>(parts: impl IntoIterator<Item = &'a String>) -> Self {
        Self(parts.into_iter().map(|part| Pattern::new(&format!("*{}*", uniform(part)))).collect())
    }

    fn have(&self, file: Option<&str>) -> bool {
        !self.0.is_empty()
            && file.is_some_and(|file| {
                let file = uniform(file);
                self.0.iter().any(|pattern| pattern.fits(&file))
            })
    }
}

/// A user's rule for a frame name. If several match, the first variant here wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Said {
    Own,
    Entry,
    Growth,
    Library,
}

/// The modules and source files that a user's rules name.
#[derive(Clone, Default, Debug)]
pub(super) struct Places {
    modules: FileNames,
    sources: SourceParts,
}

impl Places {
    fn of(rules: &[OriginRule]) -> Self {
        Self {
            modules: FileNames::of(rules.iter().flat_map(|rule| &rule.module)),
            sources: SourceParts::of(rules.iter().flat_map(|rule| &rule.source)),
        }
    }

    /// Returns whether a pattern matches the module, which must be in lower case, or its source file.
    pub(super) fn have(&self, module: &str, file: Option<&str>) -> bool {
        self.modules.have(module) || self.sources.have(file)
    }
}

/// A user's rules about code origins, parsed.
#[derive(Clone, Default, Debug)]
pub(super) struct Origins {
    pub(super) frames: Vec<(FramePattern, Said)>,
    pub(super) allocator: Places,
    pub(super) library: Places,
    pub(super) own: Places,
    /// Whether there is a rule for own code; then code that matches none is not the user's.
    pub(super) has_own: bool,
}

impl Origins {
    pub(super) fn of(allocator: &[OriginRule], library: &[OriginRule], own: &[OriginRule]) -> Self {
        let said = |rule: &OriginRule| if rule.growth { Said::Growth } else { Said::Entry };
        let frames = |rules: &[OriginRule], said: &dyn Fn(&OriginRule) -> Said| {
            let frames = rules.iter().flat_map(|rule| rule.frame.iter().map(|frame| (FramePattern::new(frame), said(rule))));
            frames.collect::<Vec<_>>()
        };
        Self {
            frames: [frames(allocator, &said), frames(library, &|_| Said::Library), frames(own, &|_| Said::Own)].concat(),
            allocator: Places::of(allocator),
            library: Places::of(library),
            own: Places::of(own),
            has_own: own.iter().any(|rule| rule.patterns().next().is_some()),
        }
    }
}

/// Function names and patterns, compared with case.
#[derive(Default, Debug)]
struct FunctionNames {
    whole: HashSet<String>,
    patterns: Vec<Pattern>,
}

impl FunctionNames {
    fn of<'a>(names: impl Iterator<Item = &'a String>) -> Self {
        let (patterns, whole): (Vec<&String>, Vec<&String>) = names.partition(|name| name.contains('*'));
        Self {
            whole: whole.into_iter().cloned().collect(),
            patterns: patterns.into_iter().map(|pattern| Pattern::new(pattern)).collect(),
        }
    }

    fn have(&self, name: &str) -> bool {
        self.whole.contains(name) || self.patterns.iter().any(|pattern| pattern.fits(name))
    }
}

/// The built-in list.
#[derive(Default, Debug)]
pub(super) struct BuiltIn {
    entry: FunctionNames,
    growth: FunctionNames,
    library: FunctionNames,
    modules: FileNames,
    runtimes: FileNames,
    sources: SourceParts,
}

/// The kind of a function in the built-in list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FunctionOrigin {
    Entry,
    Growth,
    Library,
}

/// The text of the built-in list.
const TEXT: &str = include_str!("allocators.toml");

/// The format of the built-in list: tables of origins only.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    allocator: Vec<OriginRule>,
    library: Vec<OriginRule>,
}

impl BuiltIn {
    /// Returns the list, which is parsed once.
    pub(super) fn get() -> &'static Self {
        static LIST: LazyLock<BuiltIn> = LazyLock::new(|| {
            // A test parses the same text, so it is valid in every released build.
            let Written { allocator, library } = toml::from_str(TEXT).unwrap_or_default();
            BuiltIn::of(&allocator, &library)
        });
        &LIST
    }

    fn of(allocator: &[OriginRule], library: &[OriginRule]) -> Self {
        let all = || allocator.iter();
        Self {
            entry: FunctionNames::of(all().filter(|rule| !rule.growth).flat_map(|rule| &rule.frame)),
            growth: FunctionNames::of(all().filter(|rule| rule.growth).flat_map(|rule| &rule.frame)),
            library: FunctionNames::of(library.iter().flat_map(|rule| &rule.frame)),
            modules: FileNames::of(all().filter(|rule| !rule.runtime).flat_map(|rule| &rule.module)),
            runtimes: FileNames::of(all().filter(|rule| rule.runtime).flat_map(|rule| &rule.module)),
            sources: SourceParts::of(library.iter().flat_map(|rule| &rule.source)),
        }
    }

    /// Classifies a function by its name alone.
    pub(super) fn function(&self, name: &str) -> Option<FunctionOrigin> {
        let plain = plain_name(name);
        match () {
            () if self.entry.have(&plain) => Some(FunctionOrigin::Entry),
            () if self.growth.have(&plain) => Some(FunctionOrigin::Growth),
            () if self.library.have(&plain) => Some(FunctionOrigin::Library),
            () => None,
        }
    }

    /// Returns whether a module is part of the allocator of Windows or of a C run-time. `name` must be in lower case.
    pub(super) fn has_module(&self, name: &str) -> bool {
        self.modules.have(name) || self.runtimes.have(name)
    }

    /// Returns whether a module is a C run-time. `name` must be in lower case.
    pub(super) fn has_runtime(&self, name: &str) -> bool {
        self.runtimes.have(name)
    }

    /// Returns whether a source file belongs to a library.
    pub(super) fn has_source(&self, file: Option<&str>) -> bool {
        self.sources.have(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_can_be_read() {
        let Written { allocator, library } = toml::from_str(TEXT).unwrap();
        assert!(allocator.len() > 10 && library.len() > 2);
        let names: Vec<&String> = allocator.iter().chain(&library).flat_map(OriginRule::patterns).collect();
        let once: HashSet<&String> = names.iter().copied().collect();
        assert_eq!(once.len(), names.len(), "each pattern stands there once");
    }

    #[test]
    fn allocators_are_known_by_their_names_and_others_are_not() {
        let of = |name| BuiltIn::get().function(name);
        for name in [
            "RtlAllocateHeap",
            "RtlpAllocateHeapInternal",
            "RtlpHpLfhSlotAllocate",
            "RtlpFindAndCommitPages",
            "operator new",
            "operator new[]",
            "std::_Allocate<16,std::_Default_allocate_traits,0>",
            "std::allocator<char>::allocate",
            "malloc",
            "_malloc_base",
            "_o_malloc",
            "_aligned_malloc",
            "HeapAllocStub",
            "VirtualAlloc2",
            "VirtualAllocExNuma",
            "CRetailMalloc_Alloc",
            "SysAllocStringByteLen",
            "WindowsCreateString",
            "alloc::alloc::exchange_malloc",
            "__rust_alloc",
            "std::alloc::__default_lib_allocator::__rdl_alloc",
            "<std::alloc::System as core::alloc::global::GlobalAlloc>::alloc",
            "mi_malloc",
            "mi_heap_malloc_aligned",
            "_mi_page_malloc",
            "je_malloc",
            "rpmalloc",
            "tc_malloc",
            "scalable_malloc",
            "FMemory::Malloc",
            "FMallocBinned2::Malloc",
            "VSHeapTracker::CHeapTracker::AllocateEvent",
        ] {
            assert_eq!(of(name), Some(FunctionOrigin::Entry), "{name}");
        }
        for name in [
            "std::vector<int,std::allocator<int> >::_Emplace_reallocate<int>",
            "std::basic_string<char>::_Reallocate_for<1>",
            "std::deque<int>::push_back",
            "std::make_shared<Level>",
            "alloc::raw_vec::RawVec<T,A>::grow_one",
            "hashbrown::raw::RawTable<T,A>::reserve_rehash",
            "TArray<int>::ResizeGrow",
        ] {
            assert_eq!(of(name), Some(FunctionOrigin::Growth), "{name}");
        }
        for name in ["std::vector<int>::push_back", "std::sort<int *>", "std::thread::_Invoke<int>"] {
            assert_eq!(of(name), Some(FunctionOrigin::Library), "{name}");
        }
        for name in [
            "main",
            "mallocate",
            "Malloc",
            "operator new_thing",
            "RtlUserThreadStart",
            "PhysicsHeap::Allocate",
            "Level::AllocateEnemies",
            "PoolMalloc",
            "PoolAllocator::allocate",
            "my::std::vector::push",
            "stdlike::f",
            "",
            "my_malloc",
            "FMem::Malloc",
            "TArrayView::f",
            "mi_load_level",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn modules_and_sources_are_compared_whole_and_in_any_case() {
        let list = BuiltIn::get();
        for name in [
            "ntdll.dll",
            "kernelbase.dll",
            "vcruntime140.dll",
            "msvcp140.dll",
            "ucrtbased.dll",
            "wow64cpu.dll",
            "msvcrt.dll",
            "combase.dll",
        ] {
            assert!(list.has_module(name), "{name}");
        }
        for name in ["game.exe", "", "ntdll", "kernel32_shim.dll", "user32.dll", "my-msvcrt.dll"] {
            assert!(!list.has_module(name), "{name}");
        }
        for file in [
            "/rustc/17067e9ac6d7e6f9c0d6ab1d87549fa05c2eab88/library/alloc/src/vec/mod.rs",
            r"C:\Users\a\.cargo\registry\src\index-1\serde-1.0\src\lib.rs",
            r"C:\Program Files\Microsoft Visual Studio\2022\VC\Tools\MSVC\14.40\include\vector",
            r"D:\a\_work\1\s\src\vctools\crt\vcstartup\src\startup\exe_main.cpp",
            r"C:\Program Files (x86)\Windows Kits\10\include\winrt\base.h",
            r"minkernel\crts\ucrt\src\malloc.cpp",
        ] {
            assert!(list.has_source(Some(file)), "{file}");
        }
        for file in [r"C:\game\src\vector.cpp", "/rustc/game/src/main.rs", r"C:\library\rustc\main.rs", r"C:\VC\Tools\level.cpp"]
        {
            assert!(!list.has_source(Some(file)), "{file}");
        }
        assert!(!list.has_source(None));
    }
}
