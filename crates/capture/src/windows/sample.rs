//! Memory sampling during a recording: once a second the memory of the recorded processes and of the machine, and the
//! cost of recording itself.
//!
//! Samples are written into the recording as counters and checked against the conditions that end it. Processes that
//! have ended are dropped; with a recording by name, new processes are searched each second.
//!
//! Cost: a few calls a second for each process, and a list of all processes in a recording by name.
//!
//! Sources: Microsoft's pages of GetProcessMemoryInfo, GetPerformanceInfo (in pages) and GetProcessTimes (in units of 100 ns).
#![allow(unsafe_code, reason = "the system's own interface are C functions; each call says why it is sound")]

use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::ProcessStatus::{K32GetPerformanceInfo, PERFORMANCE_INFORMATION};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, GetProcessTimes};

use super::clock;
use super::processes::{self, Memory, Watched};
use crate::events::encode::{Payload, counter_event};
use crate::units::Pid;
use crate::{Cost, Lane, LaneWriter, MemorySample, ProcessSample, Recording, Request, StopWatch, Target};

/// Maximum number of sampled processes: their counters must fit into one event.
const MAX_PROCESSES: usize = 256;

/// Samples memory during a recording.
#[derive(Debug)]
pub(super) struct Beside {
    processes: Vec<(u32, Watched)>,
    /// Image file name, in a recording by name.
    image: Option<String>,
    began: Instant,
    watch: StopWatch,
    lane: LaneWriter,
    payload: Payload,
    /// Our own CPU time at the last sample, and the time of that sample.
    busy: (Duration, Instant),
    cost: Option<Cost>,
    ends: Option<String>,
}

impl Beside {
    /// Starts with a first sample.
    pub(super) fn start(request: &Request, pids: &[u32], recording: &Recording) -> Self {
        let image = match &request.target {
            Target::Image(name) => Some(name.clone()),
            Target::Pids(_) | Target::Launch(_) => None,
        };
        let now = Instant::now();
        let mut beside = Self {
            processes: Vec::new(),
            image,
            began: now,
            watch: StopWatch::new(&request.stop_when),
            lane: recording.lane(Lane::Pages),
            payload: Payload::default(),
            busy: (own_time().unwrap_or_default(), now),
            cost: None,
            ends: None,
        };
        pids.iter().for_each(|&pid| beside.follow(pid));
        beside.look();
        beside
    }

    /// Adds a recorded process. If it cannot be opened, it gets no counters.
    pub(super) fn follow(&mut self, pid: u32) {
        let is_known = self.processes.iter().any(|(known, _)| *known == pid);
        if let (false, true, Ok(process)) = (is_known, self.processes.len() < MAX_PROCESSES, Watched::new(pid)) {
            self.processes.push((pid, process));
        }
    }

    /// Takes a sample. Call it once a second, after the flush of the lanes: so its event reaches the file a second
    /// later, like the events of sessions.
    pub(super) fn look(&mut self) {
        self.processes.retain(|(_, process)| process.is_running());
        self.find_by_name();
        let sample = self.sample();
        if let Some(event) = sample.counters() {
            let event = counter_event(&mut self.payload, 0, clock::ticks(), Pid(std::process::id()), &event);
            // Write errors are in the status.
            let _ = self.lane.take(&event);
        }
        let reason = self.watch.look(&sample);
        self.ends = self.ends.take().or(reason);
        self.weigh();
    }

    /// Why the recording should end, once a condition has held.
    pub(super) fn ends(&self) -> Option<String> {
        self.ends.clone()
    }

    /// The cost of recording; unknown before the second sample.
    pub(super) fn cost(&self) -> Option<Cost> {
        self.cost
    }

    fn find_by_name(&mut self) {
        let Some(image) = &self.image else { return };
        // If listing fails, the next sample tries again.
        let found = processes::of_image(image).unwrap_or_default();
        found.into_iter().for_each(|pid| self.follow(pid));
    }

    fn sample(&self) -> MemorySample {
        let one = |(pid, process): &(u32, Watched)| {
            let Memory { private_bytes, working_set } = process.memory()?;
            Some(ProcessSample { pid: *pid, private_bytes, working_set })
        };
        let machine = machine();
        let bytes = |pages: usize| (pages as u64).saturating_mul(machine.map_or(0, |machine| machine.PageSize as u64));
        MemorySample {
            at: self.began.elapsed(),
            processes: self.processes.iter().filter_map(one).collect(),
            commit: machine.map(|machine| (bytes(machine.CommitTotal), bytes(machine.CommitLimit))),
            free: machine.map(|machine| bytes(machine.PhysicalAvailable)),
        }
    }

