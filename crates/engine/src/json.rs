//! Conditions under which the JSON answers leave a field out.

/// Whether a number is zero, so that its field is left out.
pub fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}
