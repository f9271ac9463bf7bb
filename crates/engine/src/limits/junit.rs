//! The results as JUnit XML, which CI services display. Each rule is one test case, however many groups it has: pids
//! and handles differ between runs, and a test history needs stable names. The place of the first breach in the
//! repository, if it is known to be there, is the test case's `file` and `line`, which GitLab and others link.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::check::{Checked, Outcome};
use super::source_roots::SourceRoots;
use super::text::{breach_lines, breaches};
use crate::format::{self, plain};

/// Broken limits listed per rule, at most.
const SHOWN: usize = 100;

/// The results for one capture.
pub struct Suite<'a> {
    /// The rules with their results.
    pub checked: Vec<Checked<'a>>,
    /// Name of the capture.
    pub capture: String,
    /// Reasons to doubt the capture's numbers.
    pub doubts: Vec<String>,
}

/// Returns the XML text. `file` is the file that the rules came from.
pub fn junit(captures: &[Suite<'_>], file: &str, roots: &SourceRoots) -> Result<String, String> {
    let mut report = Report::new("highwater check");
    captures.iter().for_each(|capture| _ = report.add_test_suite(suite(capture, file, roots)));
    report.to_string().map_err(|error| error.to_string())
}

fn suite(Suite { checked, capture, doubts }: &Suite<'_>, file: &str, roots: &SourceRoots) -> TestSuite {
    let mut suite = TestSuite::new(plain(capture));
    if !doubts.is_empty() {
        let lines: Vec<String> = doubts.iter().map(|doubt| format!("The numbers may be off: {}", plain(doubt))).collect();
        suite.set_system_out(lines.join("\n"));
    }
    for rule in checked {
        let mut case = TestCase::new(plain(&rule.rule.name), status(rule));
        case.set_classname(plain(file));
        case.set_assertions(rule.checks.len());
        let source = breaches(rule).next().and_then(|breach| breach.source());
        if let Some((file, line)) = source.and_then(|line| Some((roots.relative(&line.file)?, line.line))) {
            case.extra.insert("file".into(), plain(&file).into());
            case.extra.insert("line".into(), line.to_string().into());
        }
        if let Some(reason) = rule.reason.as_deref().filter(|_| rule.outcome != Outcome::Skipped) {
            case.set_system_out(plain(reason));
        }
        suite.add_test_case(case);
    }
    suite
}

fn status(checked: &Checked<'_>) -> TestCaseStatus {
    let reason = checked.reason.as_deref().map(plain);
    match checked.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Skipped => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(reason.unwrap_or_default());
            status
        }
        Outcome::Broken => {
            let mut rest = breach_lines(checked);
            let mut lines: Vec<String> = rest.by_ref().take(SHOWN).collect();
            match rest.count() {
                0 => {}
                more => lines.push(format!("… and {} more", format::count(more as u64))),
            }
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("limit").set_message(lines.first().cloned().unwrap_or_default());
            status.set_description(lines.join("\n"));
            status
        }
    }
}
