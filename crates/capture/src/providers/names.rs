//! Resolves a GUID or a name to a provider. This runs without special rights: an elevated recorder accepts only GUIDs.
//!
//! * Well-known providers (UIforETW's among them) need not be registered.
//! * A registered provider has the GUID that Windows knows for its name.
//! * Any other name is taken for a provider whose GUID is derived from its name ([`guid_of_name`]).

use crate::etl::Guid;
use crate::events::{guid_of_name, known_guid};

/// The provider that a word means; a GUID may be in braces. The error is a sentence for the user.
pub fn provider_of(word: &str) -> Result<Guid, String> {
    let word = word.trim();
    if let Ok(guid) = word.parse() {
        return Ok(guid);
    }
    if word.is_empty() || word.len() > MOST_BYTES || word.contains(['{', '}', '*', '\\', '\0']) {
        return Err(format!("{word:?} is not a provider: give its name or GUID"));
    }
    Ok(known_guid(word).or_else(|| registered(word)).unwrap_or_else(|| guid_of_name(word)))
}

/// Longer than any name.
const MOST_BYTES: usize = 512;

/// Looks up a name among the installed manifests, which are read once.
#[cfg(windows)]
fn registered(name: &str) -> Option<Guid> {
    use std::sync::LazyLock;
    static ALL: LazyLock<crate::tables::KeyedMap<String, Guid>> = LazyLock::new(|| publishers().unwrap_or_default());
    ALL.get(&name.to_lowercase()).copied()
}

/// All registered providers by name in lower case. The registry has a key for each GUID; its default value is the name.
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
        // Needs the right to write there; otherwise there is nothing to test.
        let Ok((publisher, _)) = machine.create_subkey_with_flags(key, KEY_ALL_ACCESS | KEY_WOW64_64KEY) else { return };
        publisher.set_value("", &"Highwater-Test-Provider").unwrap();
        let found = publishers().unwrap().get("highwater-test-provider").copied();
        machine.delete_subkey_with_flags(key, KEY_WOW64_64KEY).unwrap();
        assert_eq!(found.unwrap().to_string(), "11112222-3333-4444-5555-666677778888");
    }
}
