//! A trace of an allocator that only a mapping explains, and the mapping.

use std::io::Cursor;
use std::path::Path;

use highwater::etl::write::{Descriptor, NewEvent, Writer};
use highwater::etl::{EventId, Guid, HeaderKind, SessionHeader};
use highwater::units::{Pid, PointerSize, Tid};

/// The provider.
pub const PROVIDER: &str = "{12345678-1111-2222-3333-444455556666}";

/// Writes the trace: ten blocks of 100 bytes, of which four are freed.
pub fn trace(folder: &Path) -> String {
    let session = SessionHeader { buffer_size: 8 << 10, ..SessionHeader::default() };
    let mut writer = Writer::new(Cursor::new(Vec::new()), session).unwrap();
    for n in 0..14u64 {
        let (id, address) = if n < 10 { (1, n) } else { (2, n - 10) };
        let payload: Vec<u8> = [0x1000 + address * 0x100, 100].iter().flat_map(|word| word.to_le_bytes()).collect();
        let event = NewEvent {
            processor: 0,
            time: 1_000 + n as i64,
            kind: HeaderKind::Event,
            pointer: PointerSize::Eight,
            pid: Pid(4660),
            tid: Tid(1),
            id: EventId::Provider { provider: PROVIDER.parse::<Guid>().unwrap(), id },
            version: 0,
            descriptor: Descriptor::default(),
            extended: &[],
            payload: &payload,
        };
        writer.write(&event).unwrap();
    }
    let path = folder.join("own.etl");
    std::fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The mapping; `size` is what stands for the field of the size.
pub fn mapping(size: &str) -> String {
    format!(
        "[[tracker]]\nprovider = \"{PROVIDER}\"\nname = \"Frame heap\"\n\
         [[tracker.event]]\nid = 1\ndoes = \"allocate\"\nfields = \"address:u64 {size}\"\n\
         [[tracker.event]]\nid = 2\ndoes = \"free\"\nfields = \"address:u64\"\n"
    )
}
