//! What hostile bytes are fed to: one function for each way in. The targets in
//! `fuzz/` call them with what libFuzzer invents, `tests/mutations.rs` with damaged
//! traces on every run, so that they cannot rot. None of them may panic, hang or
//! take memory without bound, whatever the bytes; each asserts what must hold then.
#![allow(dead_code, reason = "each target uses its own part")]
#![allow(clippy::unwrap_used, reason = "an unexpected error is what they look for")]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use highwater::etl::compression::Algorithm;
use highwater::etl::write::{Descriptor, NewEvent, Writer};
use highwater::etl::{
    BUFFER_HEADER, BufferInfo, EventId, Events, ExtendedItem, Guid, HeaderKind, SessionHeader, align8, extended_type,
};
use highwater::events::{class, hook, lost, survey, tracker};
use highwater::export::{Exported, csv};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::model::{CounterId, Trace};
use highwater::query::{
    By, Cancel, Column, Filter, Fold, Index, IndexOptions, ReportFilter, ReportRequest, SeriesOf, TreeRequest, counter_series,
    peaks, report, series, sort_nodes, spans, totals, tree,
};
use highwater::random::Random;
use highwater::symbols::Names;
use highwater::units::{Interval, Pid, PointerSize, Ticks, Tid};

/// How far some bytes came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reached {
    /// Events that were counted.
    pub events: u64,
    /// Allocations in the trace.
    pub rows: usize,
    /// Hash of all that a report says, over the whole trace and over a part.
    pub digest: u64,
}

/// A buffer: its header, and the framing of its events. Events come in order,
/// inside the buffer, and leave nothing out before the end or a fault.
pub fn buffer(data: &[u8]) {
    let Some(info) = BufferInfo::parse(data, 0) else { return };
    let (end, _) = info.valid_end(data.len());
    let mut at = BUFFER_HEADER;
    for event in Events::new(&data[..end]) {
        assert_eq!(event.offset, at, "events touch");
        let items: usize = event.extended.map(|item| 8 + item.data.len()).sum();
        let payload_at = event.payload.as_ptr() as usize - data.as_ptr() as usize;
        assert!(at + event.kind.header_len() + items <= payload_at, "items stand before the payload");
        at = align8(payload_at + event.payload.len());
    }
}

/// All forms of compression: the first two bytes say how much to expand, the rest is
/// the stream; and the same bytes must survive being compressed.
pub fn compression(data: &[u8]) {
    let Some((size, stream)) = data.split_at_checked(2) else { return };
    let size = usize::from(u16::from_le_bytes([size[0], size[1]]));
    for form in Algorithm::ALL {
        let mut out = vec![7; 3];
        match form.decompress(stream, &mut out, size) {
            Ok(used) => assert!(used <= stream.len() && out.len() == 3 + size),
            // A chunk that goes on behind the size is a fault, too.
            Err(error) => assert!(out.len() - 3 >= error.good_bytes() && out.len() <= 3 + size),
        }
        assert_eq!(out[..3], [7; 3], "what was there stays");
        let packed = form.compress(data);
        let mut again = Vec::new();
        assert_eq!(form.decompress(&packed, &mut again, data.len()), Ok(packed.len()));
        assert_eq!(again, data);
    }
}

/// Hooks with a payload decoder of their own, or with a path of their own in one.
const HOOKS: [u16; 37] = [
    hook::HEAP_RANGE_RUNDOWN,
    hook::HEAP_RANGE_CREATE,
    hook::HEAP_RANGE_RESERVE,
    hook::HEAP_RANGE_RELEASE,
    hook::HEAP_RANGE_DESTROY,
    hook::MEM_INFO,
    hook::MEM_INFO_WS,
    hook::HEAP_EXPAND,
    hook::HEAP_SNAPSHOT,
    hook::HEAP_CONTRACT,
    hook::VIRTUAL_ALLOC,
    hook::VIRTUAL_FREE,
    hook::VIRTUAL_RUNDOWN_START,
    hook::PROCESS_START,
    hook::PROCESS_END,
    hook::PROCESS_RUNDOWN_START,
    hook::PROCESS_RUNDOWN_END,
    hook::IMAGE_LOAD,
    hook::IMAGE_UNLOAD,
    hook::IMAGE_RUNDOWN_START,
    hook::IMAGE_RUNDOWN_END,
    hook::THREAD_START,
    hook::THREAD_RUNDOWN_START,
    hook::THREAD_RUNDOWN_END,
    hook::THREAD_SET_NAME,
    hook::HEAP_CREATE,
    hook::HEAP_ALLOC,
    hook::HEAP_REALLOC,
    hook::HEAP_DESTROY,
    hook::HEAP_FREE,
    hook::STACK,
    hook::STACK_KEY_CREATE,
    hook::STACK_KEY_DELETE,
    hook::STACK_KEY_RUNDOWN,
    hook::STACK_KEY_REF_KERNEL,
    hook::STACK_KEY_REF_USER,
    hook::GROUP_MASKS,
];

