//! Findings that a team knows and accepts, as a JSON file that it shares. What holds more bytes than were accepted is
//! told again.

use std::io::{Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cli::outputs::write_out;
use crate::cli::{Failure, text};
use crate::format::{self, plain};
use crate::model::Trace;
use crate::paths::{self, Existing};
use crate::query::Finding;

/// Version of the file.
const SCHEMA: &str = "highwater.baseline/1";
/// Bytes of a file at most.
const MAX_FILE: u64 = 16 << 20;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Baseline {
    schema: String,
    accepted: Vec<Accepted>,
}

/// What is accepted: findings of a kind, process, layer and responsible caller.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Accepted {
    process: String,
    layer: String,
    kind: String,
    /// As `function` of a finding; null where no stack tells.
    responsible: Option<String>,
    most_bytes: u64,
    /// Why, for whoever reads the file.
    #[serde(default)]
    reason: String,
}

/// What a baseline did to a list of findings.
pub(super) struct Held {
    /// Findings that were held back.
    pub(super) count: usize,
    /// Entries that fit no finding.
    pub(super) unused: Vec<Accepted>,
}

impl Accepted {
    fn of(trace: &Trace, finding: &Finding) -> Self {
        Self {
            process: trace.process(finding.process).label(),
            layer: finding.layer.name().to_owned(),
            kind: finding.kind.name().to_owned(),
            responsible: finding.function.clone(),
            most_bytes: finding.bytes,
            reason: String::new(),
        }
    }

    /// Whether it is about the same, whatever that holds.
    fn is_about(&self, other: &Self) -> bool {
        self.process.eq_ignore_ascii_case(&other.process)
            && (&self.layer, &self.kind, &self.responsible) == (&other.layer, &other.kind, &other.responsible)
    }
}

impl Baseline {
    /// All of some findings, each place with the most that it holds.
    pub(super) fn of(trace: &Trace, findings: &[Finding]) -> Self {
        let mut accepted: Vec<Accepted> = Vec::new();
        for one in findings.iter().map(|finding| Accepted::of(trace, finding)) {
            match accepted.iter_mut().find(|known| known.is_about(&one)) {
                Some(known) => known.most_bytes = known.most_bytes.max(one.most_bytes),
                None => accepted.push(one),
            }
        }
        Self { schema: SCHEMA.to_owned(), accepted }
    }

    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let bad = |why: String| Failure::BadArguments(format!("{}: {why}", path.display()));
        let mut text = String::new();
        let file = paths::open_regular(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
        let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
        match read.map_err(|error| bad(format!("cannot be read: {error}")))? as u64 {
            bytes if bytes > MAX_FILE => return Err(bad(format!("larger than {}", format::bytes(MAX_FILE)))),
            _ => {}
        }
        let baseline: Self = serde_json::from_str(&text).map_err(|error| bad(plain(&error.to_string())))?;
        match baseline.schema == SCHEMA {
            true => Ok(baseline),
            false => Err(bad(format!("not a baseline: its schema is not {SCHEMA}"))),
        }
    }

    pub(super) fn write(&self, path: &Path, existing: Existing) -> Result<(), Failure> {
        write_out(path, existing, "the baseline", |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }

    /// Takes accepted findings out of a list.
    pub(super) fn hold_back(self, trace: &Trace, findings: &mut Vec<Finding>) -> Held {
        let mut is_used = vec![false; self.accepted.len()];
        let before = findings.len();
        findings.retain(|finding| {
            let found = Accepted::of(trace, finding);
            let mut is_accepted = false;
            for (accepted, is_used) in self.accepted.iter().zip(&mut is_used) {
                if accepted.is_about(&found) {
                    *is_used = true;
                    is_accepted |= found.most_bytes <= accepted.most_bytes;
                }
            }
            !is_accepted
        });
        let unused = self.accepted.into_iter().zip(is_used).filter(|(_, is_used)| !is_used).map(|(accepted, _)| accepted);
        Held { count: before - findings.len(), unused: unused.collect() }
    }
}

impl Held {
    /// In sentences.
    pub(super) fn told(&self) -> String {
        let mut text = match self.count {
            0 => String::new(),
            count => format!("\n{} held back by the baseline.\n", text::plural(count as u64, "finding")),
        };
        for Accepted { process, layer, kind, responsible, .. } in &self.unused {
            let responsible = responsible.as_deref().unwrap_or("no stack");
            let entry = format!("{kind} of {process} ({layer}), {responsible}");
            text += &format!("The baseline's entry fits nothing: {}.\n", plain(&entry));
        }
        text
    }
}
