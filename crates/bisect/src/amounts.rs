//! Bytes of each responsible caller in one capture.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use highwater_engine::pattern::Pattern;
use highwater_engine::units::Layer;
use parquet::record::Row;

use crate::tables::{Allocations, BisectError, double, each_allocations, each_row, field, long, text};

/// The bytes that are counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Alive at the end of the capture.
    End,
    /// Allocated in a frame of the game, on the average of its frames.
    Frame,
    /// Allocated in a mark of this text (`*` stands for anything), on the average of these marks. A mark without a length
    /// lasts until the next.
    Mark(String),
}

/// A place in the code, of one program in one layer of memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Source {
    /// Name of the process.
    pub process: String,
    /// Layer of memory.
    pub layer: Layer,
    /// Responsible caller, as `module!function`.
    pub responsible: String,
}

/// A capture as its row in `captures` describes it.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    /// Its id in the folder.
    pub(crate) id: String,
    pub(crate) build: Option<String>,
    pub(crate) machine: String,
    /// Start, in microseconds since 1970.
    pub(crate) start: Option<i64>,
    to_s: f64,
}

impl Capture {
    /// Reads the row. `tag` is the one that names the build.
    pub(crate) fn read(lake: &Path, id: &str, tag: &str) -> Result<Option<Self>, BisectError> {
        let mut capture = None;
        each_row(lake, "captures", id, &[], |row| {
            capture = Some(Self {
                id: id.to_owned(),
                build: if tag == "build" { text(row, "build") } else { tag_of(row, tag) },
                machine: text(row, "machine").unwrap_or_default(),
                start: long(row, "start_time"),
                to_s: double(row, "to_s").unwrap_or(f64::INFINITY),
            });
        })?;
        Ok(capture)
    }
}

fn tag_of(row: &Row, tag: &str) -> Option<String> {
    let parquet::record::Field::MapInternal(tags) = field(row, "tags") else { return None };
    let is_it = |key: &parquet::record::Field| matches!(key, parquet::record::Field::Str(key) if key == tag);
    tags.entries().iter().find(|(key, _)| is_it(key)).and_then(|(_, value)| match value {
        parquet::record::Field::Str(value) => Some(value.clone()),
        _ => None,
    })
}

/// The bytes of a source, and the stack that has most of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Amount {
    pub(crate) bytes: f64,
    pub(crate) stack: i64,
}

/// The bytes in a capture.
#[derive(Debug, Default)]
pub(crate) struct Amounts {
    /// Names of the processes in which the measure makes sense.
    pub(crate) processes: HashSet<String>,
    pub(crate) of: HashMap<Source, Amount>,
}

impl Amounts {
    /// Reads them; `goes_on` is asked now and then.
    pub(crate) fn read(
        lake: &Path,
        capture: &Capture,
        measure: &Measure,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Self, BisectError> {
        let mut names: HashMap<i64, String> = HashMap::new();
        each_row(lake, "processes", &capture.id, &["process_id", "name"], |row| {
            names.extend(long(row, "process_id").zip(text(row, "name")));
        })?;
        let mut responsible: HashMap<i64, String> = HashMap::new();
        each_row(lake, "stacks", &capture.id, &["stack_id", "responsible"], |row| {
            responsible.extend(long(row, "stack_id").zip(text(row, "responsible")));
        })?;
        let spans = Spans::read(lake, capture, measure)?;
        let sums = sums(lake, capture, spans.as_ref(), goes_on)?;
        let processes = names.iter().filter(|(id, _)| spans.as_ref().is_none_or(|spans| spans.of(**id).is_some()));
        let mut amounts = Self { processes: processes.map(|(_, name)| name.clone()).collect(), of: HashMap::new() };
        let mut most: HashMap<Source, f64> = HashMap::new();
        for ((process, layer, stack), bytes) in sums {
            let Some(name) = names.get(&process) else { continue };
            let times = spans.as_ref().and_then(|spans| spans.of(process)).map_or(1.0, |spans| spans.times);
            let source = Source {
                process: name.clone(),
                layer,
                responsible: responsible.get(&stack).cloned().unwrap_or_else(|| "(no stack)".to_owned()),
            };
            let bytes = bytes as f64 / times;
            let most = most.entry(source.clone()).or_insert(f64::NEG_INFINITY);
            let amount = amounts.of.entry(source).or_default();
            amount.bytes += bytes;
            if bytes > *most {
                (*most, amount.stack) = (bytes, stack);
            }
        }
        Ok(amounts)
    }
}

type Sums = BTreeMap<(i64, Layer, i64), u64>;

/// Bytes by process, layer and stack, of what is alive at the end, or born in the spans.
fn sums(lake: &Path, capture: &Capture, spans: Option<&Spans>, goes_on: &dyn Fn() -> bool) -> Result<Sums, BisectError> {
    let mut sums = Sums::new();
    let mut see = |rows: &Allocations| {
        for (at, size) in rows.sizes.iter().enumerate() {
            let cell = |column: &[Option<i64>]| column.get(at).copied().flatten();
            let (Some(size), Some(process), Some(stack)) = (*size, cell(&rows.processes), cell(&rows.stacks)) else { continue };
            let time = |column: &[Option<f64>]| column.get(at).copied().flatten();
            let counts = match spans {
                None => time(&rows.deaths).is_none_or(|death| death >= capture.to_s),
                Some(spans) => spans.of(process).zip(time(&rows.births)).is_some_and(|(spans, birth)| spans.holds(birth)),
            };
            if counts && let Some(Some(layer)) = rows.layers.get(at) {
                let sum = sums.entry((process, *layer, stack)).or_default();
                *sum = sum.saturating_add(size.unsigned_abs());
            }
        }
        goes_on()
    };
    each_allocations(lake, &capture.id, &mut see)?;
    Ok(sums)
}

/// The frames or marks of each process.
struct Spans(HashMap<i64, OfProcess>);

/// The frames or marks of a process: disjoint, in order.
struct OfProcess {
    spans: Vec<(f64, f64)>,
    /// How many there are.
    times: f64,
}

impl OfProcess {
    fn new(mut spans: Vec<(f64, f64)>) -> Option<Self> {
        let times = spans.len() as f64;
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut disjoint: Vec<(f64, f64)> = Vec::new();
        for (from, to) in spans {
            match disjoint.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => disjoint.push((from, to)),
            }
        }
        (times > 0.0).then_some(Self { spans: disjoint, times })
    }

