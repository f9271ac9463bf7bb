//! What Windows was called with, and what it answered, while somebody wants to know: the
//! self-test, whose report tells from another machine where recording stops.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// One call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Call {
    /// The function, and what of it: `ControlTraceW(STOP)`.
    pub call: &'static str,
    /// What it was for: a session, a program.
    pub subject: String,
    /// Its Win32 error code; 0 is success.
    pub code: u32,
}

static CALLS: Mutex<Option<Vec<Call>>> = Mutex::new(None);

/// More are not kept: somebody polls.
const MOST: usize = 4096;

/// From now on calls are noted.
pub(super) fn begin() {
    *CALLS.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
}

/// What was noted. No more is.
pub(super) fn end() -> Vec<Call> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
}

/// Notes a call if somebody wants it.
pub(super) fn note(call: &'static str, subject: &str, code: u32) {
    if let Some(calls) = CALLS.lock().unwrap_or_else(PoisonError::into_inner).as_mut()
        && calls.len() < MOST
    {
        calls.push(Call { call, subject: subject.to_owned(), code });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_noted_while_somebody_wants_them() {
        let ours = |calls: Vec<Call>| calls.into_iter().filter(|call| call.call == "Test").collect::<Vec<_>>();
        note("Test", "before", 0);
        begin();
        note("Test", "heap", 183);
        assert_eq!(ours(end()), [Call { call: "Test", subject: "heap".to_owned(), code: 183 }]);
        note("Test", "after", 0);
        assert_eq!(ours(end()), []);
    }
}
