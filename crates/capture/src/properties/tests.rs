//! Compares the bytes with known examples and with the offsets of the 64-bit structure.

use super::*;
use crate::Target;

const OWN: Guid = Guid::new(1, 2, 3, [4; 8]);

fn session(kind: SessionKind<'_>) -> SessionProperties<'_> {
    SessionProperties { name: "Heap", kind, buffers: Buffers { size_kb: 1024, minimum: 256, maximum: 512 }, flush_seconds: 1 }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn page_faults_have_stacks_whatever_allocations_have() {
    // evntrace.h: beside those of the layer commit, EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS 0x1000, EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS 0x2000.
    let request = Request { faults: true, stacks: false, ..Request::new(Target::Pids(vec![1])) };
    assert_eq!(kernel_flags(&request), 0xF007);
    let list = kernel_stacks(&request);
    let class = [0xD3, 0xA8, 0x6F, 0x3D, 0x05, 0xFE, 0xD0, 0x11, 0x9D, 0xDA, 0x00, 0xC0, 0x4F, 0xD7, 0xBA, 0x7C];
    assert!(list.chunks_exact(24).all(|id| id[..16] == class));
    let mut types: Vec<u8> = list.chunks_exact(24).map(|id| id[16]).collect();
    types.sort_unstable();
    assert_eq!(types, [10, 11, 12, 13, 14, 15, 32]);
}

#[test]
fn the_extension_block_is_that_of_the_example() {
    let stacks = [hook::HEAP_ALLOC, hook::HEAP_REALLOC];
    let block = extension(&[Item::Pids(&[4660]), Item::StackWalk(&stacks)]).unwrap();
    assert_eq!(block, [0x0002_0006, 0x0002_0002, 0x0000_1234, 0x0003_0003, 0x0000_1021, 0x0000_1022][..].to_vec());
}

#[test]
fn a_heap_session_has_every_field_at_its_64_bit_offset() {
    let stacks = [hook::HEAP_ALLOC, hook::HEAP_REALLOC];
    let built = session(SessionKind::Heap { pids: &[4660], stacks: &stacks }).build().unwrap();
    let bytes = built.bytes();
    // Fixed part, room for two names of 1,024 characters, and 256 bytes: the size that PerfView uses.
    assert_eq!(bytes.len(), 0x78 + 4096 + 256);
    let mut expected = vec![0; bytes.len()];
    let mut set = |at: usize, field: &[u8]| expected[at..at + field.len()].copy_from_slice(field);
    set(0x00, &(bytes.len() as u32).to_le_bytes());
    // 222962AB-6180-4B88-A825-346B75F2A24A
    set(0x18, &[0xAB, 0x62, 0x29, 0x22, 0x80, 0x61, 0x88, 0x4B, 0xA8, 0x25, 0x34, 0x6B, 0x75, 0xF2, 0xA2, 0x4A]);
    set(0x28, &1u32.to_le_bytes());
    set(0x2C, &0x0002_0000u32.to_le_bytes());
    set(0x30, &1024u32.to_le_bytes());
    set(0x34, &256u32.to_le_bytes());
    set(0x38, &512u32.to_le_bytes());
    set(0x40, &0x0800_0100u32.to_le_bytes());
    set(0x44, &1u32.to_le_bytes());
    set(0x48, &0x80FF_0088u32.to_le_bytes());
    set(0x74, &0x78u32.to_le_bytes());
    set(0x78, b"H\0e\0a\0p\0\0\0");
    let block = [0x0002_0006u32, 0x0002_0002, 0x1234, 0x0003_0003, 0x1021, 0x1022];
    // Behind the name, which ends at 0x82, at the next multiple of eight.
    set(0x88, &block.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>());
    assert_eq!(bytes, expected);
}

#[test]
fn samples_have_stacks_whatever_allocations_have() {
    let plain = Request { stacks: false, commit: false, ..Request::new(Target::Pids(vec![1])) };
    assert!(kernel_stacks(&plain).is_empty());
    let list = kernel_stacks(&Request { samples: true, ..plain.clone() });
    let class = [0xB4, 0xBF, 0x1D, 0xCE, 0x7E, 0x13, 0xA6, 0x4D, 0x87, 0xB0, 0x3F, 0x59, 0xAA, 0x10, 0x2C, 0xBC];
    assert_eq!(list, [&class[..], &[46, 0, 0, 0, 0, 0, 0, 0]].concat());
    let both = kernel_stacks(&Request { samples: true, stacks: true, commit: true, ..plain });
    assert_eq!((both.len(), both[16], both[24 + 16]), (48, 98, 46));
}

#[test]
fn samples_are_the_profile_and_no_file_is_asked_for() {
    // evntrace.h: EVENT_TRACE_FLAG_PROFILE 0x01000000, EVENT_TRACE_FLAG_FILE_IO 0x02000000.
    let request = Request::new(Target::Pids(vec![1]));
    assert_eq!(kernel_flags(&request), 0xC007);
    let flags = kernel_flags(&Request { samples: true, commit: false, ..request });
    assert_eq!((flags, without_samples(flags), without_samples(7)), (0x0100_0007, Some(7), None));
    assert_eq!(group_masks(flags), [0x0100_0007, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn the_extension_block_is_aligned_whatever_the_id_of_the_process_and_right_behind_the_name() {
    let mut places = std::collections::BTreeSet::new();
    for digits in 0..=10 {
        let pid = u32::try_from(10_u64.pow(digits).min(u32::MAX.into())).unwrap();
        let name = session_name(pid, "heap");
        let built = SessionProperties { name: &name, ..session(SessionKind::Heap { pids: &[1], stacks: &[] }) }.build().unwrap();
        let place = (words(&built.bytes()[0x48..0x4C])[0] & 0xFFFF) as usize;
        assert_eq!((place % 8, place), (0, 0x78 + 2 * (name.len() + 1)), "{name}");
        assert_eq!(words(&built.bytes()[place..place + 12]), [0x0001_0003, 0x0002_0002, 1]);
        places.insert(place);
    }
    assert_eq!(places.len(), 1);
}

#[test]
fn without_stacks_the_block_names_processes_only() {
    let built = session(SessionKind::Heap { pids: &[10, 20], stacks: &[] }).build().unwrap();
    assert_eq!(words(&built.bytes()[0x88..0x88 + 16]), [0x0001_0004, 0x0002_0003, 10, 20]);
}

#[test]
fn behind_every_block_there_is_room_for_the_longest() {
    let long = "x".repeat(1023);
    let hooks = [hook::HEAP_ALLOC; 256];
    for name in ["Heap", long.as_str()] {
        let kind = SessionKind::Heap { pids: &[1, 2, 3, 4, 5, 6, 7, 8], stacks: &hooks };
        let built = SessionProperties { name, ..session(kind) }.build().unwrap();
        let block = (words(&built.bytes()[0x48..0x4C])[0] & 0xFFFF) as usize;
        assert!(block + 0xFF * 4 <= built.bytes().len());
        assert_eq!(words(&built.bytes()[..4])[0] as usize, built.bytes().len());
    }
}

#[test]
fn kernel_sessions_and_those_of_providers_have_a_guid_and_a_mode_of_their_own() {
    let flags = kernel_flags(&Request::new(Target::Pids(vec![1])));
    let kernel = session(SessionKind::Kernel { guid: OWN, flags }).build().unwrap();
    assert_eq!(words(&kernel.bytes()[0x40..0x4C]), [0x0200_0100, 1, 0xC007]);
    let providers = session(SessionKind::Providers { guid: OWN }).build().unwrap();
    assert_eq!(words(&providers.bytes()[0x40..0x4C]), [0x0000_0100, 1, 0]);
    for built in [kernel, providers] {
        assert_eq!(built.bytes()[0x18..0x28], OWN.to_bytes());
    }
}

#[test]
fn names_that_no_session_can_have_are_refused() {
    for name in ["", "a\0b", "x".repeat(1024).as_str()] {
        let session = SessionProperties { name, ..session(SessionKind::Kernel { guid: OWN, flags: 0 }) };
        assert!(matches!(session.build(), Err(CaptureError::BadRequest(_))), "{name:?}");
    }
}

#[test]
fn a_query_is_read_where_the_system_writes_it() {
    let mut answer = Properties::for_answer();
    assert_eq!(answer.bytes().len(), 0x78 + 2 * 2048);
    assert_eq!(words(&answer.bytes()[0x70..0x78]), [0x78 + 2048, 0x78]);
    assert_eq!(words(&answer.bytes()[..4]), [0x78 + 4096]);
    assert_eq!(answer.as_mut_ptr() as usize % 8, 0);
    let room: &mut [u8] = bytemuck::cast_slice_mut(&mut answer.0);
    room[0x18..0x28].copy_from_slice(&OWN.to_bytes());
    for (at, value) in (0x50..).step_by(4).zip([7, 6, 5, 4, 3, 2]) {
        put(room, at, value);
    }
    put(room, 0x30, 64);
    put(room, 0x38, 90);
    assert_eq!(answer.guid(), OWN);
    let expected = Statistics {
        buffer_size_kb: 64,
        maximum_buffers: 90,
        buffers: 7,
        free_buffers: 6,
        events_lost: 5,
        buffers_written: 4,
        log_buffers_lost: 3,
        real_time_buffers_lost: 2,
    };
    assert_eq!(answer.statistics(), expected);
}

#[test]
fn losses_are_what_came_since_the_query_before() {
    let before = Statistics { events_lost: u32::MAX, log_buffers_lost: 1, ..Statistics::default() };
    let now = Statistics { events_lost: 2, log_buffers_lost: 1, real_time_buffers_lost: 4, ..before };
    assert_eq!(now.losses_since(&before).collect::<Vec<_>>(), [Loss::Events(3), Loss::Buffers(4)]);
    assert_eq!(now.losses_since(&now).count(), 0);
}

#[test]
fn stacks_of_kernel_events_are_24_bytes_each() {
    let request = Request { free_stacks: true, ..Request::new(Target::Pids(vec![10])) };
    let list = kernel_stacks(&request);
    assert_eq!(list.len(), 48);
    // 3D6FA8D3-FE05-11D0-9DDA-00C04FD7BA7C
    let class = [0xD3, 0xA8, 0x6F, 0x3D, 0x05, 0xFE, 0xD0, 0x11, 0x9D, 0xDA, 0x00, 0xC0, 0x4F, 0xD7, 0xBA, 0x7C];
    for (id, opcode) in list.chunks_exact(24).zip([98, 99]) {
        assert_eq!((&id[..16], &id[16..]), (&class[..], &[opcode, 0, 0, 0, 0, 0, 0, 0][..]));
    }
    assert_eq!(heap_stacks(&request), [0x1021, 0x1022, 0x1024]);
    let without = Request { stacks: false, ..Request::new(Target::Pids(vec![10])) };
    assert!(kernel_stacks(&without).is_empty() && heap_stacks(&without).is_empty());
}

#[test]
fn buffers_are_few_at_first_and_a_part_of_the_memory_at_most() {
    const GB: u64 = 1 << 30;
    let request = Request::new(Target::Pids(vec![10]));
    assert_eq!((most_buffer_memory(64 * GB), most_buffer_memory(8 * GB)), (2 * GB, GB));
    assert_eq!(Buffers::heap(4, 16 * GB, &request), Buffers { size_kb: 1024, minimum: 64, maximum: 1365 });
    assert_eq!(Buffers::heap(64, 64 * GB, &request), Buffers { size_kb: 1024, minimum: 128, maximum: 1365 });
    assert_eq!(Buffers::kernel(4, 16 * GB, &request), Buffers { size_kb: 1024, minimum: 16, maximum: 341 });
    // If buffers of 1 MB are too large, they are smaller.
    assert_eq!(Buffers::user(32, GB / 4, &request), Buffers { size_kb: 64, minimum: 64, maximum: 85 });
    let request = Request { buffer_size: Some(128 << 10), buffers: Some(40), ..request };
    assert_eq!(Buffers::heap(4, 16 * GB, &request), Buffers { size_kb: 128, minimum: 40, maximum: 40 });
}

#[test]
fn all_sessions_together_have_no_more_than_they_may_whatever_is_asked_for() {
    const GB: u64 = 1 << 30;
    let plain = Request::new(Target::Pids(vec![10]));
    let asked =
        [(None, None), (None, Some(u32::MAX)), (Some(u32::MAX), Some(u32::MAX)), (Some(1), Some(0)), (Some(64 << 10), None)];
    for (buffer_size, buffers) in asked {
        let request = Request { buffer_size, buffers, ..plain.clone() };
        for (processors, memory) in [(1, GB), (4, 2 * GB), (4, 16 * GB), (64, 32 * GB), (64, 1024 * GB), (512, 4096 * GB)] {
            let of = [Buffers::heap, Buffers::kernel, Buffers::user].map(|of| of(processors, memory, &request));
            let bytes: u64 = of.iter().map(|of| u64::from(of.size_kb) * 1024 * u64::from(of.maximum)).sum();
            assert!(bytes <= most_buffer_memory(memory), "{of:?} on {processors} processors with {memory}");
            for of in of {
                let has_sense = (64..=1024).contains(&of.size_kb) && of.minimum <= of.maximum;
                assert!(has_sense && of.minimum >= 2 * processors, "two for each processor: {of:?}");
            }
        }
    }
}
