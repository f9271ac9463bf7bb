//! Recording at a terminal: starting, watching and ending it; and cleaning up after other recordings.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::making::{failure, in_place, told};
use crate::capture::control::Progress;
use crate::capture::volume::measure;
use crate::capture::windows::{LocalRecording, clean_up};
use crate::capture::{Aftermath, CaptureError, Request, Running, Summary};
use crate::cli::{Failure, output};
use crate::format::{count, rough_bytes};
use crate::paths::Existing;
use crate::platform::Interrupts;

/// Time between two polls of the recording.
const POLL: Duration = Duration::from_millis(250);

/// Records until the user interrupts it or it ends by itself.
pub(super) fn run(request: &Request, out: &Path, existing: Existing) -> Result<(), Failure> {
    request.check().map_err(failure)?;
    let summary = in_place(out, existing, |to| record(request, &beside(out), to))?;
    output::message(&told(out, &summary));
    Ok(())
}

/// Measures how much a recording would write.
pub(super) fn estimate(request: &Request) -> Result<(), Failure> {
    request.check().map_err(failure)?;
    let folder = std::env::temp_dir().join(format!("highwater-estimate-{}", std::process::id()));
    let start =
        |request: &Request, folder: &Path| LocalRecording::start(request, folder).map(|it| Box::new(it) as Box<dyn Running>);
    let (volume, aftermath) = measure(request, &folder, start).map_err(failure)?;
    if let Aftermath::Failed(reason) = aftermath {
        output::message(&reason);
    }
    output::answer(&(volume.lines(request).join("\n") + "\n"))
}

/// Stops sessions and puts back settings of recordings that do not run any more.
pub(super) fn run_clean_up() -> Result<(), Failure> {
    let lines = clean_up().map_err(failure)?.lines();
    let ended = lines.iter().map(|line| format!("ended: {line}\n")).collect::<String>();
    output::answer(if lines.is_empty() { "nothing was left\n" } else { &ended })
}

fn record(request: &Request, folder: &Path, out: &Path) -> Result<Summary, CaptureError> {
    let interrupts = Interrupts::watch();
    let existed = folder.exists();
    let running = LocalRecording::start(request, folder).inspect_err(|_| {
        // Lanes without events are of no use.
        if !existed {
            let _ = std::fs::remove_dir_all(folder);
        }
    })?;
    let mut running = running.with_manifests(crate::windows_reader::installed_manifests());
    let mut person = Person { last: Instant::now(), before: Progress::default() };
    loop {
        let progress = running.poll();
        person.tell(&progress);
        if interrupts.came() || progress.ends.is_some() {
            if interrupts.is_closing() {
                running.hurry();
            }
            return running.finish(out, &mut |_, _| true);
        }
        thread::sleep(POLL);
    }
}

/// The folder of the lanes: the trace's name with another ending.
fn beside(out: &Path) -> PathBuf {
    out.with_extension("recording")
}

/// Reports to a person at a terminal, one line per second.
struct Person {
    last: Instant,
    before: Progress,
}

impl Person {
    fn tell(&mut self, progress: &Progress) {
        if let Some(reason) = &progress.ends {
            output::message(&format!("{:.0} s: the recording ends: {reason}", progress.seconds));
            return;
        }
        if self.last.elapsed() < Duration::from_secs(1) {
            return;
        }
        self.last = Instant::now();
        let since = (progress.seconds - self.before.seconds).max(0.001);
        let rate = |now: u64, before: u64| (now.saturating_sub(before) as f64 / since) as u64;
        let events = count(rate(progress.events, self.before.events));
        let bytes = rough_bytes(rate(progress.bytes, self.before.bytes));
        let lost = format!("lost {} events, {} buffers", count(progress.lost_events), count(progress.lost_buffers));
        let mut line = format!("{:.0} s: {events} events/s, {bytes}/s, {lost}", progress.seconds);
        if let Some(cost) = progress.cost {
            line += &format!(", {cost}");
        }
        if let Some(warning) = &progress.warning {
            line += &format!("; {warning}");
        }
        output::message(&line);
        self.before = progress.clone();
    }
}
