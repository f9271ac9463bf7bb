//! The names that are known of the addresses of one module: sorted arrays that share their strings. So lookups are
//! binary searches, and `symbols` saves them in blocks of the same arrays.
//!
//! Cost: 8 bytes per address, 12 per frame, and each string once.

use crate::tables::KeyedMap;

/// One frame: a function of the image, or one that was inlined into it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Frame<'a> {
    /// Name without parameters.
    pub function: &'a str,
    /// Source file as the compiler wrote it.
    pub file: Option<&'a str>,
    /// Line in it.
    pub line: Option<u32>,
}

/// The number of no string.
pub const NO_TEXT: u32 = u32::MAX;

/// A frame with its strings by number; line 0 stands for no line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawFrame {
    /// Number of the function's name.
    pub function: u32,
    /// Number of the source file's path, or [`NO_TEXT`].
    pub file: u32,
    /// Line in it, or 0.
    pub line: u32,
}

/// Names of the addresses of one module that were asked for. Equal if all addresses have equal names, however the strings are
/// numbered.
#[derive(Clone, Debug, Default)]
pub struct ModuleNames(NameTables);

impl PartialEq for ModuleNames {
    fn eq(&self, other: &Self) -> bool {
        fn addresses(names: &ModuleNames) -> impl Iterator<Item = (u32, impl Iterator<Item = Frame<'_>>)> {
            let of = |i: usize| (names.0.addresses[i].0, names.0.frames[names.range(i)].iter().map(|raw| names.frame(raw)));
            (0..names.len()).map(of)
        }
        fn sites(names: &ModuleNames) -> impl Iterator<Item = (u32, &str)> {
            names.0.sites.iter().map(|&(rva, text)| (rva, names.0.string(text)))
        }
        let mut pairs = addresses(self).zip(addresses(other));
        self.len() == other.len()
            && pairs.all(|((ours, our_frames), (theirs, their_frames))| ours == theirs && our_frames.eq(their_frames))
            && sites(self).eq(sites(other))
    }
}

impl Eq for ModuleNames {}

/// The arrays of [`ModuleNames`], for saving them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NameTables {
    /// RVAs, each with the end of its frames in `frames`; sorted by RVA.
    pub addresses: Vec<(u32, u32)>,
    /// Frames by address, the innermost first.
    pub frames: Vec<RawFrame>,
    /// Return RVAs of calls that allocate, each with the type that it allocates; sorted by RVA.
    pub sites: Vec<(u32, u32)>,
    /// The end of each string in `text`.
    pub ends: Vec<u32>,
    /// All strings, one behind the other.
    pub text: String,
}

impl NameTables {
    /// The string with this number.
    pub fn string(&self, index: u32) -> &str {
        let i = index as usize;
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[i] as usize]
    }

    /// Whether every index is valid.
    fn is_sound(&self) -> bool {
        let is_string = |text: u32| (text as usize) < self.ends.len();
        let by_rva = |list: &[(u32, u32)]| list.windows(2).all(|w| w[0].0 < w[1].0);
        by_rva(&self.addresses)
            && by_rva(&self.sites)
            && self.addresses.windows(2).all(|w| w[0].1 <= w[1].1)
            && self.addresses.last().is_none_or(|&(_, end)| end as usize <= self.frames.len())
            && self.sites.iter().all(|&(_, text)| is_string(text))
            && self.frames.iter().all(|f| is_string(f.function) && (f.file == NO_TEXT || is_string(f.file)))
            && self.ends.windows(2).all(|w| w[0] <= w[1])
            && self.ends.iter().all(|&end| self.text.is_char_boundary(end as usize))
    }
}

impl ModuleNames {
    /// Names from saved arrays; `None` if an index in them is not valid.
    pub fn from_tables(tables: NameTables) -> Option<Self> {
        tables.is_sound().then_some(Self(tables))
    }

    /// The arrays, for saving them.
    pub fn tables(&self) -> &NameTables {
        &self.0
    }

    /// Frames of an address, innermost first: the last is the function in the image,
    /// those before it are inlined. Empty if nothing is known; `None` if it was not
    /// asked for.
    pub fn frames(&self, rva: u32) -> Option<impl DoubleEndedIterator<Item = Frame<'_>> + ExactSizeIterator> {
        let i = self.0.addresses.binary_search_by_key(&rva, |&(rva, _)| rva).ok()?;
        Some(self.0.frames[self.range(i)].iter().map(|raw| self.frame(raw)))
    }

    /// The type allocated by the call that returns to `rva`.
    pub fn allocated_type(&self, rva: u32) -> Option<&str> {
        let i = self.0.sites.binary_search_by_key(&rva, |&(rva, _)| rva).ok()?;
        Some(self.0.string(self.0.sites[i].1))
    }

    /// Whether this address was asked for.
    pub fn contains(&self, rva: u32) -> bool {
        self.0.addresses.binary_search_by_key(&rva, |&(rva, _)| rva).is_ok()
    }

    /// Number of addresses that were asked for.
    pub fn len(&self) -> usize {
        self.0.addresses.len()
    }

    /// Whether a function, source file or type has this name.
    pub fn has_text(&self, text: &str) -> bool {
        (0..self.0.ends.len() as u32).any(|index| self.0.string(index) == text)
    }

    /// Whether nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.0.addresses.is_empty()
    }

    /// Number of addresses that have a function.
    pub fn named(&self) -> usize {
        (0..self.0.addresses.len()).filter(|&i| !self.range(i).is_empty()).count()
    }

    fn range(&self, i: usize) -> std::ops::Range<usize> {
        let start = i.checked_sub(1).map_or(0, |before| self.0.addresses[before].1);
        start as usize..self.0.addresses[i].1 as usize
    }

    fn frame(&self, raw: &RawFrame) -> Frame<'_> {
        let known = |text: u32| (text != NO_TEXT).then(|| self.0.string(text));
        Frame { function: self.0.string(raw.function), file: known(raw.file), line: (raw.line != 0).then_some(raw.line) }
    }
}

