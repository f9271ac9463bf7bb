//! Many captures, some at a time: which there are, whether there is room for one more, what became of each.
//!
//! A capture that is already there costs a look at its file. One that fails does not hold up the others.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{ExportArgs, wildcards};
use crate::cli::asked::stopped;
use crate::cli::progress::Progress;
use crate::cli::text::plural;
use crate::cli::{Failure, memory, open, output, report_problems};
use crate::events::machine_name;
use crate::export::lake::identity::{capture_id, name_of};
use crate::export::lake::{About, Lake, LakeError, Outcome, Question, Telling, write_tables};
use crate::load::{Capture, Estimate, Input, Watch, load_planned};
use crate::model::Trace;
use crate::panics;
use crate::query::{By, Cancel};
use crate::stack_rules::StackRules;
use crate::synth::demo;

/// What a capture takes besides its trace while it is written.
const BESIDE: u64 = 256 << 20;
/// Captures at a time, at most.
const AT_A_TIME: usize = 8;

/// One capture.
struct Job {
    inputs: Vec<Input>,
    /// Bytes of its files.
    bytes: u64,
}

impl Job {
    fn of(inputs: Vec<Input>) -> Self {
        let bytes = |input: &Input| match input {
            Input::File(path) => path.metadata().map_or(0, |file| file.len()),
            Input::Demo => demo::TRACE.len() as u64,
        };
        Self { bytes: inputs.iter().map(bytes).sum(), inputs }
    }

    /// As the user named it.
    fn name(&self) -> String {
        self.inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ")
    }
}

pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    let inputs = wildcards::expanded(args.asked.inputs()).map_err(Failure::Failed)?;
    let jobs: Vec<Job> = if args.tables.one_capture {
        vec![Job::of(inputs)]
    } else {
        inputs.into_iter().map(|input| Job::of(vec![input])).collect()
    };
    let rules = args.asked.rules.read()?;
    let lake = Lake::open(&args.out).map_err(|error| Failure::Failed(error.to_string()))?;
    let what = if let [job] = jobs.as_slice() { format!("Exporting {}", job.name()) } else { "Exporting".to_owned() };
    let total = jobs.iter().map(|job| job.bytes).sum::<u64>().saturating_mul(2);
    let fleet = Fleet {
        args,
        rules,
        lake,
        room: Room::new(args.asked.memory.budget()),
        met: Mutex::default(),
        progress: Mutex::new(Progress::new(what)),
        done: AtomicU64::new(0),
        total,
    };
    let outcomes = fleet.run(&jobs);
    drop(fleet); // the line that shows how far it is goes, and so does the place in the folder
    conclude(&jobs, outcomes)
}

/// Says what became of all, and fails if anything did.
fn conclude(jobs: &[Job], outcomes: Vec<Result<Done, Failure>>) -> Result<(), Failure> {
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for (job, outcome) in jobs.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => done.push(outcome),
            Err(failure) => failures.push((job, failure)),
        }
    }
    if jobs.len() == 1
        && let Some((_, failure)) = failures.pop()
    {
        return Err(failure);
    }
    failures.iter().for_each(|(job, failure)| output::error(&line(&job.name(), failure)));
    let written: Vec<u64> = done.iter().filter_map(|done| done.rows).collect();
    let mut text = plural(written.len() as u64, "capture") + " written";
    if !written.is_empty() {
        text += &format!(", {}", plural(written.iter().sum(), "allocation"));
    }
    match done.len() - written.len() {
        0 => {}
        n => text += &format!("; {n} already there, --replace writes anew"),
    }
    output::answer(&(text + "\n"))?;
    match failures.len() {
        0 => Ok(()),
        n => Err(Failure::Failed(format!("{n} of {} could not be exported", plural(jobs.len() as u64, "capture")))),
    }
}

/// What is said of a capture that failed: one line that names it.
fn line(name: &str, failure: &Failure) -> String {
    match failure {
        Failure::Failed(reason) | Failure::BadArguments(reason) if reason.contains(name) => reason.clone(),
        Failure::Failed(reason) | Failure::BadArguments(reason) => format!("{name}: {reason}"),
        Failure::LimitBroken => format!("{name}: a limit was broken"),
    }
}

/// What became of a capture.
struct Done {
    /// Its allocations; `None` if it was there already.
    rows: Option<u64>,
}

/// All that the captures have in common.
struct Fleet<'a> {
    args: &'a ExportArgs,
    rules: Arc<StackRules>,
    lake: Lake,
    room: Room,
    /// Captures of this export.
    met: Mutex<HashSet<String>>,
    progress: Mutex<Progress>,
    /// Of [`Fleet::total`]: half of a capture's bytes when it is read, half when it is written.
    done: AtomicU64,
    total: u64,
}

