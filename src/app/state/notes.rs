//! Notes that the user writes on the time axis.

use std::sync::Arc;

use crate::units::Ticks;

/// Maximum number of notes: more would cover each other.
pub const MOST_NOTES: usize = 200;

/// Maximum length of a note in characters.
pub const LONGEST_NOTE: usize = 1000;

/// A note at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    pub at: Ticks,
    pub text: Arc<str>,
}

/// All notes, in the order of time, at most one for each moment.
pub type Notes = Arc<[Note]>;

/// Notes with this text at a moment, in place of another that was there; without it if the text is empty.
pub fn with_note(notes: &[Note], at: Ticks, text: &str) -> Notes {
    let text: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST_NOTE).collect();
    let mut all: Vec<Note> = notes.iter().filter(|note| note.at != at).cloned().collect();
    if !text.is_empty() && all.len() < MOST_NOTES {
        all.insert(all.partition_point(|note| note.at < at), Note { at, text: text.into() });
    }
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_stand_in_the_order_of_time_and_an_empty_one_is_removed() {
        let all = with_note(&with_note(&with_note(&[], Ticks(5), "five"), Ticks(9), "nine"), Ticks(1), " one\n");
        let told = |notes: &[Note]| notes.iter().map(|note| (note.at.0, note.text.to_string())).collect::<Vec<_>>();
        assert_eq!(told(&all), [(1, "one".to_owned()), (5, "five".to_owned()), (9, "nine".to_owned())]);
        let all = with_note(&with_note(&all, Ticks(5), "other"), Ticks(1), " ");
        assert_eq!(told(&all), [(5, "other".to_owned()), (9, "nine".to_owned())]);
        let many = (0..500).fold(Notes::default(), |notes, at| with_note(&notes, Ticks(at), &"x".repeat(5000)));
        assert_eq!((many.len(), many[0].text.len()), (MOST_NOTES, LONGEST_NOTE));
    }
}
