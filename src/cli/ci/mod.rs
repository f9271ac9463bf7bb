//! Broken limits for CI services: annotations of the code ([`github`]) and SARIF ([`sarif`]), both with the file of the
//! repository in which the responsible caller is.

mod github;
pub(super) mod sarif;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::outputs::{check_report, is_stdout, write_report};
use super::{Failure, output};
use crate::limits::SourceRoots;
use crate::query::SourceLine;
use sarif::Log;

/// Options for CI services.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct CiArgs {
    /// Print annotations for this CI service instead of text
    #[arg(long, value_enum, value_name = "SERVICE", conflicts_with_all = ["json", "ndjson"])]
    annotate: Option<Service>,

    /// Write broken limits as SARIF 2.1.0 for code scanning; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(super) sarif: Option<PathBuf>,

    /// Folder of the repository on the machine that built the program, for paths in annotations, SARIF and JUnit;
    /// repeatable [default: GITHUB_WORKSPACE and CI_PROJECT_DIR]
    #[arg(long, value_name = "PATH")]
    source_root: Vec<String>,
}

/// CI services with annotations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Service {
    /// Workflow commands of GitHub Actions
    Github,
}

/// Severity of an annotation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Severity {
    /// A broken limit.
    Error,
    /// A limit that could not be checked, or a doubt about the numbers.
    Warning,
}

/// A remark about a line of the code, or about the whole job.
#[derive(Clone, Debug)]
pub(super) struct Annotation {
    pub(super) severity: Severity,
    pub(super) title: String,
    pub(super) text: String,
    /// File in the repository and line, if known.
    pub(super) at: Option<(String, u32)>,
}

/// Environment variables with the folder of the repository: of GitHub Actions, and of GitLab CI.
const WORKSPACES: [&str; 2] = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"];

impl CiArgs {
    /// The folders in which the repository was when the program was built.
    pub(super) fn roots(&self) -> SourceRoots {
        if self.source_root.is_empty() { workspaces() } else { roots(self.source_root.iter().cloned()) }
    }

    /// Refuses a report that could not be written, before the work begins.
    pub(super) fn check(&self) -> Result<(), Failure> {
        self.sarif.as_deref().map_or(Ok(()), check_report)
    }

    /// The annotations as text for the CI service, if they were asked for.
    pub(super) fn annotated(&self, annotations: impl IntoIterator<Item = Annotation>) -> Option<String> {
        let Service::Github = self.annotate?;
        Some(annotations.into_iter().map(|annotation| github::workflow_command(&annotation) + "\n").collect())
    }

    /// Passes a result on; if the work failed, first prints why as an annotation, if those were asked for.
    pub(super) fn noted(&self, result: Result<(), Failure>) -> Result<(), Failure> {
        let Err(failure) = &result else { return result };
        if !matches!(failure, Failure::LimitBroken) {
            let (severity, title) = (Severity::Error, "highwater".to_owned());
            let annotated = self.annotated([Annotation { severity, title, text: failure.sentence(), at: None }]);
            annotated.map_or(Ok(()), |text| output::document(&text))?;
        }
        result
    }

    /// Writes the report for code scanning, if it was asked for.
    pub(super) fn write_sarif(&self, log: impl FnOnce() -> Log) -> Result<(), Failure> {
        let Some(out) = &self.sarif else { return Ok(()) };
        write_report(out, &log().text()?)
    }

    /// The options that print to standard output.
    pub(super) fn on_stdout(&self) -> impl Iterator<Item = &'static str> {
        let annotate = self.annotate.map(|_| "--annotate");
        annotate.into_iter().chain(self.sarif.as_deref().filter(|out| is_stdout(out)).map(|_| "--sarif -"))
    }
}

/// Refuses more than one answer on standard output.
pub(super) fn check_stdout(answers: impl IntoIterator<Item = &'static str>) -> Result<(), Failure> {
    let answers: Vec<&str> = answers.into_iter().collect();
    match answers.as_slice() {
        [] | [_] => Ok(()),
        several => Err(Failure::BadArguments(format!("{} all go to standard output; choose one", several.join(" and ")))),
    }
}

/// The place of a source line in the repository.
pub(super) fn located(roots: &SourceRoots, source: Option<&SourceLine>) -> Option<(String, u32)> {
    let SourceLine { file, line } = source?;
    Some((roots.relative(file)?, *line))
}

/// A folder as an absolute path, of this machine unless it is one of another system.
fn absolute(path: &str) -> String {
    if SourceRoots::is_absolute(path) {
        return path.to_owned();
    }
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// The folders of the repository that the CI service names.
fn workspaces() -> SourceRoots {
    roots(WORKSPACES.iter().filter_map(|name| std::env::var(name).ok()))
}

fn roots(paths: impl Iterator<Item = String>) -> SourceRoots {
    let paths: Vec<String> = paths.map(|path| absolute(&path)).collect();
    SourceRoots::new(paths.iter().map(String::as_str))
}

/// The URI of a file of the user: relative in the repository where it is known to be there, else where it is on this
/// machine.
pub(super) fn file_uri(roots: &SourceRoots, file: &Path) -> sarif::Uri {
    let absolute = absolute(&file.to_string_lossy());
    match roots.relative(&absolute).or_else(|| workspaces().relative(&absolute)) {
        Some(relative) => sarif::Uri::InRepository(relative),
        None => sarif::Uri::OnMachine(absolute),
    }
}
