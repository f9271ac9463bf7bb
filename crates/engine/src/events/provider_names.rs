//! Names of providers, and the GUIDs that follow from names.
//!
//! * Some providers are well known, by the names of their manifests.
//! * Programs derive the GUID of a provider from its name, as .NET's EventSource does and as
//!   TraceLogging recommends: the SHA-1 of a fixed namespace and of the name in capitals (UTF-16, big
//!   endian), into which the version 5 is written. Checked on GUIDs of public traces.
//!
//! Facts: PerfView (`TraceEventSession.GetEventSourceGuidFromName`), UIforETW's `etwproviders.man`.

use super::hooks::class;
use crate::etl::Guid;

/// Well-known providers.
const KNOWN: [(Guid, &str); 13] = [
    (class::CUSTOM_HEAP, "VSHeapTracker"),
    (class::MIMALLOC, "microsoft-windows-mimalloc"),
    (class::PIX, "Microsoft-Graphics-Tools-PixMarkers"),
    (class::DXGI, "Microsoft-Windows-DXGI"),
    (class::D3D9, "Microsoft-Windows-D3D9"),
    (class::DXG_KRNL, "Microsoft-Windows-DxgKrnl"),
    (class::CLR, "Microsoft-Windows-DotNETRuntime"),
    (class::CLR_RUNDOWN, "Microsoft-Windows-DotNETRuntimeRundown"),
    (class::HEAP_SNAPSHOT, "Microsoft-Windows-Heap-Snapshot"),
    (class::KERNEL_MEMORY, "Microsoft-Windows-Kernel-Memory"),
    (class::MULTI_MAIN, "Multi-Main"),
    (class::MULTI_WORKER, "Multi-Worker"),
    (class::MULTI_FRAME_RATE, "Multi-FrameRate"),
];

/// The name of a well-known provider.
pub(super) fn known_name(guid: Guid) -> Option<&'static str> {
    KNOWN.iter().find(|(known, _)| *known == guid).map(|(_, name)| *name)
}

/// The well-known provider with a name, in any case.
pub fn known_guid(name: &str) -> Option<Guid> {
    KNOWN.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(guid, _)| *guid)
}

/// The GUID that a program derives from its provider's name; case does not matter.
pub fn guid_of_name(name: &str) -> Guid {
    const NAMESPACE: [u8; 16] = [0x48, 0x2C, 0x2D, 0xB2, 0xC3, 0x90, 0x47, 0xC8, 0x87, 0xF8, 0x1A, 0x15, 0xBF, 0xC1, 0x30, 0xFB];
    const VERSION: u8 = 5;
    let capitals: String = name.chars().map(capital).collect();
    let units = capitals.encode_utf16().flat_map(u16::to_be_bytes);
    let digest = sha1_smol::Sha1::from(NAMESPACE.into_iter().chain(units).collect::<Vec<_>>()).digest().bytes();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[7] = bytes[7] & 0x0F | VERSION << 4;
    Guid::from_bytes(bytes)
}

/// Converts to upper case as .NET does without regard to languages: one character stays one.
fn capital(character: char) -> char {
    let mut capitals = character.to_uppercase();
    match (capitals.next(), capitals.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_guids_that_programs_make_of_them() {
        for (name, guid) in [
            ("CSharpTraceLoggingEventSource", "a214eced-be64-5e23-fac1-1d7b9052efa4"),
            ("MySource", "a61ea624-4944-55fc-c2a8-37838829438d"),
            ("mysource", "a61ea624-4944-55fc-c2a8-37838829438d"),
        ] {
            assert_eq!(guid_of_name(name).to_string().to_lowercase(), guid, "{name}");
        }
        assert_eq!(capital('ß'), 'ß', "not two");
    }

    #[test]
    fn known_providers_are_found_by_name_and_by_guid() {
        for (guid, name) in KNOWN {
            assert_eq!((known_name(guid), known_guid(&name.to_uppercase())), (Some(name), Some(guid)));
        }
        assert_eq!((known_name(class::PERF_INFO), known_guid("Multi")), (None, None));
    }
}
