//! What a team knows and accepts, as a JSON file that it shares: findings, and breaches of limits. What holds more than
//! was accepted is told again.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::check::{Amount, GroupCheck};
use crate::format::plain;
use crate::model::Trace;
use crate::paths;
use crate::query::Finding;
use crate::toml_file::text_of;

/// Version of the file.
const SCHEMA: &str = "highwater.baseline/1";
/// Bytes of a file at most.
const MAX_FILE: u64 = 16 << 20;

/// The file. Field names are those of the machine interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    schema: String,
    accepted: Vec<Accepted>,
    /// Entries that fitted something.
    #[serde(skip)]
    is_used: Vec<bool>,
}

/// What is accepted: findings of a kind, or breaches of a limit, of a process, layer and responsible caller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Its name; null of a limit on several processes together.
    pub process: Option<String>,
    /// Layer.
    pub layer: String,
    /// Kind of a finding, or what a rule limits.
    pub kind: String,
    /// As `function` of a finding, and of the holder of a breach; null where no stack tells.
    pub responsible: Option<String>,
    /// Bytes of a finding; the value of what a rule limits, rounded up.
    pub most_bytes: u64,
    /// Why, for whoever reads the file.
    #[serde(default)]
    pub reason: String,
}

impl Accepted {
    /// A finding.
    pub fn finding(trace: &Trace, finding: &Finding) -> Self {
        Self {
            process: Some(trace.process(finding.process).label()),
            layer: finding.layer.name().to_owned(),
            kind: finding.kind.name().to_owned(),
            responsible: finding.function.clone(),
            most_bytes: finding.bytes,
            reason: String::new(),
        }
    }

    /// A limit that is not kept.
    pub fn breach(check: &GroupCheck) -> Self {
        Self {
            process: check.process.clone(),
            layer: check.layer.to_owned(),
            kind: check.numbers.measure.to_owned(),
            responsible: check.numbers.holder.as_ref().map(|holder| holder.function.clone()),
            most_bytes: match check.numbers.value {
                Amount::Exact(n) => u64::try_from(n).unwrap_or(0),
                Amount::Rate(rate) => rate.ceil() as u64,
            },
            reason: String::new(),
        }
    }

    /// Whether it is about the same, whatever that holds.
    fn is_about(&self, other: &Self) -> bool {
        let name = |one: &Self| one.process.as_deref().map(str::to_ascii_lowercase);
        name(self) == name(other)
            && (&self.layer, &self.kind, &self.responsible) == (&other.layer, &other.kind, &other.responsible)
    }

    /// In words: `growth of game.exe (heap), game.exe!LoadLevel`.
    pub fn words(&self) -> String {
        let Self { process, layer, kind, responsible, .. } = self;
        let (process, kind) = (process.as_deref().unwrap_or("all processes"), kind.replace('_', " "));
        plain(&format!("{kind} of {process} ({layer}), {}", responsible.as_deref().unwrap_or("no stack")))
    }
}

impl Default for Baseline {
    fn default() -> Self {
        Self::of([])
    }
}

impl Baseline {
    /// One that accepts all of these, each place with the most that it holds.
    pub fn of(all: impl IntoIterator<Item = Accepted>) -> Self {
        let mut baseline = Self { schema: SCHEMA.to_owned(), accepted: Vec::new(), is_used: Vec::new() };
        all.into_iter().for_each(|one| baseline.accept(one));
        baseline
    }

    /// Accepts one more, or more of the same. A reason replaces that of before.
    pub fn accept(&mut self, one: Accepted) {
        match self.accepted.iter_mut().find(|known| known.is_about(&one)) {
            Some(known) => {
                known.most_bytes = known.most_bytes.max(one.most_bytes);
                if !one.reason.is_empty() {
                    known.reason = one.reason;
                }
            }
            None => self.accepted.push(one),
        }
    }

    /// Accepts nothing of this any more, however much it holds.
    pub fn forget(&mut self, one: &Accepted) {
        self.accepted.retain(|known| !known.is_about(one));
    }

    /// The entry that accepts something, if any does.
    pub fn entry_of(&self, one: &Accepted) -> Option<&Accepted> {
        self.accepted.iter().find(|known| known.is_about(one) && one.most_bytes <= known.most_bytes)
    }

    /// Reads a file. Errors are a line with the file's name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let bad = |why: String| format!("{}: {why}", path.display());
        let text = text_of(path, MAX_FILE).map_err(|reason| bad(format!("cannot be read: {reason}")))?;
        let baseline: Self = serde_json::from_str(&text).map_err(|error| bad(plain(&error.to_string())))?;
        match baseline.schema == SCHEMA {
            true => Ok(baseline),
            false => Err(bad(format!("not a baseline: its schema is not {SCHEMA}"))),
        }
    }

    /// Writes the text of a file.
    pub fn write(&self, file: &mut File) -> io::Result<()> {
        file.write_all(self.text()?.as_bytes())
    }

    fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Keeps it in a file; the old one stays whole if that fails. Errors are a line with the file's name.
    pub fn keep(&self, path: &Path) -> Result<(), String> {
        let kept = self.text().and_then(|text| paths::keep(path, &text, MAX_FILE));
        kept.map_err(|reason| format!("{} cannot be written: {reason}", path.display()))
    }

    /// Whether something is accepted: an entry fits it, and it holds no more. Remembers which entries fitted.
    pub fn holds_back(&mut self, one: &Accepted) -> bool {
        self.is_used.resize(self.accepted.len(), false);
        let mut is_accepted = false;
        for (accepted, is_used) in self.accepted.iter().zip(&mut self.is_used) {
            if accepted.is_about(one) {
                *is_used = true;
                is_accepted |= one.most_bytes <= accepted.most_bytes;
            }
        }
        is_accepted
    }

    /// Entries that fitted nothing so far.
    pub fn unused(&self) -> Vec<&Accepted> {
        let is_used = |at: usize| self.is_used.get(at).copied().unwrap_or(false);
        self.accepted.iter().enumerate().filter(|(at, _)| !is_used(*at)).map(|(_, accepted)| accepted).collect()
    }
}
