//! Searches commands by typed text: each word must match, preferably at the beginning of a word, then
//! anywhere in one, else by its letters in order ("zts" finds *Zoom to selection*). Case does not
//! matter.
//!
//! Cost: for each text its length times the words typed.

use std::cmp::Reverse;
use std::ops::Range;

/// A matching text, with the quality of the match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit {
    /// The score; higher is better.
    score: usize,
    /// Indices of the characters that matched, in order.
    pub met: Vec<usize>,
}

impl Hit {
    /// The score of a command's name. One that cannot be run now comes after all that can, except those that match only by
    /// scattered letters; one that hides something comes after others that match as well.
    pub fn score(&self, is_possible: bool, hides: bool) -> usize {
        let possible = if is_possible { POSSIBLE } else { 0 };
        (self.score + possible).saturating_sub(if hides { HIDES } else { 0 })
    }
}

/// Points for a match at the beginning of a word, inside a word, and of scattered letters.
const BEGINS: usize = 1000;
const HAS: usize = 400;
const SCATTERED: usize = 100;

/// Points against a match in the name of a submenu, which all of its commands have: more than against hiding.
const IN_HEADING: usize = 300;

/// Points for a command that can be run, and against one that hides something.
const POSSIBLE: usize = BEGINS - HAS / 8 - SCATTERED;
const HIDES: usize = HAS / 2;

/// The matching texts with their indices, best first; equally good ones keep their order. Each text comes with other
/// words that mean it, which count a little less than its own.
pub fn find<'a>(typed: &str, texts: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<(usize, Hit)> {
    let words: Vec<Vec<char>> = typed.split_whitespace().map(folded).collect();
    let mut found: Vec<_> = texts.enumerate().filter_map(|(i, (text, also))| Some((i, best(&words, text, also)?))).collect();
    found.sort_by_key(|(_, hit)| Reverse(hit.score));
    found
}

/// Letters in one case. Each becomes one character, so that indices stay valid.
fn folded(text: &str) -> Vec<char> {
    text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect()
}

/// The better match of a text: by its own words, or by other words that mean it, too.
fn best(words: &[Vec<char>], text: &str, also: &str) -> Option<Hit> {
    let heading = text.find(": ").map_or(0, |at| text[..at].chars().count());
    let own = hit(words, &folded(text), 0..heading);
    if also.is_empty() {
        return own;
    }
    let hidden = folded(also).len() + 1;
    let by_all = hit(words, &folded(&format!("{also} {text}")), hidden..hidden + heading).map(|hit| Hit {
        score: hit.score.saturating_sub(HAS / 4),
        met: hit.met.iter().filter_map(|at| at.checked_sub(hidden)).collect(),
    });
    by_all.filter(|by_all| own.as_ref().is_none_or(|own| own.score < by_all.score)).or(own)
}

/// Matches all words; `heading` is the part of the text that names the submenu.
fn hit(words: &[Vec<char>], text: &[char], heading: Range<usize>) -> Option<Hit> {
    let mut all = Hit { score: 0, met: Vec::new() };
    for word in words {
        let Hit { score, met } = whole(word, text, &heading).or_else(|| scattered(word, text))?;
        all.score += score;
        all.met.extend(met);
    }
    all.met.sort_unstable();
    all.met.dedup();
    Some(all)
}

/// Matches the word in one piece: at the beginning of a word and outside of the heading if possible.
fn whole(word: &[char], text: &[char], heading: &Range<usize>) -> Option<Hit> {
    let places = text.windows(word.len()).enumerate().filter(|(_, part)| *part == word).map(|(at, _)| at);
    let score = |at: usize| {
        let begins = at == 0 || !text[at - 1].is_alphanumeric();
        let points = if begins { BEGINS } else { HAS };
        // Earlier matches come first.
        points.saturating_sub(at.min(HAS / 8) + if heading.contains(&at) { IN_HEADING } else { 0 })
    };
    let (score, Reverse(at)) = places.map(|at| (score(at), Reverse(at))).max()?;
    Some(Hit { score, met: (at..at + word.len()).collect() })
}

