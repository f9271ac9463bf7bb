//! The user's mapping of providers to trackers: a file of its own beside the settings (or named on the command line), its
//! text while it is edited, and the providers in force.

use std::path::{Path, PathBuf};

use eframe::egui;

use crate::app::base::background::Background;
use crate::events::{ProviderSeen, TrackerProviders};
use crate::paths;
use crate::toml_file::text_of;

/// Largest file, in bytes.
const MAX_FILE: u64 = 256 << 10;

/// The mapping in force, and the one that is being written.
#[derive(Debug, Default)]
pub struct TrackerMapping {
    pub now: TrackerProviders,
    /// The text that is being edited.
    pub draft: String,
    /// Why the draft cannot be used, with its line.
    pub problem: Option<String>,
    /// Whether the window with the mapping is shown.
    pub is_shown: bool,
    file: Option<PathBuf>,
    /// Why the file is not written: it could not be read, and must not be lost.
    unread: Option<String>,
    saving: Background<Result<(), String>>,
}

impl TrackerMapping {
    /// Loads the mapping of a file; only the built-in one if it does not exist or cannot be read.
    pub fn load(file: Option<PathBuf>) -> Self {
        let mut mapping = Self { file, ..Self::default() };
        if let Some(path) = mapping.file.clone().filter(|path| path.exists()) {
            match text_of(&path, MAX_FILE) {
                Ok(text) => {
                    mapping.draft = text;
                    mapping.read_draft();
                }
                Err(reason) => mapping.unread = Some(format!("{} cannot be read: {reason}", path.display())),
            }
        }
        mapping
    }

    /// The error of the file that was loaded, if it has one.
    pub fn trouble(&self) -> Option<String> {
        let place = || self.file.as_deref().unwrap_or_else(|| Path::new("")).display().to_string();
        self.unread.clone().or_else(|| self.problem.as_ref().map(|problem| format!("{}: {problem}", place())))
    }

    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Puts the draft in force and keeps it, if it can be read; returns whether it can.
    pub fn use_draft(&mut self, ctx: &egui::Context) -> bool {
        if !self.read_draft() {
            return false;
        }
        if let (Some(path), None) = (self.file.clone(), &self.unread) {
            let text = self.draft.clone();
            self.saving.start(ctx, move || {
                paths::keep(&path, &text, MAX_FILE).map_err(|reason| format!("{} cannot be written: {reason}", path.display()))
            });
        }
        true
    }

    fn read_draft(&mut self) -> bool {
        match TrackerProviders::parse(&self.draft) {
            Ok(now) => (self.now, self.problem) = (now, None),
            Err(bad) => self.problem = Some(bad.to_string()),
        }
        self.problem.is_none()
    }

    /// Appends the beginning of a mapping for a provider to the draft, with the ids of its most frequent events.
    pub fn add_skeleton(&mut self, seen: &ProviderSeen) {
        let ProviderSeen { guid: provider, name, kinds, .. } = seen;
        let mut frequent = kinds.clone();
        frequent.sort_by_key(|kind| std::cmp::Reverse(kind.events));
        frequent.truncate(2);
        frequent.sort_by_key(|kind| (std::cmp::Reverse(kind.payload.1), kind.id)); // an allocation tells more
        let id = |at: usize| frequent.get(at).map_or(at as u16 + 1, |kind| kind.id);
        let (allocates, frees) = (id(0), id(1));
        if !self.draft.is_empty() && !self.draft.ends_with('\n') {
            self.draft.push('\n');
        }
        let comment = name.as_deref().map_or_else(String::new, |name| format!("# {name}\n"));
        self.draft.push_str(&format!(
            "\n{comment}[[tracker]]\nprovider = \"{provider}\"\nname = \"Pool {{pool}}\"\n\n\
             [[tracker.event]]\nid = {allocates}\ndoes = \"allocate\"\nfields = \"pool:u32 address:ptr size:u64\"\n\n\
             [[tracker.event]]\nid = {frees}\ndoes = \"free\"\nfields = \"pool:u32 address:ptr\"\n"
        ));
    }

    pub fn is_at_work(&self) -> bool {
        self.saving.is_at_work()
    }

    /// Why the file could not be written, if it could not.
    pub fn drain(&mut self) -> Vec<String> {
        self.saving.done().into_iter().filter_map(Result::err).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etl::Guid;
    use crate::events::EventKind;

    #[test]
    fn a_skeleton_can_be_used_and_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trackers.toml");
        let ctx = egui::Context::default();
        let mut mapping = TrackerMapping::load(Some(file.clone()));
        assert!(mapping.trouble().is_none() && mapping.now == TrackerProviders::default());
        let kind = |id, size| EventKind { id, events: 5, payload: (size, size) };
        let kinds = vec![kind(7, 12), kind(9, 20), EventKind { events: 1, ..kind(11, 99) }];
        let (guid, name) = (Guid::from_bytes([7; 16]), Some("My game".to_owned()));
        mapping.add_skeleton(&ProviderSeen { guid, name, events: 11, kinds });
        assert!(mapping.draft.contains("id = 9\ndoes = \"allocate\"") && mapping.draft.contains("id = 7\ndoes = \"free\""));
        assert!(mapping.use_draft(&ctx), "{:?}", mapping.problem);
        assert_eq!(mapping.now.list().len(), TrackerProviders::default().list().len() + 1);
        while mapping.is_at_work() {
            assert!(mapping.drain().is_empty());
        }
        let again = TrackerMapping::load(Some(file.clone()));
        assert_eq!((&again.now, &again.draft), (&mapping.now, &mapping.draft));

        // A draft that cannot be read changes neither what is in force nor the file.
        mapping.draft.push_str("\nnonsense = 1");
        assert!(!mapping.use_draft(&ctx) && mapping.problem.as_ref().is_some_and(|problem| problem.contains("nonsense")));
        assert_eq!(mapping.now, again.now);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), again.draft);

        std::fs::write(&file, [0xFF, 0xFE, 0x00, 0xD8]).unwrap();
        let mut unread = TrackerMapping::load(Some(file.clone()));
        assert!(unread.trouble().is_some() && unread.use_draft(&ctx));
        while unread.is_at_work() {
            unread.drain();
        }
        assert_eq!(std::fs::read(&file).unwrap(), [0xFF, 0xFE, 0x00, 0xD8], "a file that was not read is not lost");
    }
}
