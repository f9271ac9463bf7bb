//! Which provider a word means: a GUID, or a name. Asked by who has no special rights; a recorder
//! that has them is told GUIDs only.
//!
//! * Providers that everybody knows (UIforETW's among them) need not be registered.
//! * What is registered has the GUID that Windows knows for its name.
//! * All other names are those of programs that make their GUID of it ([`guid_of_name`]).

use crate::etl::Guid;
use crate::events::{guid_of_name, known_guid};

/// The provider that a word means; a GUID may stand in braces. An error is a sentence for people.
pub fn provider_of(word: &str) -> Result<Guid, String> {
    let word = word.trim();
    if let Ok(guid) = word.parse() {
        return Ok(guid);
    }
    if word.is_empty() || word.len() > MOST_BYTES || word.contains(['{', '}', '*', '\\', '\0']) {
        return Err(format!("{word:?} is no provider: its name or its GUID is wanted"));
    }
    Ok(known_guid(word).or_else(|| registered(word)).unwrap_or_else(|| guid_of_name(word)))
}

/// Longer than any name.
const MOST_BYTES: usize = 512;

/// Of the manifests that are installed; they are read once.
#[cfg(windows)]
fn registered(name: &str) -> Option<Guid> {
    use std::sync::LazyLock;
    static ALL: LazyLock<crate::tables::KeyedMap<String, Guid>> = LazyLock::new(|| publishers().unwrap_or_default());
    ALL.get(&name.to_lowercase()).copied()
}

/// A key for each provider's GUID, whose own value is the name; here by that, in small letters.
#[cfg(windows)]
fn publishers() -> std::io::Result<crate::tables::KeyedMap<String, Guid>> {
    use winreg::RegKey;
    use winreg::enums::{HKEY_LOCAL_MACHINE, KEY_READ, KEY_WOW64_64KEY};
    const PUBLISHERS: &str = r"SOFTWARE\Microsoft\Windows\CurrentVersion\WINEVT\Publishers";
    let publishers = RegKey::predef(HKEY_LOCAL_MACHINE).open_subkey_with_flags(PUBLISHERS, KEY_READ | KEY_WOW64_64KEY)?;
    let named = |key: String| {
        let name: String = publishers.open_subkey(&key).and_then(|publisher| publisher.get_value("")).ok()?;
        Some((name.to_lowercase(), key.parse().ok()?))
    };
    Ok(publishers.enum_keys().map_while(Result::ok).filter_map(named).collect())
}

#[cfg(not(windows))]
fn registered(_name: &str) -> Option<Guid> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_guid_or_a_name() {
        for (name, guid) in [
            ("mysource", "a61ea624-4944-55fc-c2a8-37838829438d"),
            (" multi-main ", "231cf54b-22a0-49e4-a59a-47052a30ffed"),
            ("{CA11C036-0102-4a2d-a6ad-f03cfed5d3c9}", "ca11c036-0102-4a2d-a6ad-f03cfed5d3c9"),
            ("ca11c036-0102-4a2d-a6ad-f03cfed5d3c9", "ca11c036-0102-4a2d-a6ad-f03cfed5d3c9"),
        ] {
            assert_eq!(provider_of(name).unwrap().to_string().to_lowercase(), guid, "{name}");
        }
        for bad in ["", " ", "{CA11C036-0102}", "My*", "a\\b", &"x".repeat(600)] {
            assert!(provider_of(bad).is_err(), "{bad:?}");
        }
    }

    #[cfg(windows)]
    #[test]
    fn what_is_registered_has_the_guid_that_windows_knows() {
        use winreg::RegKey;
        use winreg::enums::{HKEY_LOCAL_MACHINE, KEY_ALL_ACCESS, KEY_WOW64_64KEY};
        let machine = RegKey::predef(HKEY_LOCAL_MACHINE);
        let key = r"SOFTWARE\Microsoft\Windows\CurrentVersion\WINEVT\Publishers\{11112222-3333-4444-5555-666677778888}";
        // Without the rights to write there, there is nothing to be tried.
        let Ok((publisher, _)) = machine.create_subkey_with_flags(key, KEY_ALL_ACCESS | KEY_WOW64_64KEY) else { return };
        publisher.set_value("", &"Highwater-Test-Provider").unwrap();
        let found = publishers().unwrap().get("highwater-test-provider").copied();
        machine.delete_subkey_with_flags(key, KEY_WOW64_64KEY).unwrap();
        assert_eq!(found.unwrap().to_string(), "11112222-3333-4444-5555-666677778888");
    }
}
