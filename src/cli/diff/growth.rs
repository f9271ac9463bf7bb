//! Growth of a group beyond the limit of a comparison.

use crate::query::{Compared, Group};

/// Whether a group's outstanding bytes at the end grew by more than the limit.
pub(super) fn is_above(group: &Group<Compared>, limit: u64) -> bool {
    u64::try_from(group.numbers.delta.outstanding_to).is_ok_and(|grew| grew > limit)
}