/// Classes and types of the events that are no hooks.
const CLASSES: [(Guid, u8); 6] = [
    (class::IMAGE_ID, 0x24),
    (class::SYSTEM_CONFIG_EX, 0x23),
    (class::IMAGE_ID, 0),
    (class::LOST_EVENT, lost::EVENT),
    (class::LOST_EVENT, lost::BUFFER),
    (class::LOST_EVENT, lost::FILE),
];

/// Providers and ids of the others.
const PROVIDERS: [(Guid, u16); 7] = [
    (class::CUSTOM_HEAP, tracker::ALLOC),
    (class::CUSTOM_HEAP, tracker::FREE),
    (class::CUSTOM_HEAP, tracker::REALLOC),
    (class::CUSTOM_HEAP, tracker::OPEN),
    (class::CUSTOM_HEAP, tracker::CLOSE),
    (class::KERNEL_MEMORY, 1),
    (class::KERNEL_MEMORY, 2),
];

/// How many kinds of events [`payload`] knows.
pub const PAYLOAD_KINDS: usize = HOOKS.len() + CLASSES.len() + PROVIDERS.len();

/// Payloads: chunks of which the first byte says what event it is, the second its
/// version, pointers and extended item, the third its length. All go through the
/// real writer into one trace, which must load.
pub fn payload(data: &[u8]) -> Reached {
    let session = SessionHeader { start_ticks: 1_000, ..SessionHeader::default() };
    let mut writer = Writer::new(Cursor::new(Vec::new()), session).unwrap();
    let mut rest = data;
    let mut written = 1;
    while let Some((&[kind, form, len], tail)) = rest.split_first_chunk() {
        let (chunk, tail) = tail.split_at(usize::from(len).min(tail.len()));
        rest = tail;
        write_event(&mut writer, kind, form, 1_000 + written, chunk);
        written += 1;
    }
    let reached = open_as(&scratch("payload"), &writer.finish().unwrap().into_inner(), written as u64);
    assert_eq!(reached.events, written as u64, "every event that was written is counted");
    reached
}

fn write_event(writer: &mut Writer<Cursor<Vec<u8>>>, kind: u8, form: u8, time: i64, payload: &[u8]) {
    let index = usize::from(kind) % PAYLOAD_KINDS;
    let pointer = if form & 1 == 0 { PointerSize::Eight } else { PointerSize::Four };
    let (header, id) = match index.checked_sub(HOOKS.len()) {
        None if form & 2 == 0 => (HeaderKind::System, EventId::Hook(HOOKS[index])),
        None => (HeaderKind::PerfInfo, EventId::Hook(HOOKS[index])),
        Some(n) if n < CLASSES.len() => {
            let (class, opcode) = CLASSES[n];
            (if form & 2 == 0 { HeaderKind::Full } else { HeaderKind::Event }, EventId::Class { class, opcode })
        }
        Some(n) => {
            let (provider, id) = PROVIDERS[n - CLASSES.len()];
            (HeaderKind::Event, EventId::Provider { provider, id })
        }
    };
    let kinds =
        [extended_type::STACK_TRACE32, extended_type::STACK_TRACE64, extended_type::STACK_KEY32, extended_type::STACK_KEY64];
    let item = ExtendedItem { kind: kinds[usize::from(form >> 6)], data: payload };
    let extended: &[ExtendedItem<'_>] = if header == HeaderKind::Event && form & 4 != 0 { &[item] } else { &[] };
    let version = u16::from(form >> 3 & 7);
    let (pid, tid, descriptor) = (Pid(u32::from(form >> 6)), Tid(1), Descriptor::default());
    let event = NewEvent { processor: 0, time, kind: header, pointer, pid, tid, id, version, descriptor, extended, payload };
    writer.write(&event).unwrap();
}

/// A whole file, whatever it is: recognised by its content, opened, surveyed,
/// loaded and asked.
pub fn open(data: &[u8]) -> Reached {
    open_as(&scratch("open"), data, data.len() as u64)
}

/// Archives: the first byte says of which kind the rest shall be, wherever it is damaged.
pub fn archive(data: &[u8]) -> Reached {
    const ZIP: &[u8] = b"PK\x03\x04";
    const OLE: &[u8] = &[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1];
    let Some((&kind, bytes)) = data.split_first() else { return Reached::default() };
    let magic = if kind.is_multiple_of(2) { ZIP } else { OLE };
    let whole = [magic, bytes.get(magic.len()..).unwrap_or_default()].concat();
    open_as(&scratch("archive"), &whole, data.len() as u64)
}

/// A file of one's own for this thread.
fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("highwater-{name}-{}-{:?}", std::process::id(), std::thread::current().id()))
}