    fn holds(&self, at: f64) -> bool {
        let next = self.spans.partition_point(|span| span.0 <= at);
        next > 0 && at < self.spans[next - 1].1
    }
}

impl Spans {
    fn read(lake: &Path, capture: &Capture, measure: &Measure) -> Result<Option<Self>, BisectError> {
        match measure {
            Measure::End => Ok(None),
            Measure::Frame => Self::of_frames(lake, capture).map(Some),
            Measure::Mark(text) => Self::of_marks(lake, capture, &Pattern::new(text)).map(Some),
        }
    }

    /// Frames of the swap chain that has most of them.
    fn of_frames(lake: &Path, capture: &Capture) -> Result<Self, BisectError> {
        let mut chains: BTreeMap<(i64, i64), Vec<(f64, f64)>> = BTreeMap::new();
        each_row(lake, "game_frames", &capture.id, &["process_id", "swap_chain", "from_s", "to_s"], |row| {
            let span = double(row, "from_s").zip(double(row, "to_s"));
            if let (Some(process), Some(chain), Some(span)) = (long(row, "process_id"), long(row, "swap_chain"), span) {
                chains.entry((process, chain)).or_default().push(span);
            }
        })?;
        let mut most: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
        for ((process, _), spans) in chains {
            let kept = most.entry(process).or_default();
            if spans.len() > kept.len() {
                *kept = spans;
            }
        }
        Ok(Self::new(most))
    }

    fn of_marks(lake: &Path, capture: &Capture, wanted: &Pattern) -> Result<Self, BisectError> {
        let mut marks: BTreeMap<i64, Vec<(f64, f64)>> = BTreeMap::new();
        each_row(lake, "marks", &capture.id, &["process_id", "text", "from_s", "to_s"], |row| {
            let span = double(row, "from_s").zip(double(row, "to_s"));
            if let (Some(process), Some(text), Some(span)) = (long(row, "process_id"), text(row, "text"), span)
                && wanted.fits(&text)
            {
                marks.entry(process).or_default().push(span);
            }
        })?;
        for spans in marks.values_mut() {
            spans.sort_by(|a, b| a.0.total_cmp(&b.0));
            let begins: Vec<f64> = spans.iter().map(|span| span.0).skip(1).chain([capture.to_s]).collect();
            for (span, next) in spans.iter_mut().zip(begins) {
                if span.1 <= span.0 {
                    span.1 = next;
                }
            }
        }
        Ok(Self::new(marks))
    }

    fn new(of: BTreeMap<i64, Vec<(f64, f64)>>) -> Self {
        Self(of.into_iter().filter_map(|(process, spans)| Some((process, OfProcess::new(spans)?))).collect())
    }

    fn of(&self, process: i64) -> Option<&OfProcess> {
        self.0.get(&process)
    }
}

/// A stack's text and, of its responsible caller, the source line.
pub(crate) struct Told {
    pub(crate) stack: Option<String>,
    pub(crate) source: Option<(String, Option<u32>)>,
}

/// Reads what there is to tell of a stack.
pub(crate) fn tell(lake: &Path, capture: &str, stack: i64, responsible: &str) -> Result<Told, BisectError> {
    let mut told = Told { stack: None, source: None };
    each_row(lake, "stacks", capture, &["stack_id", "text"], |row| {
        if long(row, "stack_id") == Some(stack) {
            told.stack = text(row, "text").filter(|text| !text.is_empty());
        }
    })?;
    each_row(lake, "frames", capture, &["stack_id", "frame", "file", "line"], |row| {
        if long(row, "stack_id") == Some(stack)
            && text(row, "frame").as_deref() == Some(responsible)
            && let Some(file) = text(row, "file")
        {
            // The innermost of several: frames come from the outermost on.
            told.source = Some((file, long(row, "line").and_then(|line| line.try_into().ok())));
        }
    })?;
    Ok(told)
}
