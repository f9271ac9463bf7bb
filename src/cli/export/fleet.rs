//! Many captures, some at a time: which there are, whether there is room for one more, what became of each.
//!
//! A capture that is already there costs a look at its file. One that fails does not hold up the others.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::ExportArgs;
use super::wildcards::{self, NoFile};
use crate::cli::asked::stopped;
use crate::cli::progress::Progress;
use crate::cli::text::plural;
use crate::cli::{Failure, memory, open, output, report_problems};
use crate::events::machine_name;
use crate::export::lake::identity::CaptureIdentity;
use crate::export::lake::{About, Lake, LakeError, Outcome, Question, Telling, write_tables};
use crate::load::{Capture, Estimate, Input, Watch, load_planned};
use crate::model::{CutReason, Trace};
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
    /// Why it cannot be exported, where that is known before any file is read.
    refusal: Option<String>,
    /// Bytes of its files.
    bytes: u64,
}

impl Job {
    fn of(inputs: Vec<Input>) -> Self {
        let bytes = |input: &Input| match input {
            Input::File(path) => path.metadata().map_or(0, |file| file.len()),
            Input::Demo => demo::TRACE.len() as u64,
        };
        Self { bytes: inputs.iter().map(bytes).sum(), refusal: None, inputs }
    }

    /// Of one file, if it is one.
    fn of_one(found: Result<Input, NoFile>) -> Self {
        match found {
            Ok(input) => Self::of(vec![input]),
            Err(none) => Self { refusal: Some(none.why), ..Self::of(vec![none.pattern]) },
        }
    }

    /// As the user named it.
    fn name(&self) -> String {
        self.inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ")
    }
}

pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    let found = wildcards::expanded(args.asked.inputs());
    let jobs: Vec<Job> = if args.tables.one_capture {
        // A pattern without a file is one of the files that cannot be read.
        vec![Job::of(found.into_iter().map(|found| found.unwrap_or_else(|none| none.pattern)).collect())]
    } else {
        found.into_iter().map(Job::of_one).collect()
    };
    let rules = args.asked.rules.read()?;
    let lake = Lake::open(&args.out).map_err(|error| match error {
        LakeError::Refused(..) => Failure::BadArguments(error.to_string()),
        _ => Failure::Failed(error.to_string()),
    })?;
    let what = if let [job] = jobs.as_slice() { format!("Exporting {}", job.name()) } else { "Exporting".to_owned() };
    let total = jobs.iter().map(|job| job.bytes).sum::<u64>().saturating_mul(2);
    let fleet = Fleet {
        args,
        is_alone: jobs.len() == 1,
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
    /// Whether there is one capture only.
    is_alone: bool,
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
        if let Some(reason) = &job.refusal {
            return Err(Failure::Failed(reason.clone()));
        }
        let mut share = Share { fleet: self, told: 0, bytes: job.bytes };
        let CaptureIdentity { id, name } = CaptureIdentity::of(&job.inputs).or_else(|error| unreadable(job, &error))?;
        let is_there = lake.has(&id).map_err(|error| self.failure(&error))?;
        // What is named twice is written once.
        if !locked(&self.met).insert(id.clone()) || (is_there && !args.replace.replace) {
            share.reach(2 * job.bytes);
            return Ok(Done { rows: None });
        }
        let capture = open(&job.inputs)?;
        let (trace, _seat) = self.load(&capture, &mut share)?;
        let about = self.about(name, &capture);
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
        match lake.add(&id, args.replace.replace, write).map_err(|error| self.failure(&error))? {
            (Outcome::Written, rows) => Ok(Done { rows: Some(rows) }),
            (Outcome::WasThere, _) => Ok(Done { rows: None }),
        }
    }

    /// Loads a capture, when there is room for it.
    fn load(&self, capture: &Capture, share: &mut Share<'_>) -> Result<(Trace, Seat<'_>), Failure> {
        let asked = &self.args.asked;
        let mut plan = memory::plan(capture, asked.memory, asked.choices.process.as_deref(), asked.choices.layer);
        asked.marks.add_to(&mut plan, capture);
        let load = |budget| {
            plan.budget = budget;
            load_planned(capture, &plan, share).map_err(stopped)
        };
        let was_too_little = |trace: &Trace| trace.cut.is_some_and(|cut| cut.reason == CutReason::Memory);
        self.room.within(self.need(capture), load, was_too_little)
    }

    /// What a capture is taken to need; one that is alone may have all there is.
    fn need(&self, capture: &Capture) -> u64 {
        if self.is_alone {
            return u64::MAX;
        }
        let need = Estimate::of(capture, || true).map_or(u64::MAX, |estimate| estimate.total());
        need.saturating_add(need / 4).saturating_add(BESIDE)
    }

    fn failure(&self, error: &LakeError) -> Failure {
        Failure::Failed(format!("{}: {error}", self.args.out.display()))
    }

    fn about(&self, name: String, capture: &Capture) -> About {
        let tags = &self.args.tables.tags;
        let tag = |key: &str| tags.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone());
        let header = capture.files.first().map(|file| &file.header);
        About {
            name,
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

/// Why nothing of a capture can be read, as all commands say it.
fn unreadable<T>(job: &Job, error: &io::Error) -> Result<T, Failure> {
    open(&job.inputs)?;
    Err(Failure::Failed(format!("{}: {error}", job.name())))
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

/// The memory that may be used. One capture is always let in, however much it needs: no more is loaded of it than
/// there is room for.
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

    /// Does some work beside others in what it is taken to need, which `work` is told. If that was too little the
    /// work is done again, alone and with all there is: so what comes of it does not depend on others.
    fn within<T>(
        &self,
        need: u64,
        mut work: impl FnMut(u64) -> Result<T, Failure>,
        was_too_little: impl Fn(&T) -> bool,
    ) -> Result<(T, Seat<'_>), Failure> {
        let seat = self.take(need);
        let done = work(seat.bytes)?;
        if seat.bytes == self.budget || !was_too_little(&done) {
            return Ok((done, seat));
        }
        drop((done, seat));
        let seat = self.take(self.budget);
        Ok((work(seat.bytes)?, seat))
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

    #[test]
    fn what_needs_more_than_it_was_taken_to_is_done_again_alone_with_all_there_is() {
        // What it is taken to need, what it needs, and what it is given.
        let cases: [(u64, u64, &[u64]); 4] = [(30, 20, &[30]), (30, 40, &[30, 100]), (30, 200, &[30, 100]), (1000, 200, &[100])];
        for (need, needs, given) in cases {
            let room = Room::new(100);
            let mut budgets = Vec::new();
            let work = |budget: u64| {
                budgets.push(budget);
                Ok(budget)
            };
            let done = room.within(need, work, |budget: &u64| *budget < needs).ok();
            assert!(done.is_some_and(|(budget, seat)| budget == seat.bytes && *locked(&room.used) == budget));
            assert_eq!((budgets.as_slice(), *locked(&room.used)), (given, 0));
        }
    }
}
