//! Exports many captures, several at a time: finds them, waits until there is room for one more, and collects the outcomes.
//!
//! A capture that is already exported costs a look at its file. A capture that fails does not stop the others.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::export_args::ExportArgs;
use crate::cli::asked::stopped;
use crate::cli::progress::Progress;
use crate::cli::text::plural;
use crate::cli::wildcards::{self, NoFile};
use crate::cli::{Failure, cannot_open, memory, open, output, report_problems};
use crate::events::machine_name;
use crate::export::lake::identity::{CaptureFile, CaptureIdentity};
use crate::export::lake::{About, Lake, LakeError, Outcome, Question, Telling, write_tables};
use crate::load::{Capture, DEMO_TRACE, Estimate, Input, Opened, Watch, load_planned};
use crate::model::{CutReason, Trace};
use crate::panics;
use crate::query::{By, Cancel};
use crate::stack_rules::StackRules;
use crate::tables::KeyedSet;

/// Bytes that writing a capture needs besides its trace.
const BESIDE: u64 = 256 << 20;
/// Maximum number of captures at a time.
const AT_A_TIME: usize = 8;

/// A capture to export; an archive can hold several.
struct Job {
    inputs: Vec<Input>,
    /// Why it cannot be exported, if that is known before any file is read.
    refusal: Option<String>,
    /// Bytes of its files.
    bytes: u64,
}

impl Job {
    fn of(inputs: Vec<Input>) -> Self {
        let bytes = |input: &Input| match input {
            Input::File(path) => path.metadata().map_or(0, |file| file.len()),
            Input::Demo => DEMO_TRACE.len() as u64,
        };
        Self { bytes: inputs.iter().map(bytes).sum(), refusal: None, inputs }
    }

    /// The job of a single file, or the refusal of a pattern without a file.
    fn of_one(found: Result<Input, NoFile>) -> Self {
        match found {
            Ok(input) => Self::of(vec![input]),
            Err(none) => Self { refusal: Some(none.why), ..Self::of(vec![none.pattern]) },
        }
    }

    /// The files as the user named them.
    fn name(&self) -> String {
        self.inputs.iter().map(Input::name).collect::<Vec<_>>().join(" + ")
    }
}

pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    args.asked.memory.watch(&args.asked.files.inputs());
    let found = wildcards::expanded(args.asked.files.inputs());
    let jobs: Vec<Job> = if args.tables.one_capture {
        // A pattern without a file stays in the list, as a file that cannot be read.
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
    drop(fleet); // removes the progress line, and this export's part of the folder
    conclude(&jobs, outcomes)
}

/// Reports the outcomes, and fails if a capture could not be exported or if none has what was named.
fn conclude(jobs: &[Job], outcomes: Vec<Result<Vec<Done>, Failure>>) -> Result<(), Failure> {
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for (job, outcome) in jobs.iter().zip(outcomes) {
        match outcome {
            Ok(outcome) => done.extend(outcome),
            Err(failure) => failures.push((job, failure)),
        }
    }
    if jobs.len() == 1
        && let Some((_, failure)) = failures.pop()
    {
        return Err(failure);
    }
    failures.iter().for_each(|(job, failure)| output::error(&failure.line_about(&job.name())));
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
    // A capture that lacks what was named has its own line; the others count.
    let failed = failures.iter().filter(|(_, failure)| !matches!(failure, Failure::BadArguments(_))).count();
    let of = plural(jobs.len() as u64, "capture");
    match () {
        () if failed > 0 => Err(Failure::Failed(format!("{failed} of {of} could not be exported"))),
        () if done.is_empty() => Err(Failure::BadArguments(format!("none of {of} has what was named"))),
        () => Ok(()),
    }
}

/// The outcome of a capture.
struct Done {
    /// Number of its allocations; `None` if it was there already.
    rows: Option<u64>,
}

/// The state that all captures of the export share.
struct Fleet<'a> {
    args: &'a ExportArgs,
    /// Whether there is only one job.
    is_alone: bool,
    rules: Arc<StackRules>,
    lake: Lake,
    room: Room,
    /// Ids of the captures that this export has seen.
    met: Mutex<KeyedSet<String>>,
    progress: Mutex<Progress>,
    /// Progress, out of [`Fleet::total`]: a capture counts half when it is read, and half when it is written.
    done: AtomicU64,
    total: u64,
}

