//! pprof: `profile.proto` of github.com/google/pprof, gzipped. A sample is a stack of a process with all five values;
//! the requested value is shown first. Process and id are labels, modules are mappings, and functions inlined at an
//! address are lines of its location.
//!
//! A protobuf message is the concatenation of its parts, so samples are written as they come, each with everything
//! that it is the first to name. Memory: everything that has been named.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::stacks::{self, StackMet, clamped, no_frames, weight};
use super::{ExportError, Exported, Value};
use crate::model::Module;
use crate::names::FrameKind;
use crate::tables::KeyedMap;
use crate::utc::unix_nanos;

/// The message, or a part of it. Names and numbers of the fields are those of `profile.proto`.
#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    text: i64,
    #[prost(int64, tag = "3")]
    number: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Mapping {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    memory_start: u64,
    #[prost(uint64, tag = "3")]
    memory_limit: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(int64, tag = "6")]
    build_id: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
    #[prost(bool, tag = "8")]
    has_filenames: bool,
    #[prost(bool, tag = "9")]
    has_line_numbers: bool,
    #[prost(bool, tag = "10")]
    has_inline_frames: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(uint64, tag = "3")]
    address: u64,
    /// The innermost function first.
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
}

/// Writes a gzipped profile.
pub fn pprof(exported: &Exported<'_>, value: Value, out: &mut dyn Write) -> Result<(), ExportError> {
    exported.only_layer(value)?;
    let mut gzip = GzEncoder::new(out, Compression::default());
    let mut named = Named::default();
    named.head(exported, value);
    named.flush(&mut gzip)?;
    stacks::each(exported, value, |stack| {
        let sample = named.sample(exported, &stack, values(value));
        named.part.sample.push(sample);
        named.flush(&mut gzip)
    })?;
    gzip.finish()?;
    Ok(())
}

/// The values of a sample in the profile: all numbers of memory, or the number of processor samples.
fn values(value: Value) -> &'static [Value] {
    if value == Value::Samples { &[Value::Samples] } else { &Value::OF_MEMORY }
}

/// A location: its module and address, the kind of frame, and how many functions are shown there.
type Place = (Option<*const Module>, u64, FrameKind, usize);

/// Everything that has a number so far, and the next part of the message.
#[derive(Default)]
struct Named {
    part: Profile,
    texts: KeyedMap<String, i64>,
    mappings: KeyedMap<*const Module, u64>,
    functions: KeyedMap<(i64, i64), u64>,
    locations: KeyedMap<Place, u64>,
    /// Locations that are no place in any module, by their text.
    words: KeyedMap<&'static str, u64>,
    bytes: Vec<u8>,
}

impl Named {
    /// Adds the fields that describe the whole profile.
    fn head(&mut self, exported: &Exported<'_>, value: Value) {
        let (trace, interval) = (exported.trace(), exported.interval());
        self.text(""); // the first text is always empty
        for &value in values(value) {
            let unit = if value.is_bytes() { "bytes" } else { "count" };
            let kind = ValueType { kind: self.text(value.name()), unit: self.text(unit) };
            self.part.sample_type.push(kind);
        }
        let nanos = |ticks: i64| clamped(i128::from(ticks) * 1_000_000_000 / i128::from(trace.clock.frequency.max(1)));
        self.part.default_sample_type = self.text(value.name());
        self.part.time_nanos = unix_nanos(trace.clock.start_time).map_or(0, |start| start.saturating_add(nanos(interval.from.0)));
        self.part.duration_nanos = nanos(interval.to.0.saturating_sub(interval.from.0));
        let comment = self.text(concat!("highwater ", env!("CARGO_PKG_VERSION")));
        self.part.comment.push(comment);
    }

    fn sample(&mut self, exported: &Exported<'_>, stack: &StackMet<'_>, values: &[Value]) -> Sample {
        let process = exported.trace().process(stack.process);
        if self.mappings.is_empty()
            && let Some(program) = process.modules.iter().find(|module| module.name().eq_ignore_ascii_case(&process.name))
        {
            self.mapping(program); // pprof takes the first mapping for the program
        }
        let named = Label { key: self.text("process"), text: self.text(&stack.process_name), number: 0 };
        let pid = Label { key: self.text("pid"), text: 0, number: process.pid.0.into() };
        let mut location_id = Vec::new();
        // Functions inlined at one address are adjacent.
        for inlined in stack.frames.chunk_by(|a, b| a.level < b.level && a.recorded.address() == b.recorded.address()) {
            location_id.push(self.location(inlined));
        }
        if location_id.is_empty() {
            location_id.push(self.word(no_frames(stack)));
        }
        location_id.reverse();
        let value = values.iter().map(|&value| clamped(weight(&stack.numbers, value))).collect();
        Sample { location_id, value, label: vec![named, pid] }
    }

