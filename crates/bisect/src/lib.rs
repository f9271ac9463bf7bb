//! The builds at which memory shifted: for each responsible caller and layer of memory, from the tables of many captures
//! (`docs/fleet.md`).
//!
//! - [`tables`]: reads the Parquet files. [`amounts`]: bytes of each caller in one capture.
//! - [`shifts`]: which rows of numbers shifted, with the false-alarm rate; [`design`] and [`segments`] are its parts.
//!
//! Contract: bytes are those that the tables have (`scripts/fleet/builds.sql` counts the same). In a folder without any shift,
//! the chance that one or more are reported is at most [`Question::rate`].
//!
//! Cost: one pass over some columns of the allocations, captures side by side, then what [`shifts`] says. Memory: the
//! callers of each capture, not its allocations.

mod amounts;
mod design;
mod segments;
pub mod shifts;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use highwater_engine::model::is_process_name;
use highwater_engine::units::Layer;
use rayon::prelude::*;

use amounts::{Amounts, Capture};
pub use amounts::{Measure, Source};
pub use design::Place;
pub use segments::Kind;
use shifts::Shift;
pub use tables::BisectError;

/// A question about a folder of tables.
#[derive(Clone, Debug)]
pub struct Question {
    /// The tag that names the build of a capture.
    pub tag: String,
    /// The bytes that are counted.
    pub measure: Measure,
    /// Only processes of this name.
    pub process: Option<String>,
    /// Only this layer.
    pub layer: Option<Layer>,
    /// The chance of reporting anything if there is no shift at all.
    pub rate: f64,
    /// Least difference in bytes that is reported.
    pub at_least: f64,
}

/// A shift of the bytes of a caller.
#[derive(Clone, Debug)]
pub struct BuildShift {
    /// The caller, with its process and layer.
    pub source: Source,
    /// Step or drift.
    pub kind: Kind,
    /// The last build before it.
    pub from_build: String,
    /// The first build after it.
    pub to_build: String,
    /// Bytes before, on the average machine.
    pub before: f64,
    /// Bytes after.
    pub after: f64,
    /// The chance of a shift as clear as this somewhere, if there is none at all.
    pub p: f64,
    /// The stack that holds most of it in `to_build`, outermost frame first, `;` between frames.
    pub stack: Option<String>,
    /// File and line of the caller.
    pub line: Option<(String, Option<u32>)>,
    /// Mean bytes of the captures of each build, in order.
    pub builds: Vec<BuildMean>,
}

/// The mean of a build.
#[derive(Clone, PartialEq, Debug)]
pub struct BuildMean {
    /// The build.
    pub build: String,
    /// Its captures that have the process.
    pub captures: usize,
    /// Mean bytes of them.
    pub bytes: f64,
}

/// The answer: the shifts, the largest first, and what it is based on.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The shifts.
    pub shifts: Vec<BuildShift>,
    /// Captures with a build.
    pub captures: usize,
    /// Captures without a build, which are left out.
    pub without_build: usize,
    /// Builds in order of time.
    pub builds: Vec<String>,
    /// Number of machines.
    pub machines: usize,
    /// Callers that were compared, in their layers.
    pub compared: usize,
    /// Callers that were not, because others have more bytes.
    pub not_compared: usize,
    /// Processes that have too few captures to tell a shift from chance at this rate.
    pub too_few: Vec<String>,
    /// Machines without a name count as one.
    pub is_machine_unknown: bool,
}

/// Most callers of a process that are compared.
const MOST_ROWS: usize = 2_000;
/// Most builds, the newest: time and memory grow with their square.
const MOST_BUILDS: usize = 400;

