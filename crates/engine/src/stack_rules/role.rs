//! The role of a frame in the search for the responsible caller: allocator, library, or the user's code.

use std::ops::BitOr;

use super::StackRules;
use super::frame_pattern::FrameText;
use super::origins::{BuiltIn, FunctionOrigin, Said};

/// A set of facts about one frame.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Role(u8);

impl Role {
    /// Allocator code; part of the allocator's run of frames if all frames inside it are.
    pub const ALLOCATOR: Self = Self(1);
    /// An allocation function that never calls other code.
    pub const ENTRY: Self = Self(1 << 1);
    /// A library, or code that is not the user's according to the user's rules.
    pub const LIBRARY: Self = Self(1 << 2);
    /// In a module of Windows or of the run-times that ship with it.
    pub const WINDOWS: Self = Self(1 << 3);
    /// In a module of a C run-time.
    pub const RUNTIME: Self = Self(1 << 4);
    /// No function name is known.
    pub const UNNAMED: Self = Self(1 << 5);
    /// A fold rule leaves the frame out of stacks.
    pub const FOLDED: Self = Self(1 << 6);

    /// Returns whether the search for the responsible caller skips the frame.
    pub fn is_passed(self) -> bool {
        self.has(Self::LIBRARY) || self.has(Self::ALLOCATOR)
    }

    /// Returns whether all facts of `other` are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Role {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The known facts about a frame, from which its role follows.
#[derive(Clone, Copy, Debug)]
pub struct FrameFacts<'a> {
    /// Return address, or the sampled instruction pointer.
    pub address: u64,
    /// File name of the module that contains the address.
    pub module: Option<&'a str>,
    /// Path of that module as the kernel names it, if it is an image.
    pub path: Option<&'a str>,
    /// Offset of the address from the module's first byte.
    pub rva: u64,
    /// Function, if it has a name.
    pub function: Option<&'a str>,
    /// Source file, as the compiler recorded it.
    pub file: Option<&'a str>,
}

impl StackRules {
    /// Returns the user's rule for the frame's name, if one matches.
    fn said_of(&self, facts: &FrameFacts<'_>) -> Option<Said> {
        let text = match (facts.module, facts.function) {
            _ if self.origins.frames.is_empty() => return None,
            (Some(module), Some(function)) => FrameText::named(module, function),
            (Some(module), None) => FrameText::unnamed(module, facts.rva),
            (None, _) => return None,
        };
        let all = &self.origins.frames;
        let fits = |frame: &FrameText, rule: usize| all[rule].0.fits(frame).then_some(all[rule].1);
        self.said.get(text, |frame| match frame.begin() {
            None => (0..all.len()).filter_map(|rule| fits(frame, rule)).min(),
            Some(begin) => self.candidates(begin).origins.iter().filter_map(|&rule| fits(frame, rule as usize)).min(),
        })
    }

    /// Returns whether unnamed frames of the same module can have different roles.
    pub(crate) fn tell_places_apart(&self) -> bool {
        !(self.fold_patterns.is_empty() && self.origins.frames.is_empty())
    }

    /// Returns the role of a frame. In order of precedence: the user's rules for frame names; built-in allocator
    /// functions; the user's own modules and sources; allocator modules (built-in, kernel, user's); what is not the
    /// user's own; libraries.
    pub fn role(&self, facts: &FrameFacts<'_>) -> Role {
        /// First address of the kernel's half.
        const KERNEL: u64 = 1 << 63;
        let list = BuiltIn::get();
        let module = facts.module.map(str::to_lowercase).unwrap_or_default();
        let (is_listed, is_kernels) = (list.has_module(&module), facts.address >= KERNEL);
        let mut role = Role::default();
        let mut is = |holds: bool, what: Role| {
            if holds {
                role = role | what;
            }
        };
        is(facts.function.is_none(), Role::UNNAMED);
        is(list.has_runtime(&module), Role::RUNTIME);
        is(is_listed || is_kernels || facts.path.is_some_and(is_of_windows), Role::WINDOWS);
        let is_of_windows = role.has(Role::WINDOWS);
        let said = self.said_of(facts);
        if said == Some(Said::Own) {
            return role;
        }
        let is_folded = match (facts.module, facts.function) {
            (Some(module), Some(function)) => self.fold(module, function),
            (Some(module), None) => self.fold_unnamed(module, facts.rva),
            (None, _) => false,
        };
        let by_name = facts.function.and_then(|name| list.function(name));
        let what = match (is_folded, said, by_name) {
            (true, ..) => Role::ALLOCATOR | Role::FOLDED,
            (_, Some(Said::Entry), _) => Role::ALLOCATOR | Role::ENTRY,
            (_, Some(Said::Growth), _) => Role::ALLOCATOR,
            (_, Some(Said::Library), _) => Role::LIBRARY,
            (_, _, Some(FunctionOrigin::Entry)) => Role::ALLOCATOR | Role::ENTRY,
            (_, _, Some(FunctionOrigin::Growth)) => Role::ALLOCATOR,
            _ if self.origins.own.have(&module, facts.file) => return role,
            _ if is_listed || is_kernels || self.origins.allocator.have(&module, facts.file) => Role::ALLOCATOR,
            _ if self.origins.has_own || is_of_windows => Role::LIBRARY,
            (_, _, Some(FunctionOrigin::Library)) => Role::LIBRARY,
            _ if list.has_source(facts.file) || self.origins.library.have(&module, facts.file) => Role::LIBRARY,
            _ => return role,
        };
        role | what
    }
}

/// Returns whether an image is part of Windows, by its path as the kernel or a user names it: below the system folder
/// or below a `Windows` folder at the root of a volume.
pub fn is_of_windows(image: &str) -> bool {
    let image = image.to_ascii_lowercase();
    let image = image.trim_start_matches(r"\??\").trim_start_matches(r"\\?\");
    let drive = |path: &str| path.as_bytes().get(1) == Some(&b':');
    let in_volume = match image.strip_prefix(r"\device\") {
        Some(device) => device.find('\\').map_or("", |at| &device[at..]),
        None if drive(image) => &image[2..],
        None => image,
    };
    image.starts_with(r"\systemroot\") || in_volume.starts_with(r"\windows\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_of_windows_are_known_by_their_folder() {
        for image in [
            r"\SystemRoot\system32\ntoskrnl.exe",
            r"\Device\HarddiskVolume3\Windows\System32\ntdll.dll",
            r"C:\WINDOWS\a.dll",
            r"\??\C:\Windows\System32\a.dll",
            r"\\?\C:\Windows\System32\a.dll",
            r"\Windows\System32\a.dll",
        ] {
            assert!(is_of_windows(image), "{image}");
        }
        for image in [
            r"\Device\HarddiskVolume3\game\game.exe",
            r"D:\windows-tools\a.dll",
            "windows.exe",
            r"C:\game\Windows\game.dll",
            r"\Device\HarddiskVolume3\build\Windows\game.exe",
            r"\Device",
            "",
            "é:",
        ] {
            assert!(!is_of_windows(image), "{image}");
        }
    }
}
