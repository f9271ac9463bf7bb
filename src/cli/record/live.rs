//! The recording itself: started, watched, ended.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::{RecordArgs, failure, told};
use crate::capture::control::{Command, Message, Progress};
use crate::capture::windows::{LocalRecording, Served};
use crate::capture::{CaptureError, Request, Summary};
use crate::cli::{Failure, output};
use crate::format::{count, rough_bytes};
use crate::platform::Interrupts;

/// So often the recording is looked after.
const POLL: Duration = Duration::from_millis(250);

/// Records until it is enough.
pub(super) fn run(args: &RecordArgs, request: &Request) -> Result<(), Failure> {
    let mut watcher = watcher(args)?;
    let done = record(args, request, watcher.as_mut());
    watcher.ended(&done);
    done.map(|_| ()).map_err(failure)
}

/// The trace that it became; none if there was no name for one.
type Done = Option<(PathBuf, Summary)>;

fn record(args: &RecordArgs, request: &Request, watcher: &mut dyn Watcher) -> Result<Done, CaptureError> {
    let interrupts = Interrupts::watch();
    let folder = args.folder.clone().or_else(|| args.output.as_deref().map(beside)).unwrap_or_default();
    let existed = folder.exists();
    let mut running = LocalRecording::start(request, &folder).inspect_err(|_| {
        // Lanes without events are of no use.
        if !existed {
            let _ = std::fs::remove_dir_all(&folder);
        }
    })?;
    if args.folder.is_some() {
        // Whoever named it reads it.
        running = running.keep_lanes();
    }
    loop {
        let progress = running.poll();
        watcher.progress(&progress);
        // A window that watches sees for itself that it is over.
        if interrupts.came() || progress.ends.is_some() && args.output.is_some() {
            break;
        }
        match watcher.wait(POLL) {
            Some(Command::Stop) => break,
            // What cannot be written is told by the next progress.
            Some(Command::Mark(name)) => drop(running.mark(&name)),
            None => {}
        }
    }
    match &args.output {
        Some(out) => running.finish(out, &mut |_, _| true).map(|summary| Some((out.clone(), summary))),
        // The window makes a trace of the folder, with rights of its own.
        None => running.end().map(|()| None),
    }
}

/// The folder of the lanes: the trace's name with another ending.
fn beside(out: &Path) -> PathBuf {
    out.with_extension("recording")
}

/// Whoever watches: a person, or a program.
trait Watcher {
    /// Tells how it goes.
    fn progress(&mut self, progress: &Progress);
    /// Waits so long for a command.
    fn wait(&mut self, time: Duration) -> Option<Command>;
    /// Tells what became of it.
    fn ended(&mut self, done: &Result<Done, CaptureError>);
}

fn watcher(args: &RecordArgs) -> Result<Box<dyn Watcher>, Failure> {
    Ok(match (&args.pipe, &args.sid) {
        _ if !args.control => Box::new(Person { last: Instant::now(), before: Progress::default() }),
        (Some(pipe), Some(sid)) => {
            let Served { messages, commands } = Served::new(pipe, sid).map_err(failure)?;
            Box::new(Program::new(messages, commands))
        }
        _ => Box::new(Program::new(io::stdout(), io::stdin())),
    })
}

/// A person at a terminal: one line a second.
struct Person {
    last: Instant,
    before: Progress,
}

impl Watcher for Person {
    fn progress(&mut self, progress: &Progress) {
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

    fn wait(&mut self, time: Duration) -> Option<Command> {
        thread::sleep(time);
        None
    }

    fn ended(&mut self, done: &Result<Done, CaptureError>) {
        if let Ok(Some((out, summary))) = done {
            output::message(&told(out, summary));
        }
    }
}

/// A program: lines both ways. Its end is a command to stop.
struct Program<W> {
    messages: W,
    commands: Receiver<Command>,
}

impl<W: Write> Program<W> {
    fn new(messages: W, commands: impl Read + Send + 'static) -> Self {
        let (send, receive) = mpsc::channel();
        // Ends with its stream, or with the process.
        thread::spawn(move || {
            for line in BufReader::new(commands).lines().map_while(Result::ok) {
                if let Some(command) = Command::parse(&line)
                    && send.send(command).is_err()
                {
                    break;
                }
            }
        });
        Self { messages, commands: receive }
    }

    fn say(&mut self, message: &Message) {
        // A reader that has gone has closed its other stream, too.
        let _ = self.messages.write_all(message.line().as_bytes()).and_then(|()| self.messages.flush());
    }
}

impl<W: Write> Watcher for Program<W> {
    fn progress(&mut self, progress: &Progress) {
        self.say(&Message::Progress(progress.clone()));
    }

    fn wait(&mut self, time: Duration) -> Option<Command> {
        match self.commands.recv_timeout(time) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Command::Stop),
        }
    }

    fn ended(&mut self, done: &Result<Done, CaptureError>) {
        let message = match done {
            Ok(Some((out, summary))) => Message::Done { path: out.display().to_string(), events: summary.events },
            Ok(None) => return,
            Err(error) => Message::Failed(error.to_string()),
        };
        self.say(&message);
    }
}
