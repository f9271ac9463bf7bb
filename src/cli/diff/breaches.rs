//! Groups that grew beyond the limit of a comparison.

use crate::cli::ci::{Annotation, Severity, located, sarif};
use crate::cli::ranges::Bytes;
use crate::cli::report::key_cells;
use crate::cli::text::doubtful;
use crate::format;
use crate::limits::SourceRoots;
use crate::query::{By, Compared, Group, SourceLine};

/// Name of the limit as a rule.
const RULE: &str = "diff --fail-over";

/// A group that grew beyond the limit.
pub(super) struct Breach {
    /// Growth and limit in one line.
    pub(super) line: String,
    /// The line of its responsible caller, if that is a key and the line is known.
    source: Option<SourceLine>,
    /// Its responsible caller, if that is a key.
    function: Option<String>,
    /// Its keys, which tell it from others in every run.
    identity: String,
}

/// Whether a group's outstanding bytes at the end grew by more than the limit.
pub(super) fn is_above(group: &Group<Compared>, limit: u64) -> bool {
    u64::try_from(group.numbers.delta.outstanding_to).is_ok_and(|grew| grew > limit)
}

/// The groups that grew by more than the limit.
pub(super) fn breaches(by: &[By], groups: &[Group<Compared>], limit: Bytes) -> Vec<Breach> {
    let grown: Vec<Group<Compared>> = groups.iter().filter(|group| is_above(group, limit.0)).cloned().collect();
    let breach = |(group, cells): (&Group<Compared>, Vec<String>)| {
        let keys = cells.into_iter().filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(" \u{b7} ");
        let innermost = group.stack.as_deref().and_then(<[String]>::last).map(String::as_str);
        let place = innermost.map_or_else(String::new, |frame| format!(" \u{b7} {frame}"));
        let (grew, limit) = (group.numbers.delta.outstanding_to, limit.0);
        let (rounded, most) = (format::signed_bytes(grew), format::signed_bytes(i64::try_from(limit).unwrap_or(i64::MAX)));
        let (rounded, most) = if rounded == most { (format!("+{grew} B"), format!("+{limit} B")) } else { (rounded, most) };
        let keys_in_every_run = [&group.process, &group.responsible, &group.function, &group.module, &group.allocated_type];
        let mut identity = vec![group.layer];
        identity.extend(keys_in_every_run.into_iter().flatten().map(String::as_str).chain(innermost));
        Breach {
            line: format!("{keys}{place}: {rounded} is above the limit {most}"),
            source: group.source.clone(),
            function: group.responsible.clone(),
            identity: identity.join("/"),
        }
    };
    grown.iter().zip(key_cells(by, &grown)).map(breach).collect()
}

/// A breach as an annotation.
pub(super) fn annotation(breach: &Breach, roots: &SourceRoots) -> Annotation {
    Annotation {
        severity: Severity::Error,
        title: "Memory grew".to_owned(),
        text: breach.line.clone(),
        at: located(roots, breach.source.as_ref()),
    }
}

/// The breaches as a report for code scanning. A breach whose line is not known to be in the repository has no place
/// there and is a remark: no file has its limit.
pub(super) fn log(broken: &[Breach], limit: Option<Bytes>, capture: &str, doubts: &[String], roots: &SourceRoots) -> sarif::Log {
    let mut log = sarif::Log { remarks: doubts.iter().map(|doubt| doubtful(doubt)).collect(), ..Default::default() };
    if let Some(limit) = limit {
        log.rules.push(sarif::Rule { name: RULE.to_owned(), limits: format!("growth at most {}", format::bytes(limit.0)) });
    }
    for breach in broken {
        match located(roots, breach.source.as_ref()) {
            Some((file, line)) => log.breaches.push(sarif::Breach {
                rule: 0,
                text: breach.line.clone(),
                file: sarif::Uri::InRepository(file),
                line: line as usize,
                function: breach.function.clone(),
                identity: breach.identity.clone(),
                capture: capture.to_owned(),
            }),
            None => log.remarks.push(breach.line.clone()),
        }
    }
    log
}
