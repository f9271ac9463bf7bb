//! The recorder: the small program with administrator rights, from its command line to its last message. It does one of
//! two tasks ([`Errand`]) and reports progress to the window that started it, over the named pipes.
//!
//! It only fills the lanes: the window merges them with its own rights, and starts programs to be launched. Nothing
//! that the user controls (command line, pipes, folder) is trusted; see [`Orders`] and [`Folder`].
//!
//! A window that does not read blocks nothing: messages that it does not take in time are dropped.

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
use super::window_recorder::START;
use super::{clean_up, pipe};
use crate::control::{Command, Errand, Message, Orders, lines};
use crate::{CaptureError, Folder, Request, Target};

/// Interval at which the recording is polled.
const POLL: Duration = Duration::from_millis(250);

/// Runs the recorder with these command line arguments (without the program's name). The exit code is 0 if everything
/// went well, 2 if the arguments are invalid, 1 after other errors.
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
    /// When the recording is over, the window sends stop. If it does not within this time, the recorder ends anyway.
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
            // Write errors are in the next progress message.
            Some(Command::Mark(name)) => drop(running.mark(&name)),
            None => {}
        }
    }
}

/// The recorder's connection to the window. If it breaks, that counts as a stop command.
struct Window {
    messages: SyncSender<Message>,
    /// Receives a value when all messages were written and read, or cannot be.
    written: Receiver<()>,
    commands: Receiver<Command>,
}

impl Window {
    fn new(ends: pipe::Ends) -> Self {
        /// Queue length for messages to a busy window, and for commands to us.
        const QUEUE: usize = 4;
        let pipe::Ends { mut status, commands: from_window } = ends;
        let (messages, to_write) = sync_channel::<Message>(QUEUE);
        let (done, written) = channel();
        // Both threads end with their pipes, or with the process.
        thread::spawn(move || {
            let _ = to_write.iter().try_for_each(|message| status.write_all(message.line().as_bytes()));
            // Waits until the window has read everything: unread data are lost with the pipe.
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

    /// Sends a message; drops it if the queue is full.
    fn tell(&self, message: Message) {
        let _ = self.messages.try_send(message);
    }

    /// Waits for a command, at most this time.
    fn wait(&self, time: Duration) -> Option<Command> {
        match self.commands.recv_timeout(time) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Command::Stop),
        }
    }

    /// Sends the last message and waits a while until it is read.
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

/// Message and place of the last panic.
static PANIC: Mutex<String> = Mutex::new(String::new());

/// The panic hook: keeps the message for the window, because there is nowhere to print it; looks up no symbols.
pub fn note_panic(info: &PanicHookInfo<'_>) {
    let text = info.payload_as_str().unwrap_or("a panic without a message");
    let place = info.location().map(|place| format!(" at {place}")).unwrap_or_default();
    *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = format!("{text}{place}");
}

fn panicked() -> String {
    let what = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
    format!("an internal error stopped the recorder ({what}); please report it")
}
