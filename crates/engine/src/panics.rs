//! Turns the panic of a worker into a value (what went wrong and where), which is shown instead of ending the program
//! or filling the terminal.
//!
//! [`install`] puts a panic hook in front of the existing one. It records panics inside [`catch`], on the thread itself
//! or on a rayon thread that works for it, and passes on all others. Only programs install it; without it, [`catch`]
//! still catches panics but knows no place.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};

/// A panic that was caught.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Caught {
    /// Its message.
    pub message: String,
    /// File, line and column of the source; empty if unknown.
    pub place: String,
    /// The backtrace; empty if unknown.
    pub backtrace: String,
}

impl fmt::Display for Caught {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => write!(f, "{}", self.message),
            place => write!(f, "{} at {place}", self.message),
        }
    }
}

/// Panics that the hook recorded and [`catch`] has not fetched yet. Several workers can panic while only one panic is
/// propagated, so the list is limited.
static SEEN: Mutex<Vec<(ThreadId, Caught)>> = Mutex::new(Vec::new());
const MAX_SEEN: usize = 16;

/// Number of running calls of [`catch`].
static CATCHING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// Installs the hook, once.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| if is_caught() { record(info) } else { before(info) }));
    });
}

/// Whether a call of [`catch`] waits for the current thread.
fn is_caught() -> bool {
    let in_pool = || rayon::current_thread_index().is_some() && CATCHING.load(Ordering::Acquire) > 0;
    HERE.get() || in_pool()
}

fn record(info: &PanicHookInfo<'_>) {
    let caught = Caught {
        message: text(info.payload()),
        place: info.location().map(ToString::to_string).unwrap_or_default(),
        backtrace: Backtrace::force_capture().to_string(),
    };
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if seen.len() >= MAX_SEEN {
        seen.remove(0);
    }
    seen.push((thread::current().id(), caught));
}

/// Runs some work; a panic in it, or in rayon workers that it waits for, is returned as an error. Data outside that the
/// work has changed must not be used afterwards.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Caught> {
    let outer = HERE.replace(true);
    CATCHING.fetch_add(1, Ordering::AcqRel);
    let result = catch_unwind(AssertUnwindSafe(work));
    CATCHING.fetch_sub(1, Ordering::AcqRel);
    HERE.set(outer);
    result.map_err(|payload| find(&text(payload.as_ref())))
}

/// Finds the recorded panic with this message, on this or another thread. Other recorded panics are appended: this one
/// may only be their consequence.
fn find(message: &str) -> Caught {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let here = thread::current().id();
    let (same, others): (Vec<_>, Vec<_>) = seen.drain(..).partition(|(_, caught)| caught.message == message);
    seen.clone_from(&others); // another call may fetch them
    drop(seen);
    let best = same.into_iter().max_by_key(|(thread, _)| *thread == here).map(|(_, caught)| caught);
    let mut found = best.unwrap_or_else(|| Caught { message: message.to_owned(), ..Caught::default() });
    for (_, other) in others {
        found.backtrace += &format!("\n\nalso seen: {other}\n{}", other.backtrace);
    }
    found
}

fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

/// A place where tests can make a worker panic; does nothing in release builds.
pub fn reach(place: &str) {
    #[cfg(debug_assertions)]
    fault::reach(place);
    #[cfg(not(debug_assertions))]
    let _ = place;
}

/// Faults for tests, in debug builds only.
#[cfg(debug_assertions)]
#[doc(hidden)]
pub mod fault {
    use super::{Mutex, PoisonError};

    static ARMED: Mutex<String> = Mutex::new(String::new());

    /// Makes the work panic at this place (`load`, `query`, `report`) from now on, or with ` pool` behind the name on a
    /// rayon worker; nowhere if empty. For other processes, the environment variable `HIGHWATER_FAULT` does the same.
    pub fn arm(place: &str) {
        place.clone_into(&mut ARMED.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn reach(place: &str) {
        let armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let armed = if armed.is_empty() { std::env::var("HIGHWATER_FAULT").unwrap_or_default() } else { armed };
        match armed.strip_prefix(place) {
            Some("") => fail(place),
            Some(" pool") => rayon::scope(|scope| scope.spawn(|_| fail(place))),
            _ => {}
        }
    }

    fn fail(place: &str) {
        panic!("a fault for tests in {place}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_comes_back_with_its_message_and_place() {
        install();
        let caught = catch(|| panic!("number {}", 7)).unwrap_err();
        assert_eq!(caught.message, "number 7");
        assert!(caught.place.starts_with("src/panics.rs:") || caught.place.contains("panics.rs:"), "{}", caught.place);
        assert!(!caught.backtrace.is_empty());
        assert_eq!(catch(|| 3), Ok(3));
    }

    #[test]
    fn a_panic_of_a_worker_in_the_pool_comes_back_with_its_place() {
        install();
        let caught = catch(|| rayon::scope(|scope| scope.spawn(|_| panic!("in the pool")))).unwrap_err();
        assert_eq!(caught.message, "in the pool");
        assert!(caught.place.contains("panics.rs:"), "{}", caught.place);
    }

    #[test]
    fn a_payload_that_is_no_text_is_no_second_panic() {
        let caught = catch(|| std::panic::panic_any(5)).unwrap_err();
        assert_eq!(caught.message, "a panic without a message");
    }
}