fn open_as(path: &Path, data: &[u8], seed: u64) -> Reached {
    std::fs::write(path, data).unwrap();
    let reached = open_files(&[path.to_owned()], seed);
    std::fs::remove_file(path).unwrap();
    reached
}

/// The files of one capture, opened, surveyed, loaded and asked. The questions
/// follow from `seed`.
pub fn open_files(paths: &[PathBuf], seed: u64) -> Reached {
    let inputs: Vec<Input> = paths.iter().cloned().map(Input::File).collect();
    let capture = match Capture::open(&inputs) {
        Ok(capture) => capture,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n') && text.len() > 10, "{text}");
            return Reached::default();
        }
    };
    let events: u64 = capture.files.iter().map(|file| survey(file).counts.total).sum();
    let trace = load(&capture, &mut Unwatched).unwrap();
    assert_eq!(trace.counts.total, events, "the survey and the load count alike");
    assert!(trace.complete && trace.span.from < trace.span.to);
    ask(&trace, &mut Random::new(seed));
    let digest = digest(&trace, seed);
    if seed.is_multiple_of(4) {
        let again = load(&capture, &mut Unwatched).unwrap();
        assert_eq!(self::digest(&again, seed), digest, "two loads say the same");
    }
    Reached { events, rows: trace.rows.len(), digest }
}

fn digest(trace: &Trace, seed: u64) -> u64 {
    let mut hash = DefaultHasher::new();
    let index = Index::scan(Arc::new(trace.clone()));
    let middle = Ticks((trace.span.from.0 / 2).saturating_add(trace.span.to.0 / 2).saturating_sub_unsigned(seed % 5));
    for interval in [trace.span, Interval::new(middle, trace.span.to)] {
        let by = vec![By::Process, By::Heap, By::Stack, By::Type, By::Thread];
        let request =
            ReportRequest { interval, by, filter: ReportFilter::default(), top: None, fold: Fold::Nothing, sources: false };
        let report = report(&index, &request, &Cancel::default()).unwrap();
        serde_json::to_string(&report.groups).unwrap().hash(&mut hash);
    }
    serde_json::to_string(&trace.quality).unwrap().hash(&mut hash);
    hash.finish()
}

/// Asks a trace everything that can be asked, over some intervals.
pub fn ask(trace: &Trace, random: &mut Random) {
    let moment = |random: &mut Random| {
        let length = trace.span.to.0.abs_diff(trace.span.from.0);
        Ticks(trace.span.from.0.saturating_add_unsigned(random.below(length)))
    };
    let (a, b) = (moment(random), moment(random));
    let mut intervals = vec![trace.span, Interval::new(a, b)];
    match random.below(8) {
        0 => intervals.push(Interval { from: Ticks(i64::MIN + 1), to: Ticks(i64::MAX - 1) }),
        1 => intervals.push(Interval { from: a, to: a }),
        _ => {}
    }
    let checkpoints = random.one_in(2).then(|| random.index(9));
    let block = random.one_in(2).then(|| 1 + random.index(50));
    let options = IndexOptions { checkpoints, block, ..IndexOptions::default() };
    let index = Index::build(Arc::new(trace.clone()), &options, &Cancel::default()).unwrap();
    check_names(trace);
    check_table(&index);
    for interval in intervals {
        ask_of(&index, interval, random);
    }
}

