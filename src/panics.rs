//! A worker's panic as a value: what went wrong and where, to be shown instead of
//! ending the program or filling the terminal.
//!
//! [`install`] puts a panic hook in front of the one that is there. It records what
//! happens inside [`catch`], on the thread itself or on one of rayon's that works
//! for it, and passes on every other panic. Only programs install it; without it
//! [`catch`] still catches, but knows no place.

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
    /// What it said.
    pub message: String,
    /// File, line and column of the source; empty if unknown.
    pub place: String,
    /// The calls that led there; empty if unknown.
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

/// What the hook saw and nobody asked for yet. Several workers can panic where only
/// one panic comes through, so there is a limit.
static SEEN: Mutex<Vec<(ThreadId, Caught)>> = Mutex::new(Vec::new());
const MAX_SEEN: usize = 16;

/// Calls of [`catch`] that are going on.
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

/// Whether somebody waits for what the present thread does.
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

/// Does some work; a panic in it, or in workers of rayon that it waits for, comes
/// back as an error. What the work changed outside must not be used afterwards.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Caught> {
    let outer = HERE.replace(true);
    CATCHING.fetch_add(1, Ordering::AcqRel);
    let result = catch_unwind(AssertUnwindSafe(work));
    CATCHING.fetch_sub(1, Ordering::AcqRel);
    HERE.set(outer);
    result.map_err(|payload| find(&text(payload.as_ref())))
}

/// What the hook saw of the panic with this message, here or on another thread.
/// Others that were seen are added: this one may only be their consequence.
fn find(message: &str) -> Caught {
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let here = thread::current().id();
    let (same, others): (Vec<_>, Vec<_>) = seen.drain(..).partition(|(_, caught)| caught.message == message);
    seen.clone_from(&others); // somebody else may ask for them
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

/// A place at which tests can make a worker panic; nothing in release builds.
pub(crate) fn reach(place: &str) {
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

    /// From now on the work panics at this place (`load`, `query`, `report`), or with
    /// ` pool` behind it on a worker of rayon; nowhere if empty. For other programs
    /// the environment's `HIGHWATER_FAULT` says the same.
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
