//! Providers whose events the user wants as marks.

use std::sync::Arc;

use crate::etl::Guid;
use crate::pattern::Pattern;

/// Providers by name (`*` stands for anything, in any case) or GUID.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkProviders(Arc<[(String, Wanted)]>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Wanted {
    Guid(Guid),
    Named(Pattern),
}

impl MarkProviders {
    /// As the user wrote them.
    pub fn new<Text: AsRef<str>>(words: impl IntoIterator<Item = Text>) -> Self {
        let wanted = |word: Text| {
            let word = word.as_ref().trim().to_owned();
            let wanted = match word.trim_matches(['{', '}']).parse() {
                Ok(guid) => Wanted::Guid(guid),
                Err(_) => Wanted::Named(Pattern::new(&word.to_lowercase())),
            };
            (word, wanted)
        };
        Self(words.into_iter().map(wanted).filter(|(word, _)| !word.is_empty()).collect())
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As the user wrote them.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(word, _)| word.as_str())
    }

    /// Whether a provider is one of them.
    pub fn has(&self, guid: Guid, name: Option<&str>) -> bool {
        let lower = name.map(str::to_lowercase);
        self.0.iter().any(|(_, wanted)| match wanted {
            Wanted::Guid(wanted) => *wanted == guid,
            Wanted::Named(pattern) => lower.as_deref().is_some_and(|name| pattern.fits(name)),
        })
    }
}
