//! The recorder: the small program that has an administrator's rights, from its command line
//! to its last word. It does one of two things ([`Errand`]) and tells the window that
//! started it how that goes, through the pipes that the window named.
//!
//! It only fills the lanes: the window makes a trace of them with its own rights, and starts
//! programs that are to be started. Of all that the user can reach (command line,
//! pipes, folder) nothing is believed; see [`Orders`] and [`Folder`].
//!
//! A window that does not read holds nothing up: what it would have been told is left out.

use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::privilege::is_of_several;
use super::running::LocalRecording;
use super::{START, clean_up, pipe};
use crate::capture::control::{Command, Errand, Message, Orders, lines};
use crate::capture::{CaptureError, Folder, Request, Target};

/// So often the recording is looked after.
const POLL: Duration = Duration::from_millis(250);

/// Does what the words of the command line say, without the program's name: 0 if everything
/// went well, 2 if they cannot be understood.
pub fn serve(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Ok(orders) = Orders::parse(words) else { return ExitCode::from(2) };
    if is_of_several(&orders.sid) {
        return ExitCode::from(2);
    }
    let Ok(ends) = pipe::serve(&orders.pipe, &orders.sid, START) else { return ExitCode::FAILURE };
    let mut window = Window::new(ends);
    let done = catch_unwind(AssertUnwindSafe(|| match &orders.errand {
        Errand::Record { request, folder } => record(request, &Folder::given(folder, &orders.sid)?, &mut window),
        Errand::CleanUp => clean_up().map(|what| window.tell(Message::CleanedUp(what))),
    }));
    let (last, code) = match done {
        Ok(Ok(())) => (Message::Ended, ExitCode::SUCCESS),
        Ok(Err(error)) => (Message::Failed(error.to_string()), ExitCode::FAILURE),
        Err(_) => (Message::Failed(panicked()), ExitCode::FAILURE),
    };
    window.end(last);
    code
}

fn record(request: &Request, folder: &Folder, window: &mut Window) -> Result<(), CaptureError> {
    if matches!(request.target, Target::Launch(_)) {
        return Err(CaptureError::BadRequest("the recorder starts no programs: the window does".to_owned()));
    }
    /// A window that is told that it is over says stop; one that does not is not waited for.
    const PATIENCE: Duration = Duration::from_secs(5);
    let mut running = LocalRecording::start_in(request, folder)?;
    let mut over: Option<Instant> = None;
    loop {
        let progress = running.poll();
        if progress.ends.is_some() {
            over.get_or_insert_with(Instant::now);
        }
        window.tell(Message::Progress(progress));
        if over.is_some_and(|since| since.elapsed() > PATIENCE) {
            return running.end();
        }
        match window.wait(POLL) {
            Some(Command::Stop) => return running.end(),
            // What cannot be written is told by the next progress.
            Some(Command::Mark(name)) => drop(running.mark(&name)),
            None => {}
        }
    }
}

/// The window, as the recorder sees it. Its end is a command to stop.
struct Window {
    messages: SyncSender<Message>,
    /// Something comes when all is written and read, or cannot be.
    written: Receiver<()>,
    commands: Receiver<Command>,
}

impl Window {
    fn new(ends: pipe::Ends) -> Self {
        /// Lines that wait for a window that is busy; commands that wait for us.
        const QUEUE: usize = 4;
        let pipe::Ends { mut status, commands: from_window } = ends;
        let (messages, to_write) = sync_channel::<Message>(QUEUE);
        let (done, written) = channel();
        // Both end with their pipes, or with the process.
        thread::spawn(move || {
            let _ = to_write.iter().try_for_each(|message| status.write_all(message.line().as_bytes()));
            // Until the window has read it all: what is unread goes with the pipe.
            let _ = status.sync_all();
            let _ = done.send(());
        });
        let (send, commands) = sync_channel(QUEUE);
        thread::spawn(move || {
            let mut wanted = lines(from_window).filter_map(|line| Command::parse(&line));
            let _ = wanted.try_for_each(|command| send.send(command));
        });
        Self { messages, written, commands }
    }

    /// Tells it something, if it listens.
    fn tell(&self, message: Message) {
        let _ = self.messages.try_send(message);
    }

    /// Waits so long for a command.
    fn wait(&self, time: Duration) -> Option<Command> {
        match self.commands.recv_timeout(time) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Command::Stop),
        }
    }

    /// The last word; it is given a while to be heard.
    fn end(self, mut last: Message) {
        const PATIENCE: Duration = Duration::from_secs(10);
        let Self { messages, written, .. } = self;
        let end = Instant::now() + PATIENCE;
        while let Err(TrySendError::Full(again)) = messages.try_send(last) {
            if Instant::now() > end {
                return;
            }
            thread::sleep(Duration::from_millis(20));
            last = again;
        }
        drop(messages);
        let _ = written.recv_timeout(PATIENCE);
    }
}

/// What the last panic said, and where.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// For the hook of panics: there is nowhere to print one, and nothing is looked up for it; the
/// window tells it.
pub fn note_panic(info: &PanicHookInfo<'_>) {
    let text = info.payload_as_str().unwrap_or("a panic without a message");
    let place = info.location().map(|place| format!(" at {place}")).unwrap_or_default();
    *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = format!("{text}{place}");
}

fn panicked() -> String {
    let what = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
    format!("an internal error stopped the recorder ({what}); please report it")
}
