//! Receives the recorder's messages on a thread of its own, as fast as they come, and keeps only the newest. So a busy
//! window never blocks the recorder, and asking for the state never waits.
//!
//! The recorder's last message says that it has ended ([`Message::Ended`]) or failed. If neither comes, the recorder
//! was killed, and the sessions that it started may still run.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Message, Progress, lines};
use crate::Leftovers;

/// How the messages of a recorder ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// Everything was stopped and put back.
    Orderly,
    /// The recorder reported what went wrong, after it stopped what it could.
    Failed(String),
    /// The messages broke off. Sessions may still run.
    CutShort,
}

/// The newest messages of a recorder.
#[derive(Debug)]
pub struct Listener {
    heard: Arc<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    said: Mutex<Said>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Said {
    progress: Option<Progress>,
    cleaned_up: Option<Leftovers>,
    end: Option<End>,
}

impl Listener {
    /// Starts to listen; ends with the stream.
    pub fn new(stream: impl Read + Send + 'static) -> Self {
        let heard = Arc::new(Heard::default());
        let ear = Arc::clone(&heard);
        thread::spawn(move || ear.listen(stream));
        Self { heard }
    }

    /// The newest progress; `None` before the first. Does not wait.
    pub fn progress(&self) -> Option<Progress> {
        self.heard.said().progress.clone()
    }

    /// How the recording ended; `None` while it runs. Does not wait.
    pub fn end(&self) -> Option<End> {
        self.heard.said().end.clone()
    }

    /// The leftovers that were cleaned up, if the recorder was started for that.
    pub fn cleaned_up(&self) -> Option<Leftovers> {
        self.heard.said().cleaned_up.clone()
    }

    /// Waits for the first progress message or for the end; returns whether either came before the timeout.
    pub fn wait_for_word(&self, patience: Duration) -> bool {
        self.heard.wait(patience, |said| said.progress.is_some() || said.end.is_some())
    }

    /// Waits for the end. If the timeout passes first, the result is [`End::CutShort`].
    pub fn wait_for_end(&self, patience: Duration) -> End {
        self.heard.wait(patience, |said| said.end.is_some());
        self.end().unwrap_or(End::CutShort)
    }
}

impl Heard {
    fn said(&self) -> MutexGuard<'_, Said> {
        // The data are consistent at any time, so a poisoned lock can be used.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, patience: Duration, is_enough: impl Fn(&Said) -> bool) -> bool {
        let waited = self.news.wait_timeout_while(self.said(), patience, |said| !is_enough(said));
        is_enough(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    fn listen(&self, stream: impl Read) {
        for line in lines(stream) {
            let mut said = self.said();
            match Message::parse(&line) {
                Some(Message::Progress(progress)) => said.progress = Some(progress),
                Some(Message::CleanedUp(what)) => said.cleaned_up = Some(what),
                Some(Message::Failed(reason)) => said.end = Some(End::Failed(reason)),
                Some(Message::Ended) => said.end = Some(End::Orderly),
                // Either not a recorder, or one of another version: its messages cannot be relied on.
                None => break,
            }
            drop(said);
            self.news.notify_all();
        }
        self.said().end.get_or_insert(End::CutShort);
        self.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn progress(events: u64) -> Message {
        Message::Progress(Progress { events, ..Progress::default() })
    }

    #[test]
    fn a_recorder_that_says_much_while_nobody_asks_is_not_held_up_and_the_newest_is_kept() {
        let (read, mut write) = std::io::pipe().unwrap();
        let listener = Listener::new(read);
        const LINES: u64 = 10_000;
        let recorder = thread::spawn(move || {
            let mut bytes = 0;
            for events in 1..=LINES {
                let line = progress(events).line();
                write.write_all(line.as_bytes()).unwrap();
                bytes += line.len();
            }
            // The pipe stays open without another line, so the end of the stream cannot reveal the newest message.
            (write, bytes)
        });
        let end = Instant::now() + LONG;
        while !recorder.is_finished() {
            assert!(Instant::now() < end, "the recorder is held up");
            thread::sleep(Duration::from_millis(5));
        }
        let (write, bytes) = recorder.join().unwrap();
        assert!(bytes > 64 << 10, "{bytes} bytes: more than a pipe holds");
        while listener.progress().is_none_or(|progress| progress.events < LINES) {
            assert!(Instant::now() < end, "{:?}", listener.progress());
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!((listener.progress().unwrap().events, listener.end()), (LINES, None));
        drop(write);
        assert_eq!(listener.wait_for_end(LONG), End::CutShort);
    }

    #[test]
    fn an_end_is_orderly_only_if_the_recorder_says_so() {
        let end = |said: &str| Listener::new(std::io::Cursor::new(said.to_owned())).wait_for_end(LONG);
        assert_eq!(end(&(progress(1).line() + &Message::Ended.line())), End::Orderly);
        assert_eq!(end(&Message::Failed("no rights".into()).line()), End::Failed("no rights".into()));
        let half = Message::Ended.line().trim_end().to_owned();
        let nonsense = "nonsense\n".to_owned() + &Message::Ended.line();
        let endless = "x".repeat(4 << 20) + "\n" + &Message::Ended.line();
        for said in [String::new(), progress(1).line(), half, nonsense, endless] {
            assert_eq!(end(&said), End::CutShort, "{said:.80}");
        }
    }

    #[test]
    fn who_waits_for_the_first_word_hears_it_or_that_there_is_none() {
        let (read, mut write) = std::io::pipe().unwrap();
        let listener = Listener::new(read);
        assert!(!listener.wait_for_word(Duration::from_millis(20)));
        assert_eq!(listener.wait_for_end(Duration::from_millis(20)), End::CutShort, "nobody waits for ever");
        write.write_all(progress(3).line().as_bytes()).unwrap();
        assert!(listener.wait_for_word(LONG));
        assert_eq!(listener.progress().unwrap().events, 3);
    }
}