/// Collects names; each address and site may be added once, in any order.
#[derive(Clone, Debug, Default)]
pub struct NamesBuilder {
    addresses: Vec<(u32, std::ops::Range<u32>)>,
    frames: Vec<RawFrame>,
    sites: Vec<(u32, u32)>,
    strings: Vec<Box<str>>,
    index: KeyedMap<Box<str>, u32>,
}

impl NamesBuilder {
    /// A builder that begins with the names that are known.
    pub fn with(known: &ModuleNames) -> Self {
        let mut builder = Self::default();
        for (i, &(rva, _)) in known.0.addresses.iter().enumerate() {
            builder.add(rva, known.0.frames[known.range(i)].iter().map(|raw| known.frame(raw)));
        }
        for &(rva, name) in &known.0.sites {
            builder.add_site(rva, known.0.string(name));
        }
        builder
    }

    /// Adds the frames of an address, innermost first.
    pub fn add<'a>(&mut self, rva: u32, frames: impl IntoIterator<Item = Frame<'a>>) {
        let start = self.frames.len() as u32;
        for frame in frames {
            let function = self.string(frame.function);
            let file = frame.file.map_or(NO_TEXT, |file| self.string(file));
            self.frames.push(RawFrame { function, file, line: frame.line.unwrap_or(0) });
        }
        self.addresses.push((rva, start..self.frames.len() as u32));
    }

    /// Adds the type allocated by the call that returns to `rva`.
    pub fn add_site(&mut self, rva: u32, name: &str) {
        let name = self.string(name);
        self.sites.push((rva, name));
    }

    fn string(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.index.get(text) {
            return known;
        }
        let index = self.strings.len() as u32;
        self.strings.push(text.into());
        self.index.insert(text.into(), index);
        index
    }

    /// The names that were added, in order.
    pub fn finish(&self) -> ModuleNames {
        let mut order: Vec<_> = self.addresses.iter().collect();
        order.sort_by_key(|(rva, _)| *rva);
        order.dedup_by_key(|(rva, _)| *rva);
        let mut names = NameTables { sites: self.sites.clone(), ..NameTables::default() };
        for (rva, range) in order {
            names.frames.extend_from_slice(&self.frames[range.start as usize..range.end as usize]);
            names.addresses.push((*rva, names.frames.len() as u32));
        }
        names.sites.sort_unstable();
        names.sites.dedup_by_key(|(rva, _)| *rva);
        for string in &self.strings {
            names.text.push_str(string);
            names.ends.push(names.text.len() as u32);
        }
        ModuleNames(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame<'a>(function: &'a str, file: Option<&'a str>, line: Option<u32>) -> Frame<'a> {
        Frame { function, file, line }
    }

    #[test]
    fn names_come_back_as_they_were_added_and_can_be_added_to() {
        let inner = frame("inner", Some("a.cpp"), Some(7));
        let outer = frame("outer", Some("a.cpp"), None);
        let mut builder = NamesBuilder::default();
        builder.add(0x20, [inner, outer]);
        builder.add(0x10, []);
        builder.add_site(0x21, "Foo");
        let first = builder.finish();
        let mut builder = NamesBuilder::with(&first);
        builder.add(0x18, [outer]);
        builder.add_site(0x19, "Bar");
        let names = builder.finish();
        for (names, len) in [(&first, 2), (&names, 3)] {
            assert_eq!((names.len(), names.named()), (len, len - 1));
            assert_eq!(names.frames(0x20).unwrap().collect::<Vec<_>>(), [inner, outer]);
            assert_eq!(names.frames(0x10).unwrap().len(), 0);
            assert!(names.frames(0x11).is_none() && !names.contains(0x11));
            assert_eq!(names.allocated_type(0x21), Some("Foo"));
            assert_eq!(names.allocated_type(0x20), None);
        }
        assert_eq!(names.frames(0x18).unwrap().collect::<Vec<_>>(), [outer]);
        assert_eq!(names.allocated_type(0x19), Some("Bar"));
    }
}