/// No name is longer than it can be.
fn check_names(trace: &Trace) {
    const NAME: usize = 255;
    const PATH: usize = 32_767;
    const METHOD: usize = 512;
    let is_short = |name: &str, most: usize| assert!(name.encode_utf16().count() <= most, "{name}");
    for process in &trace.processes {
        is_short(&process.name, NAME);
        is_short(&process.command_line, PATH);
        for module in &process.modules {
            is_short(module.name(), NAME);
            is_short(&module.path, PATH);
        }
    }
    trace.heaps.iter().filter_map(|heap| heap.name.as_deref()).for_each(|name| is_short(name, NAME));
    trace.thread_names.values().for_each(|name| is_short(name, NAME));
    let managed = &trace.activity.managed;
    let methods = managed.processes().into_iter().flat_map(|process| managed.methods(process));
    methods.for_each(|method| is_short(&method.name, METHOD));
}

/// No cell of a table is computed by who opens it, or is more than a line.
fn check_table(index: &Index) {
    let (never, names) = (Cancel::default(), Names::default());
    let by = vec![By::Process, By::Heap, By::Stack];
    let request = ReportRequest {
        interval: index.trace().span,
        by,
        filter: ReportFilter::default(),
        top: Some(50),
        fold: Fold::Nothing,
        sources: false,
    };
    let mut table = Vec::new();
    csv(&Exported::new(index, &names, &request, &never).unwrap(), &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    let bad =
        |c: char| (c.is_control() && !matches!(c, '\r' | '\n')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert!(!table.contains(bad), "{table:?}");
    assert!(table.split("\r\n").all(|line| !line.contains(['\r', '\n']) && !line.starts_with(['=', '+', '-', '@'])), "{table:?}");
}

fn ask_of(index: &Index, interval: Interval, random: &mut Random) {
    let cancel = Cancel::default();
    let trace = index.trace();
    let all = [By::Process, By::Heap, By::Stack, By::Type, By::Thread];
    let by = all.into_iter().filter(|_| random.one_in(2)).collect();
    let request = ReportRequest { interval, by, filter: ReportFilter::default(), top: None, fold: Fold::Nothing, sources: false };
    for group in report(index, &request, &cancel).unwrap().groups {
        assert!(
            group.numbers.outstanding_from <= group.numbers.peak && group.numbers.outstanding_to <= group.numbers.peak,
            "{group:?}"
        );
        assert_eq!(
            group.numbers.count,
            group.numbers.aifi.count + group.numbers.aifo.count + group.numbers.aofi.count + group.numbers.aofo.count
        );
        if group.numbers.size < i64::MAX as u64 {
            let change = i128::from(group.numbers.outstanding_to) - i128::from(group.numbers.outstanding_from);
            assert_eq!(i128::from(group.numbers.impacting_size), change, "{group:?}");
        }
        serde_json::to_string(&group).unwrap();
    }
    let totals = totals(index, interval, &cancel).unwrap();
    let bins = 1 + random.index(200);
    let lines = series(index, &totals, &SeriesOf::new(trace, 1, |_| Some(0)), bins, &cancel).unwrap();
    assert!(lines[0].points.len() <= 4 * bins + 2 && lines[0].points.is_sorted_by_key(|(at, _)| *at));
    let counters: Vec<CounterId> = (0..trace.counters.len() as u32).map(CounterId).collect();
    let of_counters = counter_series(trace, &counters, interval, bins, &cancel).unwrap();
    assert!(of_counters.iter().all(|line| line.points.len() <= 4 * bins + 4));
    let mut request = TreeRequest::default();
    let mut table = tree(trace, &totals, &request, &cancel).unwrap();
    // Open what there is, two levels or so, and look at one line alone.
    for row in table.rows(trace).take(50) {
        Arc::make_mut(&mut request.toggled).insert(row.path, true);
    }
    request.sort.column = if random.one_in(2) { Column::Name } else { Column::Peak };
    if let Some(path) = table.path(random.index(table.len())) {
        let filter = Filter::under(path);
        spans(index, interval, &filter.mask(trace), bins, &cancel).unwrap();
        if random.one_in(4) {
            request.filter = filter;
        }
    }
    if random.one_in(8) {
        request.search = "exe".to_owned();
    }
    table = tree(trace, &totals, &request, &cancel).unwrap();
    let tops = peaks(index, interval, &table, &cancel).unwrap();
    assert!((0..table.len()).all(|line| table.peak(trace, &tops, line).is_some()));
    assert_eq!(sort_nodes(table, &tops, true).1.len(), tops.len());
}
