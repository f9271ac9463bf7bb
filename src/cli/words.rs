//! Values that an argument names by a word: those of types that clap does not know.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::query::By;

/// A parser of the words for the values in a list.
pub(super) fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    word: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let words = PossibleValuesParser::new(all.iter().map(|one| word(*one)));
    // The words were compared already, with or without case.
    words.try_map(move |given| all.iter().copied().find(|one| word(*one).eq_ignore_ascii_case(&given)).ok_or("no such word"))
}

/// A parser of keys of groups.
pub(super) fn one_key() -> impl TypedValueParser<Value = By> {
    one_of(&By::ALL, By::word)
}
