//! A baseline: the findings and broken limits that a team accepts, in a shared JSON file. An accepted entry is reported
//! again once it holds more bytes than were accepted.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::amount::Amount;
use super::group_check::GroupCheck;
use crate::format::plain;
use crate::model::Trace;
use crate::paths;
use crate::query::Finding;
use crate::toml_file::text_of;

/// Schema name and version of the file.
const SCHEMA: &str = "highwater.baseline/1";
/// Largest file that is read or written, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// A baseline file. The field names are those of the machine interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    schema: String,
    accepted: Vec<Accepted>,
    /// For each entry, whether it matched something so far.
    #[serde(skip)]
    is_used: Vec<bool>,
}

/// An accepted kind of finding, or an accepted broken limit, for one process, layer and responsible caller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accepted {
    /// Name of the process; null for a limit on several processes together.
    pub process: Option<String>,
    /// Layer.
    pub layer: String,
    /// Kind of the finding, or the measure that the rule limits.
    pub kind: String,
    /// `function` of the finding, or of the holder of the broken limit; null without a stack.
    pub responsible: Option<String>,
    /// Bytes of the finding, or the value of the limited measure, rounded up.
    pub most_bytes: u64,
    /// Reason for accepting it, for people who read the file.
    #[serde(default)]
    pub reason: String,
}

impl Accepted {
    /// Returns the entry that accepts a finding.
    pub fn finding(trace: &Trace, finding: &Finding) -> Self {
        Self {
            process: Some(trace.process(finding.process).label()),
            layer: finding.layer.name().to_owned(),
            kind: finding.label().to_owned(),
            responsible: finding.function.clone(),
            most_bytes: finding.bytes,
            reason: String::new(),
        }
    }

    /// Returns the entry that accepts a broken limit.
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

    /// Returns whether both have the same process, layer, kind and responsible caller, whatever their sizes. Process
    /// names match in any case.
    fn is_about(&self, other: &Self) -> bool {
        let name = |one: &Self| one.process.as_deref().map(str::to_ascii_lowercase);
        name(self) == name(other)
            && (&self.layer, &self.kind, &self.responsible) == (&other.layer, &other.kind, &other.responsible)
    }

    /// Describes the entry: `growth of game.exe (heap), game.exe!LoadLevel`.
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
    /// Returns a baseline that accepts all entries. Duplicates become one entry with the largest size.
    pub fn of(all: impl IntoIterator<Item = Accepted>) -> Self {
        let mut baseline = Self { schema: SCHEMA.to_owned(), accepted: Vec::new(), is_used: Vec::new() };
        all.into_iter().for_each(|one| baseline.accept(one));
        baseline
    }

    /// Adds an entry, or raises the accepted size of the one that exists. A reason replaces the earlier one.
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

    /// Removes the entry for this process, layer, kind and caller, whatever its size.
    pub fn forget(&mut self, one: &Accepted) {
        self.accepted.retain(|known| !known.is_about(one));
    }

    /// Returns the entry that accepts `one`, if there is one.
    pub fn entry_of(&self, one: &Accepted) -> Option<&Accepted> {
        self.accepted.iter().find(|known| known.is_about(one) && one.most_bytes <= known.most_bytes)
    }

    /// Reads a baseline file. An error is one line with the file's name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let bad = |why: String| format!("{}: {why}", path.display());
        let text = text_of(path, MAX_FILE).map_err(|reason| bad(format!("cannot be read: {reason}")))?;
        let baseline: Self = serde_json::from_str(&text).map_err(|error| bad(plain(&error.to_string())))?;
        match baseline.schema == SCHEMA {
            true => Ok(baseline),
            false => Err(bad(format!("not a baseline: its schema is not {SCHEMA}"))),
        }
    }

    /// Writes the baseline as JSON text.
    pub fn write(&self, file: &mut File) -> io::Result<()> {
        file.write_all(self.text()?.as_bytes())
    }

    fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Replaces the file at `path`; if that fails, the old file stays intact. An error is one line with the file's
    /// name.
    pub fn keep(&self, path: &Path) -> Result<(), String> {
        let kept = self.text().and_then(|text| paths::keep(path, &text, MAX_FILE));
        kept.map_err(|reason| format!("{} cannot be written: {reason}", path.display()))
    }

    /// Returns whether an entry matches `one` and accepts its size. Records which entries matched.
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

    /// Returns the entries that have matched nothing so far.
    pub fn unused(&self) -> Vec<&Accepted> {
        let is_used = |at: usize| self.is_used.get(at).copied().unwrap_or(false);
        self.accepted.iter().enumerate().filter(|(at, _)| !is_used(*at)).map(|(_, accepted)| accepted).collect()
    }
}
