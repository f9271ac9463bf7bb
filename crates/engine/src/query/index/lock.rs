//! Locks of the lists of an index.

use std::sync::{Mutex, PoisonError};

/// Locks a list. Poisoning is ignored, since a panic elsewhere cannot leave these lists half-changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