    /// The location of one recorded frame.
    fn location(&mut self, inlined: &[stacks::FrameMet<'_>]) -> u64 {
        let recorded = inlined[0].recorded;
        let module = recorded.module();
        let place = (module.map(std::ptr::from_ref), recorded.address(), recorded.kind(), inlined.len());
        if let Some(&id) = self.locations.get(&place) {
            return id;
        }
        let mapping_id = module.map_or(0, |module| self.mapping(module));
        let line = inlined.iter().rev().map(|frame| {
            let (file, line) = frame.source();
            let function_id = self.function(&frame.name().to_string(), file.unwrap_or_default());
            Line { function_id, line: line.unwrap_or(0).into() }
        });
        let line = line.collect();
        let id = self.next_location();
        self.part.location.push(Location { id, mapping_id, address: recorded.address(), line });
        self.locations.insert(place, id);
        id
    }

    /// A location whose text says why there are no frames.
    fn word(&mut self, word: &'static str) -> u64 {
        if let Some(&id) = self.words.get(word) {
            return id;
        }
        let line = vec![Line { function_id: self.function(word, ""), line: 0 }];
        let id = self.next_location();
        self.part.location.push(Location { id, mapping_id: 0, address: 0, line });
        self.words.insert(word, id);
        id
    }

    fn next_location(&self) -> u64 {
        (self.locations.len() + self.words.len()) as u64 + 1
    }

    fn mapping(&mut self, module: &Module) -> u64 {
        let key = std::ptr::from_ref(module);
        if let Some(&id) = self.mappings.get(&key) {
            return id;
        }
        let build =
            module.pdb.as_ref().map_or_else(String::new, |pdb| format!("{}{:x}", pdb.guid.to_string().replace('-', ""), pdb.age));
        let mapping = Mapping {
            id: self.mappings.len() as u64 + 1,
            memory_start: module.base,
            memory_limit: module.base.saturating_add(module.size),
            filename: self.text(&module.path),
            build_id: self.text(&build),
            // Tells pprof not to look for names: all known names are here.
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
            has_inline_frames: true,
        };
        let id = mapping.id;
        self.part.mapping.push(mapping);
        self.mappings.insert(key, id);
        id
    }

    fn function(&mut self, name: &str, file: &str) -> u64 {
        let (name, filename) = (self.text(name), self.text(file));
        let next = self.functions.len() as u64 + 1;
        *self.functions.entry((name, filename)).or_insert_with(|| {
            self.part.function.push(Function { id: next, name, system_name: name, filename });
            next
        })
    }

    fn text(&mut self, text: &str) -> i64 {
        if let Some(&number) = self.texts.get(text) {
            return number;
        }
        let number = self.texts.len() as i64;
        self.part.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }

    /// Writes the next part.
    fn flush(&mut self, out: &mut impl Write) -> Result<(), ExportError> {
        self.bytes.clear();
        // Encoding into a vector cannot fail.
        let _ = self.part.encode(&mut self.bytes);
        self.part = Profile::default();
        Ok(out.write_all(&self.bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::Arc;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::names::Names;
    use crate::query::{By, Cancel, Fold, Index, ReportFilter, ReportRequest, report};
    use crate::units::Layer;
    use highwater_load::{Capture, Input, Unwatched, load};

    #[test]
    fn parts_are_one_message_whose_sums_are_those_of_the_report() {
        let trace = Arc::new(load(&Capture::open(&[Input::Demo]).unwrap(), &mut Unwatched).unwrap());
        let (never, names) = (Cancel::default(), Names::default());
        let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
        for layer in Layer::ALL {
            let filter = ReportFilter { layer: Some(layer), ..ReportFilter::default() };
            let request = ReportRequest {
                interval: trace.span,
                by: vec![By::Process, By::Stack],
                filter,
                top: None,
                fold: Fold::Nothing,
                sources: false,
            };
            let exported = Exported::new(&index, &names, &request, &never).unwrap();
            let mut packed = Vec::new();
            pprof(&exported, Value::Peak, &mut packed).unwrap();
            let mut bytes = Vec::new();
            GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
            let profile = Profile::decode(bytes.as_slice()).unwrap();
            let groups = report(&index, &request, &never).unwrap().groups;
            assert_eq!(profile.sample.len(), groups.len());
            for (i, value) in Value::OF_MEMORY.into_iter().enumerate() {
                let expected: i128 = groups.iter().map(|group| weight(&group.numbers, value)).sum();
                assert_eq!(profile.sample.iter().map(|sample| i128::from(sample.value[i])).sum::<i128>(), expected, "{value:?}");
            }
            check_numbers(&profile);
        }
    }

    /// Checks that everything that is referred to is there, and numbered in order.
    fn check_numbers(profile: &Profile) {
        assert_eq!(profile.string_table[0], "");
        assert_eq!(profile.string_table[profile.default_sample_type as usize], "peak");
        assert!(profile.location.iter().map(|l| l.id).eq(1..=profile.location.len() as u64));
        assert!(profile.function.iter().map(|f| f.id).eq(1..=profile.function.len() as u64));
        assert!(profile.mapping.iter().map(|m| m.id).eq(1..=profile.mapping.len() as u64));
        let (locations, functions) = (profile.location.len() as u64, profile.function.len() as u64);
        assert!(profile.sample.iter().all(|s| !s.location_id.is_empty() && s.location_id.iter().all(|&id| id <= locations)));
        assert!(profile.location.iter().all(|l| !l.line.is_empty() && l.line.iter().all(|line| line.function_id <= functions)));
        assert!(profile.location.iter().all(|l| l.mapping_id <= profile.mapping.len() as u64));
        let texts = profile.string_table.len() as i64;
        assert!(profile.function.iter().all(|f| f.name < texts && f.filename < texts));
    }
}
