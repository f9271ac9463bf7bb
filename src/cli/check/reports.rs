//! The result of a check for CI services: JUnit, Markdown, SARIF and annotations.

use std::path::Path;

use super::check_args::CheckArgs;
use super::markdown;
use crate::cli::ci::{Annotation, Severity, file_uri, located, sarif};
use crate::cli::outputs::{check_report, is_stdout, write_report};
use crate::cli::text::doubtful;
use crate::cli::{Failure, output};
use crate::limits::{Breach, SourceRoots, Suite, breaches, junit, limits_line};

impl CheckArgs {
    /// Refuses reports that would replace a file that is read, before the work begins.
    pub(super) fn check_reports(&self) -> Result<(), Failure> {
        [&self.junit, &self.markdown].into_iter().flatten().try_for_each(|out| check_report(out))?;
        self.ci.check()
    }

    /// The options whose answer goes to standard output in place of the text.
    pub(super) fn on_stdout(&self) -> impl Iterator<Item = &'static str> {
        let reports = [(&self.junit, "--junit -"), (&self.markdown, "--markdown -")];
        let reports = reports.into_iter().filter(|(out, _)| out.as_deref().is_some_and(is_stdout)).map(|(_, option)| option);
        let programs = self.programs.is_asked().then_some("JSON");
        programs.into_iter().chain(reports).chain(self.ci.on_stdout())
    }
}

/// Writes the reports that were asked for; `rules` is the file that the rules came from.
pub(super) fn reports(args: &CheckArgs, suites: &[Suite<'_>], rules: &Path) -> Result<(), Failure> {
    let roots = args.ci.roots();
    if let Some(out) = &args.junit {
        write_report(out, &junit(suites, &rules.display().to_string(), &roots).map_err(output::unanswered)?)?;
    }
    if let Some(out) = &args.markdown {
        write_report(out, &markdown::text(suites, &roots))?;
    }
    args.ci.write_sarif(|| log(suites, rules, &roots))
}

/// The annotations of a capture: an error for each breach, a warning for each rule that could not be checked in full
/// and for each doubt. With `is_named` they name the capture.
pub(super) fn annotations(suite: &Suite<'_>, is_named: bool, roots: &SourceRoots) -> Vec<Annotation> {
    let named = |text: String| if is_named { format!("{}: {text}", suite.capture) } else { text };
    let error = |breach: Breach<'_>| Annotation {
        severity: Severity::Error,
        title: breach.rule.name.clone(),
        text: named(breach.line()),
        at: located(roots, breach.source()),
    };
    let warning = |title: &str, text: String| Annotation {
        severity: Severity::Warning,
        title: title.to_owned(),
        text: named(text),
        at: None,
    };
    let errors = suite.checked.iter().flat_map(breaches).map(error);
    let skipped = suite
        .checked
        .iter()
        .filter_map(|checked| Some(warning(&checked.rule.name, format!("not checked in full: {}", checked.unchecked()?))));
    let doubts = suite.doubts.iter().map(|doubt| warning("highwater", doubtful(doubt)));
    errors.chain(skipped).chain(doubts).collect()
}

/// The report for code scanning, of all captures together.
fn log(suites: &[Suite<'_>], rules: &Path, roots: &SourceRoots) -> sarif::Log {
    let mut log = sarif::Log::default();
    for suite in suites {
        let named = |text: String| if suites.len() > 1 { format!("{}: {text}", suite.capture) } else { text };
        log.remarks.extend(suite.doubts.iter().map(|doubt| named(doubtful(doubt))));
        for (at, checked) in suite.checked.iter().enumerate() {
            // All captures are checked against the same rules.
            if log.rules.len() == at {
                let limits = limits_line(checked.rule);
                log.rules.push(sarif::Rule { name: checked.rule.name.clone(), limits });
            }
            if let Some(reason) = checked.unchecked() {
                log.remarks.push(named(format!("rule {} was not checked in full: {reason}", checked.rule.name)));
            }
            log.breaches.extend(breaches(checked).map(|breach| {
                let (file, line) = match located(roots, breach.source()) {
                    Some((file, line)) => (sarif::Uri::InRepository(file), line as usize),
                    None => (file_uri(roots, rules), breach.rule.line),
                };
                sarif::Breach {
                    rule: at,
                    text: named(breach.line()),
                    file,
                    line,
                    function: breach.holder().map(|holder| holder.function.clone()),
                    identity: identity(&breach),
                    capture: suite.capture.clone(),
                }
            }));
        }
    }
    log
}

/// Rule, process, layer, limit and responsible caller, which tell a breach from others in every run.
fn identity(breach: &Breach<'_>) -> String {
    let Ok(broken) = &breach.what else { return format!("{}/required", breach.rule.name) };
    let process = broken.group.process.as_deref().unwrap_or_default();
    let function = breach.holder().map_or("", |holder| &holder.function);
    [&breach.rule.name, process, broken.group.layer, broken.group.numbers.measure, function].join("/")
}