    fn weigh(&mut self) {
        const LEAST: Duration = Duration::from_millis(500);
        let (before, then) = self.busy;
        let now = Instant::now();
        let time = now.duration_since(then);
        if let (true, Some(busy), Some(private_bytes)) = (time >= LEAST, own_time(), processes::own_private_bytes()) {
            self.cost = Some(Cost::of(private_bytes, busy.saturating_sub(before), time));
            self.busy = (busy, now);
        }
    }
}

/// Memory of the machine, in pages.
fn machine() -> Option<PERFORMANCE_INFORMATION> {
    let size = size_of::<PERFORMANCE_INFORMATION>() as u32;
    let mut info = PERFORMANCE_INFORMATION { cb: size, ..PERFORMANCE_INFORMATION::default() };
    // SAFETY: the structure is ours, and as long as is said.
    let done = unsafe { K32GetPerformanceInfo(&raw mut info, size) };
    (done != 0).then_some(info)
}

/// CPU time of this process, in all threads.
fn own_time() -> Option<Duration> {
    let [mut created, mut ended, mut kernel, mut user] = [FILETIME::default(); 4];
    // SAFETY: the four places are ours; the handle is a constant that means this process.
    let done = unsafe { GetProcessTimes(GetCurrentProcess(), &raw mut created, &raw mut ended, &raw mut kernel, &raw mut user) };
    let ticks = |time: FILETIME| u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    (done != 0).then(|| Duration::from_nanos(ticks(kernel).saturating_add(ticks(user)).saturating_mul(100)))
}

#[cfg(test)]
mod tests {
    use super::super::clock::Pair;
    use super::super::machine;
    use super::*;

    fn beside(request: &Request, pids: &[u32]) -> (Beside, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let recording = Recording::create(&folder.path().join("lanes"), &machine::session(Pair::now()), None).unwrap();
        (Beside::start(request, pids, &recording), folder)
    }

    #[test]
    fn this_process_and_the_machine_have_memory() {
        let pid = std::process::id();
        let (beside, _folder) = beside(&Request::new(Target::Pids(vec![pid])), &[pid, pid]);
        let sample = beside.sample();
        let [process] = sample.processes[..] else { panic!("{sample:?}") };
        assert_eq!(process.pid, pid);
        assert!(process.private_bytes > 1 << 16 && process.working_set > 1 << 16, "{sample:?}");
        let (charge, limit) = sample.commit.unwrap();
        assert!(charge > 1 << 20 && limit >= charge, "{sample:?}");
        assert!(sample.free.unwrap() > 1 << 20);
    }

    #[test]
    fn a_process_that_ends_drops_out_and_one_that_starts_by_name_is_found() {
        let own = std::env::current_exe().unwrap().file_name().unwrap().to_str().unwrap().to_uppercase();
        let by_name = Request::new(Target::Image(own));
        let (beside_own, _folder) = beside(&by_name, &[]);
        assert!(beside_own.sample().processes.iter().any(|process| process.pid == std::process::id()));
        let mut child = std::process::Command::new("cmd").args(["/c", "exit"]).spawn().unwrap();
        let (mut beside, _folder) = beside(&Request::new(Target::Pids(vec![child.id()])), &[child.id(), 0xFFFF_FFF0]);
        assert!(beside.processes.len() <= 1, "one of them was never there");
        child.wait().unwrap();
        beside.look();
        assert_eq!(beside.sample().processes, []);
    }

    #[test]
    fn the_cost_is_known_after_a_while_and_a_condition_that_held_stays_the_reason() {
        let pid = std::process::id();
        let mut request = Request::new(Target::Pids(vec![pid]));
        let (quiet, _folder) = beside(&request, &[pid]);
        assert_eq!((quiet.cost(), quiet.ends()), (None, None));
        request.stop_when = vec!["private>1B".parse().unwrap()];
        let (mut beside, _folder) = beside(&request, &[pid]);
        let reason = beside.ends().unwrap();
        assert!(reason.contains(&format!("process {pid} has ")) && reason.ends_with("(private>1B)"), "{reason}");
        let end = Instant::now() + Duration::from_millis(600);
        while Instant::now() < end {
            std::hint::black_box(own_time());
        }
        beside.processes.clear();
        beside.look();
        assert_eq!(beside.ends(), Some(reason));
        let cost = beside.cost().unwrap();
        assert!(cost.private_bytes > 1 << 16 && cost.core_percent > 5.0, "it was busy: {cost:?}");
    }
}