/// Answers a question about the folder `lake`. `tell` hears how many captures of how many are read, and returns whether to
/// go on.
pub fn bisect(lake: &Path, question: &Question, tell: &(dyn Fn(usize, usize) -> bool + Sync)) -> Result<Answer, BisectError> {
    let ids = tables::captures(lake)?;
    let all: Vec<Capture> = ids
        .iter()
        .map(|id| Capture::read(lake, id, &question.tag))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect();
    if all.is_empty() {
        return Err(BisectError::NoTables(lake.to_owned()));
    }
    let (builds, mut captures) = in_order(all.iter().filter(|capture| capture.build.is_some()).cloned().collect());
    let mut answer = Answer { without_build: all.len() - captures.len(), ..Answer::default() };
    if captures.is_empty() {
        let tag = &question.tag;
        return Err(BisectError::Missing(format!("no capture has the tag {tag}; export --tag {tag}=VALUE gives it one")));
    }
    let first = builds.len().saturating_sub(MOST_BUILDS);
    captures.retain(|(build, _)| *build >= first);
    answer.captures = captures.len();
    answer.machines = captures.iter().map(|(_, capture)| &capture.machine).collect::<BTreeSet<_>>().len();
    answer.is_machine_unknown = captures.iter().any(|(_, capture)| capture.machine.is_empty());
    let amounts = read(lake, question, &captures, tell)?;
    let table = Table { lake, question, builds: &builds, captures: &captures, amounts: &amounts };
    let mut programs: Vec<Program> = Vec::new();
    for process in processes(question, &amounts)? {
        let program = table.program(&process, &mut answer);
        programs.extend((!program.rows.is_empty()).then_some(program));
    }
    // Each program has its own shuffles, and they share the rate.
    let share = question.rate / programs.len().max(1) as f64;
    for program in &programs {
        // With few orders of captures none can be rare.
        if shifts::least_p(&program.places).is_some_and(|least| least > share) {
            answer.too_few.push(program.name.clone());
            continue;
        }
        answer.shifts.extend(table.shifts(program, share, programs.len())?);
    }
    answer.builds = builds[first..].to_vec();
    let change = |shift: &BuildShift| (shift.after - shift.before).abs();
    answer.shifts.sort_by(|a, b| change(b).total_cmp(&change(a)).then_with(|| a.source.cmp(&b.source)));
    Ok(answer)
}

/// The builds in order of their first capture, and the captures in that order, then by time.
fn in_order(captures: Vec<Capture>) -> (Vec<String>, Vec<(usize, Capture)>) {
    let mut since: BTreeMap<String, i64> = BTreeMap::new();
    for capture in &captures {
        let start = capture.start.unwrap_or(i64::MAX);
        since.entry(capture.build.clone().unwrap_or_default()).and_modify(|first| *first = start.min(*first)).or_insert(start);
    }
    let mut builds: Vec<(i64, String)> = since.into_iter().map(|(build, start)| (start, build)).collect();
    builds.sort();
    let builds: Vec<String> = builds.into_iter().map(|(_, build)| build).collect();
    let number = |capture: &Capture| builds.iter().position(|build| Some(build) == capture.build.as_ref()).unwrap_or(0);
    let mut captures: Vec<(usize, Capture)> = captures.into_iter().map(|capture| (number(&capture), capture)).collect();
    captures.sort_by(|(a, x), (b, y)| (a, x.start, &x.id).cmp(&(b, y.start, &y.id)));
    (builds, captures)
}

/// The amounts of all captures, several read at a time.
fn read(
    lake: &Path,
    question: &Question,
    captures: &[(usize, Capture)],
    tell: &(dyn Fn(usize, usize) -> bool + Sync),
) -> Result<Vec<Amounts>, BisectError> {
    let done = std::sync::atomic::AtomicUsize::new(0);
    let of = |(_, capture): &(usize, Capture)| {
        let goes_on = || tell(done.load(std::sync::atomic::Ordering::Relaxed), captures.len());
        let mut amounts = Amounts::read(lake, capture, &question.measure, &goes_on)?;
        amounts.of.retain(|source, _| question.layer.is_none_or(|layer| source.layer == layer));
        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(amounts)
    };
    captures.par_iter().map(of).collect()
}

/// The names of the processes to look at.
fn processes(question: &Question, amounts: &[Amounts]) -> Result<Vec<String>, BisectError> {
    let all: BTreeSet<&str> = amounts.iter().flat_map(|amounts| &amounts.processes).map(String::as_str).collect();
    if all.is_empty() {
        return Err(BisectError::Missing(match &question.measure {
            Measure::End => "no capture has a process".to_owned(),
            Measure::Frame => "no capture has frames of a game".to_owned(),
            Measure::Mark(text) => format!("no capture has the mark {text}"),
        }));
    }
    let Some(wanted) = &question.process else { return Ok(all.into_iter().map(str::to_owned).collect()) };
    let chosen: Vec<String> = all.iter().copied().filter(|name| is_process_name(name, wanted)).map(str::to_owned).collect();
    if chosen.is_empty() {
        return Err(BisectError::Missing(highwater_engine::nearest::no_such("process", wanted, all)));
    }
    Ok(chosen)
}

/// The amounts of all captures.
struct Table<'a> {
    lake: &'a Path,
    question: &'a Question,
    builds: &'a [String],
    /// The build of each, and it.
    captures: &'a [(usize, Capture)],
    amounts: &'a [Amounts],
}

/// The captures of a program, and a row of their bytes for each of its callers.
struct Program {
    name: String,
    /// Indices of the captures.
    captures: Vec<usize>,
    places: Vec<Place>,
    sources: Vec<Source>,
    rows: Vec<Vec<f64>>,
}

