//! Providers whose events the user wants as marks.

use std::sync::Arc;

use crate::etl::Guid;
use crate::events::{guid_of_name, known_guid};
use crate::pattern::Pattern;

/// Providers by GUID or by name (`*` matches anything, case does not matter). A name also stands for
/// the well-known provider with this name, or else for the GUID that is derived from the name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MarkProviders(Arc<[(String, Wanted)]>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Wanted {
    Guid(Guid),
    Named(Pattern, Guid),
}

impl MarkProviders {
    /// Parses names and GUIDs as the user wrote them.
    pub fn new<Text: AsRef<str>>(words: impl IntoIterator<Item = Text>) -> Self {
        let wanted = |word: Text| {
            let word = word.as_ref().trim().to_owned();
            let wanted = match word.parse() {
                Ok(guid) => Wanted::Guid(guid),
                Err(_) => {
                    Wanted::Named(Pattern::new(&word.to_lowercase()), known_guid(&word).unwrap_or_else(|| guid_of_name(&word)))
                }
            };
            (word, wanted)
        };
        Self(words.into_iter().map(wanted).filter(|(word, _)| !word.is_empty()).collect())
    }

    /// Whether no provider is named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names and GUIDs as the user wrote them.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(word, _)| word.as_str())
    }

    /// Whether a provider is one of them.
    pub fn has(&self, guid: Guid, name: Option<&str>) -> bool {
        let lower = name.map(str::to_lowercase);
        self.0.iter().any(|(_, wanted)| match wanted {
            Wanted::Guid(wanted) => *wanted == guid,
            Wanted::Named(pattern, made) => *made == guid || lower.as_deref().is_some_and(|name| pattern.fits(name)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::class;

    #[test]
    fn a_name_means_who_tells_it_who_is_known_by_it_and_who_made_a_guid_of_it() {
        let guid = |n: u8| Guid::from_bytes([n; 16]);
        let all = MarkProviders::new(["My-*", "microsoft-windows-dxgi", "Source", &format!("{{{}}}", guid(7)), " "]);
        assert_eq!(all.words().count(), 4);
        assert!(all.has(guid(1), Some("my-game")) && all.has(guid(1), Some("SOURCE")) && all.has(guid(7), None));
        assert!(all.has(class::DXGI, None) && all.has(guid_of_name("source"), None));
        assert!(!all.has(guid(1), None) && !all.has(guid(1), Some("Sources")) && !all.has(class::D3D9, None));
        assert!(!all.has(guid_of_name("My-"), None), "of what is more than a name no GUID is made");
    }
}
