//! The servers of a locator, and their answers: a file that a server does not have is asked for once, and a server
//! that is of no use is not asked any more, until [`Servers::forget`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::http::{Answer, Http};
use crate::tables::KeyedMap;
use crate::trouble::PlaceTrouble;

/// Connections to servers, and what they answered.
#[derive(Debug)]
pub(super) struct Servers {
    pub(super) http: Http,
    answers: Arc<Mutex<Answers>>,
}

/// See [`super::locator::ServerAnswers`].
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Servers that are of no use, and why.
    down: KeyedMap<String, PlaceTrouble>,
    /// For each server, whether its files are in folders by their first two letters.
    two_tier: KeyedMap<String, bool>,
    /// URLs that gave no file, and why.
    absent: KeyedMap<String, Absent>,
    /// For each server, how often it said that it does not have a file, and how long that took in all.
    waits: KeyedMap<String, (u32, Duration)>,
}

/// A server that is of any use takes at most this part of the allowed silence to say that it does not have a file.
const USUAL_PART: u32 = 20;

/// Additional time for all such answers of a server, as a multiple of the allowed silence.
const GRACE: u32 = 4;

/// The reason why a URL gave no file.
#[derive(Clone, Debug)]
pub(super) enum Absent {
    /// There is no such file.
    Missing,
    /// There may be one, but something went wrong.
    Trouble(PlaceTrouble),
}

impl Servers {
    pub(super) fn new(patience: Duration, answers: Arc<Mutex<Answers>>) -> Self {
        Self { http: Http::new(patience), answers }
    }

    /// Forgets all answers, so that servers are asked again.
    pub(super) fn forget(&self) {
        *self.lock() = Answers::default();
    }

    /// The known answer for a URL of a server, if the server need not be asked.
    pub(super) fn known(&self, server: &str, url: &str) -> Option<Absent> {
        let answers = self.lock();
        answers.down.get(server).cloned().map(Absent::Trouble).or_else(|| answers.absent.get(url).cloned())
    }

    /// Notes that a server does not have a file, and how long it took to say so. A server that is slow each time
    /// would be so for each module, so it is not asked any more.
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

    /// Notes why a server did not give a file. If we stopped the download, that says nothing about the server.
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
