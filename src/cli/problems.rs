//! Problems of a capture, as messages.

use super::output;
use crate::problem::{Problem, ProblemKind};
use crate::query::is_doubt;

/// Prints one line to stderr for each file with problems: the first problem, and how many more there are.
pub(super) fn report_problems(problems: &[Problem]) {
    let mut told: Vec<&str> = Vec::new();
    for problem in problems {
        if told.contains(&problem.file.as_str()) {
            continue;
        }
        told.push(&problem.file);
        let others = problems.iter().filter(|other| other.file == problem.file).count() - 1;
        output::message(&problem_line(problem, others));
    }
}

/// Calls [`report_problems`] with the problems that are not reported as doubts.
pub(super) fn report_other_problems(problems: &[Problem]) {
    report_those(problems, |kind| !is_doubt(kind));
}

/// Calls [`report_problems`] for an answer that is not about memory: that there are no memory events does not matter.
pub(super) fn report_problems_besides_memory(problems: &[Problem]) {
    report_those(problems, |kind| kind != ProblemKind::NoMemoryEvents);
}

fn report_those(problems: &[Problem], is_of_interest: impl Fn(ProblemKind) -> bool) {
    report_problems(&problems.iter().filter(|problem| is_of_interest(problem.kind)).cloned().collect::<Vec<_>>());
}

fn problem_line(problem: &Problem, others: usize) -> String {
    let Problem { kind, file, detail, .. } = problem;
    // A problem that kept a file from being opened names the file itself.
    let named = matches!(kind, ProblemKind::UnreadableFile | ProblemKind::ClockMismatch);
    let sentence = if named { detail.clone() } else { format!("{file}: {detail}") };
    match others {
        0 => sentence,
        1 => format!("{sentence} (1 more problem: see highwater info)"),
        n => format!("{sentence} ({n} more problems: see highwater info)"),
    }
}