/// Matches the letters in their order, with anything between them.
fn scattered(word: &[char], text: &[char]) -> Option<Hit> {
    let mut met = Vec::with_capacity(word.len());
    let mut from = 0;
    for letter in word {
        let at = from + text[from..].iter().position(|c| c == letter)?;
        met.push(at);
        from = at + 1;
    }
    let spread = met.last()? - met.first()?;
    Some(Hit { score: SCATTERED - spread.min(SCATTERED - 1), met })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 5] = ["Open\u{2026}", "Zoom to selection", "Theme: Dark", "Columns: Peak", "Show the whole trace"];

    /// Texts without other words.
    fn alone<'a>(texts: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        texts.iter().map(|text| (*text, ""))
    }

    fn best(typed: &str) -> Vec<&'static str> {
        find(typed, alone(&WORDS)).into_iter().map(|(i, _)| WORDS[i]).collect()
    }

    #[test]
    fn nothing_typed_is_everything_in_its_order() {
        assert_eq!(best("  "), WORDS);
    }

    #[test]
    fn beginnings_come_before_what_is_inside_and_that_before_letters() {
        assert_eq!(best("o")[0], WORDS[0], "a beginning");
        assert_eq!(best("dark"), [WORDS[2]]);
        assert_eq!(best("the")[..2], [WORDS[4], WORDS[2]], "the name of a submenu last");
        assert_eq!(best("s")[..2], [WORDS[4], WORDS[1]], "the earlier one first");
        assert_eq!(best("zts"), [WORDS[1]], "letters in their order");
        assert_eq!(best("stz"), [] as [&str; 0], "and in no other");
    }

    #[test]
    fn each_word_has_to_be_met_wherever_it_stands() {
        assert_eq!(best("peak col"), [WORDS[3]]);
        assert_eq!(best("peak dark"), [] as [&str; 0]);
        let found = find("SEL zo", alone(&WORDS));
        assert_eq!(found[0].1.met, [0, 1, 8, 9, 10], "what is lit");
    }

    #[test]
    fn other_words_find_a_text_behind_those_that_are_called_so_and_are_not_lit() {
        let texts = [("Tabs: Symbols", "names of functions"), ("Tabs: Functions", "who allocated")];
        let order = |typed| find(typed, texts.into_iter()).into_iter().map(|(i, _)| i).collect::<Vec<_>>();
        assert_eq!((order("functions"), order("names"), order("allocated tabs")), (vec![1, 0], vec![0], vec![1]));
        assert_eq!(find("who tabs", texts.into_iter())[0].1.met, [0, 1, 2, 3]);
    }

    #[test]
    fn commands_that_can_be_run_come_before_others_and_those_that_hide_something_last() {
        let score = |typed, text, also, is_possible, hides| {
            let found = find(typed, [(text, also)].into_iter());
            found[0].1.score(is_possible, hides)
        };
        let impossible = score("zoom", "Zoom to selection", "", false, false);
        assert!(impossible < score("zoom", "Whole trace", "zoom out", true, false));
        assert!(impossible < score("zoom", "The whole and unzoomed trace", "", true, false), "inside a word");
        assert!(impossible > score("zoom", "A zero on or more", "", true, false), "but not by its letters");
        let hides = score("peak", "Columns: Peak", "", true, true);
        let named = score("lane of frames", "Marks and frames: Lane of frames", "", true, true);
        assert!(named > score("lane of frames", "Marks and frames: Lane of commit", "", true, false), "its own words count more");
        assert!(hides < score("peak", "Go to: at the end of a long text stands a peak", "", true, false));
        assert!(hides < score("peak", "Tabs: Findings", "growth spikes peak", true, false), "words of a question");
        assert!(hides > score("peak", "Columns: Peak", "", false, false), "it can be run");
    }

    #[test]
    fn odd_texts_are_no_harm() {
        for text in ["", "\u{130}\u{df}", "\u{1f980}\u{301}"] {
            for typed in ["\u{130}", "i", "ss", "\u{1f980}", "a b c d e f g"] {
                find(typed, alone(&[text]));
            }
        }
        assert_eq!(find("\u{df}", alone(&["Stra\u{df}e"])).len(), 1);
    }
}
