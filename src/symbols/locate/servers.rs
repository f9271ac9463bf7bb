//! The servers of a locator, and what they answered: what one has not is asked for once,
//! and one that is of no use is asked nothing more, until [`Servers::forget`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashMap;

use crate::symbols::http::{Answer, Http};
use crate::symbols::trouble::PlaceTrouble;

/// See the module.
#[derive(Debug)]
pub(super) struct Servers {
    pub(super) http: Http,
    answers: Arc<Mutex<Answers>>,
}

/// See [`super::ServerAnswers`].
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Servers that are of no use.
    down: FxHashMap<String, PlaceTrouble>,
    /// Servers, and whether their files are in folders by their first two letters.
    two_tier: FxHashMap<String, bool>,
    /// URLs of which nothing came.
    absent: FxHashMap<String, Absent>,
    /// How often servers said that they have not got a file, and how long that took.
    waits: FxHashMap<String, (u32, Duration)>,
}

/// An answer that there is nothing takes such a part of the silence that is allowed, of a server that is of any use.
const USUAL_PART: u32 = 20;

/// What all such answers may take beside that, in times of that silence.
const GRACE: u32 = 4;

/// Why nothing came.
#[derive(Clone, Debug)]
pub(super) enum Absent {
    /// There is no such file.
    Missing,
    /// There may be one.
    Trouble(PlaceTrouble),
}

impl Servers {
    pub(super) fn new(patience: Duration, answers: Arc<Mutex<Answers>>) -> Self {
        Self { http: Http::new(patience), answers }
    }

    /// Asks again what was asked before.
    pub(super) fn forget(&self) {
        *self.lock() = Answers::default();
    }

    /// What is known of a URL of a server, if it need not be asked.
    pub(super) fn known(&self, server: &str, url: &str) -> Option<Absent> {
        let answers = self.lock();
        answers.down.get(server).cloned().map(Absent::Trouble).or_else(|| answers.absent.get(url).cloned())
    }

    /// Notes that a server has not got a file, and how long it took to say so. One that keeps us waiting each time would do
    /// so for each module.
    pub(super) fn note_missing(&self, server: &str, url: &str, took: Duration) {
        let mut answers = self.lock();
        answers.absent.insert(url.to_owned(), Absent::Missing);
        let (count, all) = answers.waits.entry(server.to_owned()).or_default();
        *count += 1;
        *all += took;
        if *all > self.http.patience * GRACE + (self.http.patience / USUAL_PART).saturating_mul(*count) {
            let why = PlaceTrouble::SlowToAnswer { answers: *count, seconds: all.as_secs() };
            answers.down.insert(server.to_owned(), why);
        }
    }

    /// Notes why a server did not give a file. What only we wanted to end says nothing of it.
    pub(super) fn note(&self, server: &str, url: &str, trouble: &PlaceTrouble) {
        if *trouble == PlaceTrouble::Stopped {
            return;
        }
        let mut answers = self.lock();
        if trouble.is_down() {
            answers.down.insert(server.to_owned(), trouble.clone());
        } else {
            answers.absent.insert(url.to_owned(), Absent::Trouble(trouble.clone()));
        }
    }

    /// Whether a server has its files in folders by their first two letters.
    pub(super) fn is_two_tier(&self, server: &str) -> Result<bool, PlaceTrouble> {
        if let Some(&known) = self.lock().two_tier.get(server) {
            return Ok(known);
        }
        let marker = format!("{server}/index2.txt");
        if let Some(Absent::Trouble(trouble)) = self.known(server, &marker) {
            return Err(trouble);
        }
        let is_there = match self.http.get(&marker, None) {
            Ok(Answer::Body(_)) => true,
            Err(trouble) if trouble.is_down() => {
                self.note(server, &marker, &trouble);
                return Err(trouble);
            }
            Ok(Answer::Missing) | Err(_) => false,
        };
        self.lock().two_tier.insert(server.to_owned(), is_there);
        Ok(is_there)
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