impl Fleet<'_> {
    /// Exports all jobs; the outcomes are in the order of the jobs.
    fn run(&self, jobs: &[Job]) -> Vec<Result<Vec<Done>, Failure>> {
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

    /// Exports the captures of a job: one, or several if it is an archive.
    fn export(&self, job: &Job) -> Result<Vec<Done>, Failure> {
        if let Some(reason) = &job.refusal {
            return Err(Failure::Failed(reason.clone()));
        }
        let mut share = Share { fleet: self, told: 0, bytes: job.bytes };
        let identity = CaptureIdentity::of(job.inputs.iter().map(file_of)).or_else(|error| unreadable(job, &error))?;
        if !self.is_wanted(&identity)? {
            share.reach(2 * job.bytes);
            return Ok(vec![Done { rows: None }]);
        }
        let mut all = Capture::open_all(&job.inputs, &mut |_, _| true).map_err(cannot_open)?;
        let count = all.len();
        if count > 1 && self.args.tables.one_capture {
            return Err(Failure::SeveralCaptures(all.iter().map(Opened::describe).collect()));
        }
        let each = |(i, Opened { capture, .. }): (usize, Opened)| {
            let identity = if count == 1 { identity.clone() } else { identity.of_part(i + 1) };
            let mut share = Share { fleet: self, told: 0, bytes: job.bytes / count as u64 };
            if count > 1 && !self.is_wanted(&identity)? {
                share.reach(2 * share.bytes);
                return Ok(Done { rows: None });
            }
            self.export_capture(&identity, capture, share)
        };
        all.drain(..).enumerate().map(each).collect()
    }

    /// Whether to export a capture: this export has not seen it before, and the folder does not have it or it is to
    /// be replaced.
    fn is_wanted(&self, identity: &CaptureIdentity) -> Result<bool, Failure> {
        let is_there = self.lake.has(&identity.id).map_err(|error| self.failure(&error))?;
        Ok(locked(&self.met).insert(identity.id.clone()) && (!is_there || self.args.replace.replace))
    }

    fn export_capture(&self, identity: &CaptureIdentity, capture: Capture, mut share: Share<'_>) -> Result<Done, Failure> {
        let Self { args, lake, .. } = self;
        let bytes = share.bytes;
        let (trace, _seat) = self.load(&capture, &mut share)?;
        let about = self.about(identity.name.clone(), &capture);
        drop(capture);
        let loaded = args.asked.about(Arc::new(trace), Arc::clone(&self.rules))?;
        let names = loaded.names(&args.asked, &[By::FreedStack])?;
        let index = loaded.index()?;
        let mask = args.asked.filter().named_mask(&loaded.trace, &names, &Cancel::default()).map_err(stopped)?;
        report_problems(&loaded.trace.problems);
        let question = Question { index: &index, interval: loaded.interval, mask: &mask, names: &names, room: None };
        let (share, rows) = (Mutex::new(share), loaded.trace.rows.len().max(1) as u128);
        let tell = |done: u64| {
            let written = u128::from(bytes) * u128::from(done) / rows;
            locked(&share).reach(bytes + written as u64);
        };
        let telling = Telling::new(&tell);
        let write = |draft: &std::path::Path| write_tables(&question, &about, draft, &telling);
        match lake.add(&identity.id, args.replace.replace, write).map_err(|error| self.failure(&error))? {
            (Outcome::Written, rows) => Ok(Done { rows: Some(rows) }),
            (Outcome::WasThere, _) => Ok(Done { rows: None }),
        }
    }

    /// Loads a capture as soon as there is room for it.
    fn load(&self, capture: &Capture, share: &mut Share<'_>) -> Result<(Trace, Seat<'_>), Failure> {
        let asked = &self.args.asked;
        let mut plan = memory::plan(capture, asked.memory, asked.choices.process.as_deref(), asked.choices.layer);
        asked.providers.add_to(&mut plan, capture)?;
        let load = |budget| {
            plan.budget = budget;
            load_planned(capture, &plan, share).map_err(stopped)
        };
        let was_too_little = |trace: &Trace| trace.cut.is_some_and(|cut| cut.reason == CutReason::Memory);
        self.room.within(self.need(capture), load, was_too_little)
    }

    /// The estimated need of a capture in bytes; a job that is alone may use the whole budget.
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

/// A file as the identity of its capture takes it.
fn file_of(input: &Input) -> CaptureFile<'_> {
    match input {
        Input::File(path) => CaptureFile::OnDisk(path),
        Input::Demo => CaptureFile::Embedded { name: "demo", bytes: DEMO_TRACE },
    }
}

/// The error for a capture that cannot be read, worded as in all commands.
fn unreadable<T>(job: &Job, error: &io::Error) -> Result<T, Failure> {
    open(&job.inputs)?;
    Err(Failure::Failed(format!("{}: {error}", job.name())))
}

/// A capture's share of the work, in bytes: its size twice, for reading and for writing.
struct Share<'a> {
    fleet: &'a Fleet<'a>,
    told: u64,
    bytes: u64,
}

impl Share<'_> {
    /// Notes that `done` bytes of the share are done.
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

/// The memory budget of the export. One capture is always admitted, however much it needs: only as much of it is
/// loaded as there is room for.
struct Room {
    budget: u64,
    used: Mutex<u64>,
    freed: Condvar,
}

/// The part of the budget that a capture holds.
struct Seat<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Room {
    fn new(budget: u64) -> Self {
        Self { budget, used: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until there is room for so many bytes.
    fn take(&self, bytes: u64) -> Seat<'_> {
        let bytes = bytes.min(self.budget);
        let is_full = |used: &mut u64| *used > 0 && used.saturating_add(bytes) > self.budget;
        let mut used = self.freed.wait_while(locked(&self.used), is_full).unwrap_or_else(PoisonError::into_inner);
        *used += bytes;
        Seat { room: self, bytes }
    }

    /// Runs `work` beside others, with the estimated need as its budget. If that was too little, runs it again, alone
    /// and with the whole budget: so the result does not depend on the others.
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

/// Locks a mutex even after a panic of another worker: each change is one step, so the value is intact.
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
        // The estimated need, the real need, and the budgets that the work is given.
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
