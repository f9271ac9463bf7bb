//! Which provider a word means: a GUID, or a name. Asked by who has no special rights; a recorder
//! that has them is told GUIDs only.
//!
//! * UIforETW's providers have GUIDs that are written in its manifest, and need not be registered.
//! * What is registered has the GUID that Windows knows for its name.
//! * All other names are those of programs that make their GUID of it, as .NET's EventSource does and as
//!   TraceLogging recommends: the SHA-1 of a fixed namespace and of the name in capitals (UTF-16, big
//!   endian), in which the version 5 is written. Checked on GUIDs of public traces.
//!
//! Facts: PerfView (`TraceEventSession.GetEventSourceGuidFromName`), UIforETW's `etwproviders.man`; SHA-1:
//! FIPS 180-4.

use crate::etl::Guid;
use crate::events::class;

/// The provider that a word means; a GUID may stand in braces. An error is a sentence for people.
pub fn provider_of(word: &str) -> Result<Guid, String> {
    let word = word.trim();
    let digits = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(word);
    if let Ok(guid) = digits.parse() {
        return Ok(guid);
    }
    if word.is_empty() || word.len() > MOST_BYTES || word.contains(['{', '}', '*', '\\', '\0']) {
        return Err(format!("{word:?} is no provider: its name or its GUID is wanted"));
    }
    Ok(known(word).or_else(|| registered(word)).unwrap_or_else(|| made_of(word)))
}

/// Longer than any name.
const MOST_BYTES: usize = 512;

fn known(name: &str) -> Option<Guid> {
    let all =
        [("Multi-Main", class::MULTI_MAIN), ("Multi-Worker", class::MULTI_WORKER), ("Multi-FrameRate", class::MULTI_FRAME_RATE)];
    all.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, guid)| guid)
}

/// Of the manifests that are installed; they are read once.
#[cfg(windows)]
fn registered(name: &str) -> Option<Guid> {
    use std::sync::LazyLock;
    static ALL: LazyLock<rustc_hash::FxHashMap<String, Guid>> = LazyLock::new(|| publishers().unwrap_or_default());
    ALL.get(&name.to_lowercase()).copied()
}

/// A key for each provider's GUID, whose own value is the name; here by that, in small letters.
#[cfg(windows)]
fn publishers() -> std::io::Result<rustc_hash::FxHashMap<String, Guid>> {
    use winreg::RegKey;
    use winreg::enums::{HKEY_LOCAL_MACHINE, KEY_READ, KEY_WOW64_64KEY};
    const PUBLISHERS: &str = r"SOFTWARE\Microsoft\Windows\CurrentVersion\WINEVT\Publishers";
    let publishers = RegKey::predef(HKEY_LOCAL_MACHINE).open_subkey_with_flags(PUBLISHERS, KEY_READ | KEY_WOW64_64KEY)?;
    let named = |key: String| {
        let name: String = publishers.open_subkey(&key).and_then(|publisher| publisher.get_value("")).ok()?;
        Some((name.to_lowercase(), key.trim_matches(['{', '}']).parse().ok()?))
    };
    Ok(publishers.enum_keys().map_while(Result::ok).filter_map(named).collect())
}

#[cfg(not(windows))]
fn registered(_name: &str) -> Option<Guid> {
    None
}

/// The GUID that a program makes of its provider's name.
fn made_of(name: &str) -> Guid {
    const NAMESPACE: [u8; 16] = [0x48, 0x2C, 0x2D, 0xB2, 0xC3, 0x90, 0x47, 0xC8, 0x87, 0xF8, 0x1A, 0x15, 0xBF, 0xC1, 0x30, 0xFB];
    const VERSION: u8 = 5;
    let capitals: String = name.chars().map(capital).collect();
    let units = capitals.encode_utf16().flat_map(u16::to_be_bytes);
    let digest = sha1(&NAMESPACE.into_iter().chain(units).collect::<Vec<_>>());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[7] = bytes[7] & 0x0F | VERSION << 4;
    Guid::from_bytes(bytes)
}

/// As .NET does it without regard to languages: one character stays one.
fn capital(character: char) -> char {
    let mut capitals = character.to_uppercase();
    match (capitals.next(), capitals.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}

/// Of a few bytes, for names: nothing is kept secret or proven with it.
fn sha1(message: &[u8]) -> [u8; 20] {
    const BLOCK: usize = 64;
    const LENGTH: usize = 8;
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + LENGTH).next_multiple_of(BLOCK) - LENGTH, 0);
    padded.extend((8 * message.len() as u64).to_be_bytes());
    let mut state = [0x6745_2301_u32, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0];
    for block in padded.chunks_exact(BLOCK) {
        let mut words = [0_u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for t in 16..80 {
            words[t] = (words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (t, word) in words.into_iter().enumerate() {
            let (mixed, constant) = match t / 20 {
                0 => (b & c | !b & d, 0x5A82_7999),
                1 => (b ^ c ^ d, 0x6ED9_EBA1),
                2 => (b & c | b & d | c & d, 0x8F1B_BCDC),
                _ => (b ^ c ^ d, 0xCA62_C1D6),
            };
            let sum = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant).wrapping_add(word);
            (a, b, c, d, e) = (sum, a, b.rotate_left(30), c, d);
        }
        state.iter_mut().zip([a, b, c, d, e]).for_each(|(word, add)| *word = word.wrapping_add(add));
    }
    let mut digest = [0; 20];
    digest.chunks_exact_mut(4).zip(state).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_be_bytes()));
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let hex = |bytes: &[u8]| sha1(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(b""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(hex(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(long), "84983e441c3bd26ebaae4aa1f95129e5e54670f1", "two blocks");
        assert_eq!(hex(&[b'a'; 1_000_000]), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
    }

    #[test]
    fn names_have_the_guids_that_programs_make_of_them() {
        for (name, guid) in [
            ("CSharpTraceLoggingEventSource", "a214eced-be64-5e23-fac1-1d7b9052efa4"),
            ("MySource", "a61ea624-4944-55fc-c2a8-37838829438d"),
            ("mysource", "a61ea624-4944-55fc-c2a8-37838829438d"),
            (" multi-main ", "231cf54b-22a0-49e4-a59a-47052a30ffed"),
            ("{CA11C036-0102-4a2d-a6ad-f03cfed5d3c9}", "ca11c036-0102-4a2d-a6ad-f03cfed5d3c9"),
            ("ca11c036-0102-4a2d-a6ad-f03cfed5d3c9", "ca11c036-0102-4a2d-a6ad-f03cfed5d3c9"),
        ] {
            assert_eq!(provider_of(name).unwrap().to_string().to_lowercase(), guid, "{name}");
        }
        assert_eq!(capital('ß'), 'ß', "not two");
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