impl Fleet<'_> {
    /// In the order of the jobs.
    fn run(&self, jobs: &[Job]) -> Vec<Result<Done, Failure>> {
        let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at) else { return };
                let outcome = panics::catch(|| self.export(job))
                    .unwrap_or_else(|caught| Err(Failure::Failed(format!("an internal error stopped the work ({caught})"))));
                locked(&results).push((at, outcome));
            }
        };
        let workers = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, AT_A_TIME);
        std::thread::scope(|scope| {
            (1..workers.min(jobs.len())).for_each(|_| _ = scope.spawn(work));
            work();
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(at, _)| *at);
        results.into_iter().map(|(_, outcome)| outcome).collect()
    }

    fn export(&self, job: &Job) -> Result<Done, Failure> {
        let Self { args, lake, .. } = self;
        let mut share = Share { fleet: self, told: 0, bytes: job.bytes };
        let id = capture_id(&job.inputs).map_err(|error| Failure::Failed(format!("{}: {error}", job.name())))?;
        // What is named twice is written once.
        if !locked(&self.met).insert(id.clone()) || (lake.has(&id) && !args.tables.replace) {
            share.reach(2 * job.bytes);
            return Ok(Done { rows: None });
        }
        let capture = open(&job.inputs)?;
        let budget = args.asked.memory.budget();
        let need = Estimate::of(&capture, || true).map_or(budget, |estimate| estimate.total());
        let _seat = self.room.take((need + need / 4).saturating_add(BESIDE));
        let choices = &args.asked.choices;
        let plan = memory::plan(&capture, args.asked.memory, choices.process.as_deref(), choices.layer);
        let trace = load_planned(&capture, &plan, &mut share).map_err(stopped)?;
        let about = self.about(job, &capture);
        drop(capture);
        let loaded = args.asked.about(Arc::new(trace), Arc::clone(&self.rules))?;
        let names = loaded.names(&args.asked, &[By::FreedStack]);
        let index = loaded.index()?;
        let mask = args.asked.filter().named_mask(&loaded.trace, &names, &Cancel::default()).map_err(stopped)?;
        report_problems(&loaded.trace.problems);
        let question = Question { index: &index, interval: loaded.interval, mask: &mask, names: &names, room: None };
        let (share, rows) = (Mutex::new(share), loaded.trace.rows.len().max(1) as u128);
        let tell = |done: u64| {
            let written = u128::from(job.bytes) * u128::from(done) / rows;
            locked(&share).reach(job.bytes + written as u64);
        };
        let telling = Telling::new(&tell);
        let write = |draft: &std::path::Path| write_tables(&question, &about, draft, &telling);
        match lake.add(&id, args.tables.replace, write).map_err(|error| self.failure(&error))? {
            (Outcome::Written, rows) => Ok(Done { rows: Some(rows) }),
            (Outcome::WasThere, _) => Ok(Done { rows: None }),
        }
    }

    fn failure(&self, error: &LakeError) -> Failure {
        Failure::Failed(format!("{}: {error}", self.args.out.display()))
    }

    fn about(&self, job: &Job, capture: &Capture) -> About {
        let tags = &self.args.tables.tags;
        let tag = |key: &str| tags.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone());
        let header = capture.files.first().map(|file| &file.header);
        About {
            name: name_of(&job.inputs),
            files: capture.files.iter().map(|file| file.name.clone()).collect(),
            bytes: capture.bytes(),
            machine: tag("machine").or_else(|| capture.files.iter().find_map(machine_name)),
            os: header.map_or_else(String::new, |header| format!("{}.{}.{}", header.os.0, header.os.1, header.os.2)),
            processors: header.map_or(0, |header| header.processors),
            build: tag("build"),
            tags: tags.clone(),
        }
    }
}

/// A capture's share of the work, in bytes: all of it twice.
struct Share<'a> {
    fleet: &'a Fleet<'a>,
    told: u64,
    bytes: u64,
}

impl Share<'_> {
    /// So much of it is done.
    fn reach(&mut self, done: u64) {
        let more = done.min(2 * self.bytes).saturating_sub(self.told);
        self.told += more;
        let all = self.fleet.done.fetch_add(more, Ordering::Relaxed) + more;
        locked(&self.fleet.progress).at(all, self.fleet.total);
    }
}

impl Watch for Share<'_> {
    fn progress(&mut self, done: u64, total: u64) -> bool {
        let read = (u128::from(self.bytes) * u128::from(done)).checked_div(total.into()).unwrap_or(0);
        self.reach(read as u64);
        true
    }

    fn publish(&mut self, _trace: Trace) {}

    fn wants_trace(&self) -> bool {
        false
    }
}

/// The memory that may be used. One capture is always let in, however much it takes: how it is loaded
/// has a limit of its own.
struct Room {
    budget: u64,
    used: Mutex<u64>,
    freed: Condvar,
}

/// What a capture has of it.
struct Seat<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Room {
    fn new(budget: u64) -> Self {
        Self { budget, used: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until there is room.
    fn take(&self, bytes: u64) -> Seat<'_> {
        let bytes = bytes.min(self.budget);
        let is_full = |used: &mut u64| *used > 0 && used.saturating_add(bytes) > self.budget;
        let mut used = self.freed.wait_while(locked(&self.used), is_full).unwrap_or_else(PoisonError::into_inner);
        *used += bytes;
        Seat { room: self, bytes }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        *locked(&self.room.used) -= self.bytes;
        self.room.freed.notify_all();
    }
}

/// What a panic of another worker left is whole: nothing is changed in more than one step.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_that_do_not_fit_beside_others_wait_and_none_waits_forever() {
        let room = Room::new(100);
        let (most, now) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for bytes in [60, 60, 30, 1000, 10, 0, 90] {
                let (room, most, now) = (&room, &most, &now);
                scope.spawn(move || {
                    let seat = room.take(bytes);
                    most.fetch_max(now.fetch_add(seat.bytes, Ordering::SeqCst) + seat.bytes, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    now.fetch_sub(seat.bytes, Ordering::SeqCst);
                });
            }
        });
        assert!(most.into_inner() <= 100 && *locked(&room.used) == 0);
    }
}
