//! Other names for all that tells who recorded what: programs, images, command lines, PDBs, trackers
//! and threads. The same name has the same replacement everywhere, in any case of its letters.
//!
//! Numbers in order of appearance, not hashes: who guesses a name could hash it. GUID and age of PDBs
//! stay, so that who has them can name frames.

use crate::events::{ActivityEvent, Event, ManagedEvent, MarkEvent, MarkText, Record};
use crate::tables::KeyedMap;

/// Extensions that tell what a file is and nothing else.
const KEPT: [&str; 12] = ["exe", "com", "scr", "dll", "ocx", "cpl", "drv", "mui", "tmp", "sys", "pdb", "node"];

/// What a file is called after, by its extension where the name is first met.
fn kind_of(extension: &str) -> &'static str {
    match extension {
        "exe" | "com" | "scr" => "program",
        "sys" => "driver",
        "dll" | "ocx" | "cpl" | "drv" | "mui" | "node" => "library",
        _ => "file",
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Replacements by kind and name.
    known: KeyedMap<(&'static str, String), String>,
    /// How many there are of a kind.
    counts: KeyedMap<&'static str, u32>,
}

impl Names {
    /// Replaces the names in a record. `false` if it is nothing but names that mean nothing then.
    pub(super) fn replace(&mut self, record: &mut Record) -> bool {
        match &mut record.event {
            Event::Process(_, info) => {
                info.name = self.file(&info.name);
                info.command_line = self.text("command-line", &info.command_line);
            }
            Event::Image(_, info) => info.path = self.path(&info.path),
            Event::ImageFile(file) => file.name = self.file(&file.name),
            Event::ImageId(id) => id.pdb = self.file(&id.pdb),
            Event::ThreadName(name) => *name = self.text("thread", name).into(),
            Event::HeapOpen { name: Some(name), .. } | Event::HeapClose { name: Some(name), .. } => {
                *name = self.text("tracker", name).into();
            }
            Event::Activity(activity) => return self.replace_activity(activity),
            Event::Volume(_) => return false,
            _ => {}
        }
        true
    }

    /// The same of what programs do besides: marks, methods and their modules.
    fn replace_activity(&mut self, activity: &mut ActivityEvent) -> bool {
        match activity {
            ActivityEvent::Mark(MarkEvent { text: MarkText::Known(text), .. }) => *text = self.text("mark", text).into(),
            ActivityEvent::Mark(_) | ActivityEvent::Schema(_) => return false,
            ActivityEvent::Managed(ManagedEvent::Method(_, method)) => {
                method.name = self.text("method", &method.name);
                method.signature.clear();
            }
            ActivityEvent::Managed(ManagedEvent::Module { path, .. }) => *path = self.file(path).into(),
            ActivityEvent::Managed(_) | ActivityEvent::Present(_) | ActivityEvent::SampleInterval(_) => {}
        }
        true
    }

    /// The name of a file, from its path or without.
    fn file(&mut self, path: &str) -> String {
        let name = path.rsplit(['\\', '/']).next().unwrap_or_default().to_lowercase();
        if name.is_empty() {
            // A path that ends with a separator names something all the same.
            return if path.is_empty() { String::new() } else { self.text("file", path) };
        }
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if KEPT.contains(&extension) => (stem, extension),
            _ => (name.as_str(), ""),
        };
        // What one program is called after is also the name of its PDB.
        let stem = self.numbered(kind_of(extension), "file", stem.to_owned());
        if extension.is_empty() { stem } else { format!("{stem}.{extension}") }
    }

    fn path(&mut self, path: &str) -> String {
        if path.is_empty() { String::new() } else { format!(r"\anonymous\{}", self.file(path)) }
    }

    /// A text as a whole; texts that differ in case only have different names, as they are different.
    fn text(&mut self, kind: &'static str, text: &str) -> String {
        if text.is_empty() { String::new() } else { self.numbered(kind, kind, text.to_owned()) }
    }

    /// The replacement of a name; names of one `space` share it.
    fn numbered(&mut self, kind: &'static str, space: &'static str, name: String) -> String {
        let counts = &mut self.counts;
        let new = || {
            let count = counts.entry(kind).or_default();
            *count += 1;
            format!("{kind}-{count}")
        };
        self.known.entry((space, name)).or_insert_with(new).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_replacement_wherever_it_stands() {
        let mut names = Names::default();
        assert_eq!(names.file("Game.exe"), "program-1.exe");
        assert_eq!(names.path(r"\Device\HarddiskVolume3\Secret\GAME.EXE"), r"\anonymous\program-1.exe");
        assert_eq!(names.file(r"D:\build\game.pdb"), "program-1.pdb");
        assert_eq!(names.file("secret.dll"), "library-1.dll");
        assert_eq!(names.file("other.dll"), "library-2.dll");
        assert_eq!(names.file("System"), "file-1");
        assert_eq!(names.file("tool.of-a-customer"), "file-2", "an extension can be a name");
        assert_eq!(names.file(r"C:\folder\"), "file-3");
        assert_eq!([names.file(""), names.path(""), names.text("tracker", "")], [""; 3]);
    }

    #[test]
    fn trackers_that_differ_in_case_stay_two() {
        let mut names = Names::default();
        assert_eq!(names.text("tracker", "Physics"), "tracker-1");
        assert_eq!(names.text("tracker", "physics"), "tracker-2");
        assert_eq!(names.text("tracker", "Physics"), "tracker-1");
        assert_eq!(names.text("thread", "Physics"), "thread-1");
    }
}
