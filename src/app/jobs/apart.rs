//! Files of several captures that were given together (on the command line, in the open dialog or by a
//! drop). Each capture opens in a tab of its own; the window says why they are not one trace and offers
//! to compare them.
//!
//! They are loaded one after the other, so that each load knows how much memory the earlier ones have left.

use std::collections::VecDeque;

use super::player::Pace;
use crate::app::state::inputs::short_name;
use crate::format;
use crate::load::{Input, Opened};

/// The files of one capture among several.
#[derive(Clone, Debug)]
pub struct Part {
    pub inputs: Vec<Input>,
    /// Why it does not belong to the first capture, as the end of a sentence about its files.
    pub why: Option<String>,
}

/// The captures among files that were given together.
#[derive(Debug, Default)]
pub struct Apart {
    /// Captures still to be loaded; the very first one goes to the front.
    pub waiting: VecDeque<(Vec<Input>, Pace, bool)>,
    /// The message that the window shows about them, until the user closes it.
    pub told: Option<Told>,
}

/// The message in [`Apart::told`].
#[derive(Debug)]
pub struct Told {
    pub parts: Vec<Part>,
    /// How many were left out because there was no room for another tab.
    pub left_out: usize,
}

/// Groups the inputs that were opened together by capture. An unreadable file goes to the first
/// capture, whose problems report it. An archive with traces of several captures is named in each of
/// them.
pub fn parts(inputs: &[Input], opened: &[Opened]) -> Vec<Part> {
    let names = |of: &Opened| of.capture.files.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = opened.iter().map(names).collect();
    let is_of = |name: &str, input: &Input| {
        let inside = name.strip_prefix(&input.name());
        inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('!'))
    };
    let mut parts: Vec<Part> = opened.iter().map(|one| Part { inputs: Vec::new(), why: one.why_apart.clone() }).collect();
    for input in inputs {
        let has = |names: &Vec<String>| names.iter().any(|name| is_of(name, input));
        let whose: Vec<usize> = (0..all.len()).filter(|&at| has(&all[at])).collect();
        match whose[..] {
            [] => parts.iter_mut().take(1).for_each(|first| first.inputs.push(input.clone())),
            [only] => parts[only].inputs.push(input.clone()),
            _ => whose.into_iter().for_each(|at| {
                let members = all[at].iter().filter(|name| is_of(name, input));
                parts[at].inputs.extend(members.map(|name| Input::File(name.into())));
            }),
        }
    }
    parts
}

impl Told {
    /// A sentence that says which captures there are, and why they are separate.
    pub fn sentence(&self) -> String {
        let names = |part: &Part| short_name(&part.inputs);
        let why = self.parts.iter().filter_map(|part| Some(format!("{} {}", names(part), part.why.as_ref()?)));
        let reasons: Vec<String> = why.take(3).collect();
        let more = self.parts.len().saturating_sub(1 + reasons.len());
        let more = if more > 0 { format!("; and {} more", format::count(more as u64)) } else { String::new() };
        let left_out = match self.left_out {
            0 => String::new(),
            1 => " There is no room for one more tab.".to_owned(),
            n => format!(" There is no room for {n} more tabs."),
        };
        let count = self.parts.len();
        format!("These files belong to {count} recordings, each in its own tab: {}{more}.{left_out}", reasons.join("; "))
    }
}

impl Apart {
    /// Whether some are still to be opened.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_how_many_there_are_and_why() {
        let part = |name: &str, why: Option<&str>| Part { inputs: vec![Input::File(name.into())], why: why.map(str::to_owned) };
        let mut told =
            Told { parts: vec![part("/x/a.etl", None), part("/x/b.etl", Some("has another clock than a.etl"))], left_out: 0 };
        let two = "These files belong to 2 recordings, each in its own tab: b.etl has another clock than a.etl.";
        assert_eq!(told.sentence(), two);
        told.left_out = 2;
        assert_eq!(told.sentence(), format!("{two} There is no room for 2 more tabs."));
        told.parts.extend((0..5).map(|_| part("/x/c.etl", Some("has another clock than a.etl"))));
        assert!(told.sentence().contains("; and 3 more."), "{}", told.sentence());
    }
}