impl Table<'_> {
    /// The rows of a process that differ from build to build and are not too small.
    fn program(&self, process: &str, answer: &mut Answer) -> Program {
        let has: Vec<usize> = (0..self.captures.len()).filter(|&at| self.amounts[at].processes.contains(process)).collect();
        let name = |at: usize| self.captures[at].1.machine.as_str();
        let machines: BTreeSet<&str> = has.iter().map(|&at| name(at)).collect();
        let machine = |at: usize| machines.iter().position(|machine| *machine == name(at)).unwrap_or(0);
        let places = has.iter().map(|&at| Place { build: self.captures[at].0, machine: machine(at) }).collect();
        let of_process = |source: &&Source| source.process == process;
        let sources: BTreeSet<&Source> = has.iter().flat_map(|&at| self.amounts[at].of.keys()).filter(of_process).collect();
        answer.compared += sources.len();
        let row = |source: &Source| -> Vec<f64> { has.iter().map(|&at| self.bytes(at, source)).collect() };
        let most = |row: &[f64]| row.iter().copied().fold(0.0, f64::max);
        let mut rows: Vec<(Source, Vec<f64>)> = sources.into_iter().map(|source| (source.clone(), row(source))).collect();
        // What is the same in all captures shifted nowhere, and what is small altogether by too little.
        rows.retain(|(_, row)| most(row) >= self.question.at_least && row.windows(2).any(|pair| pair[0] != pair[1]));
        rows.sort_by(|(_, a), (_, b)| most(b).total_cmp(&most(a)));
        let left_out = rows.len().saturating_sub(MOST_ROWS);
        rows.truncate(MOST_ROWS);
        answer.not_compared += left_out;
        answer.compared -= left_out;
        let (sources, rows) = rows.into_iter().unzip();
        Program { name: process.to_owned(), captures: has, places, sources, rows }
    }

    fn bytes(&self, capture: usize, source: &Source) -> f64 {
        self.amounts[capture].of.get(source).map_or(0.0, |amount| amount.bytes)
    }

    /// The shifts of a program at a rate, with chances that `times` programs share.
    fn shifts(&self, program: &Program, rate: f64, times: usize) -> Result<Vec<BuildShift>, BisectError> {
        let mut shifts = Vec::new();
        let found = shifts::find(&program.places, &program.rows, rate);
        for ((source, row), found) in program.sources.iter().zip(&program.rows).zip(found) {
            for shift in found.into_iter().filter(|shift| (shift.after - shift.before).abs() >= self.question.at_least) {
                let told = self.told(program, source, &shift)?;
                let means = means(self.builds, &program.places, row);
                let p = (shift.p * times as f64).min(1.0);
                shifts.push(described(source, &Shift { p, ..shift }, told, means, self.builds));
            }
        }
        Ok(shifts)
    }

    /// The stack that holds most of a source after a shift; of what is gone, before it.
    fn told(&self, program: &Program, source: &Source, shift: &Shift) -> Result<amounts::Told, BisectError> {
        let of_build = |build: usize| program.captures.iter().copied().filter(move |&at| self.captures[at].0 == build);
        let sides = of_build(shift.from_build).chain(of_build(shift.to_build));
        let largest = sides.max_by(|&a, &b| self.bytes(a, source).total_cmp(&self.bytes(b, source)));
        match largest.and_then(|at| Some((at, self.amounts[at].of.get(source)?))) {
            Some((at, amount)) => amounts::tell(self.lake, &self.captures[at].1.id, amount.stack, &source.responsible),
            None => Ok(amounts::Told { stack: None, source: None }),
        }
    }
}

/// The mean of each build.
fn means(builds: &[String], places: &[Place], row: &[f64]) -> Vec<BuildMean> {
    let mut sums: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
    for (place, bytes) in places.iter().zip(row) {
        let (sum, n) = sums.entry(place.build).or_default();
        (*sum, *n) = (*sum + bytes, *n + 1);
    }
    let mean =
        |(build, (sum, n)): (usize, (f64, usize))| BuildMean { build: builds[build].clone(), captures: n, bytes: sum / n as f64 };
    sums.into_iter().map(mean).collect()
}

fn described(source: &Source, shift: &Shift, told: amounts::Told, means: Vec<BuildMean>, builds: &[String]) -> BuildShift {
    BuildShift {
        source: source.clone(),
        kind: shift.kind,
        from_build: builds[shift.from_build].clone(),
        to_build: builds[shift.to_build].clone(),
        before: shift.before.max(0.0),
        after: shift.after.max(0.0),
        p: shift.p,
        stack: told.stack,
        line: told.source,
        builds: means,
    }
}
