//! `--each`: an answer for each capture, if the files belong to several. Without it, the captures are listed and
//! nothing is answered.

use clap::Args;
use serde::Serialize;

use super::for_programs::Form;
use super::{Failure, cannot_open, output};
use crate::format::plural;
use crate::load::{Capture, Input, Opened};

/// Options for an answer of each capture.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(super) struct Each {
    /// Answer for each capture separately if the files belong to several
    #[arg(long)]
    each: bool,
}

/// How the answer about a capture is printed.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// The files of the capture, with `--each`.
    files: Option<Vec<String>>,
}

/// A JSON answer that names its files; the field names are the machine interface.
#[derive(Serialize)]
struct OfFiles<'a, T> {
    files: &'a [String],
    #[serde(flatten)]
    answer: &'a T,
}

impl Told {
    /// The files of the capture, if the answer has to name them.
    pub(super) fn files(&self) -> Option<&[String]> {
        self.files.as_deref()
    }

    /// Prints an answer as text.
    pub(super) fn text(&self, text: &str) -> Result<(), Failure> {
        match &self.files {
            Some(files) => output::answer(&format!("== {}\n{text}\n", files.join(" + "))),
            None => output::answer(text),
        }
    }

    /// Prints an answer for programs; `lists` names its lists.
    pub(super) fn for_programs(&self, form: Form, answer: &impl Serialize, lists: &[&str]) -> Result<(), Failure> {
        match &self.files {
            Some(files) => output::for_programs(form, &OfFiles { files, answer }, lists),
            None => output::for_programs(form, answer, lists),
        }
    }
}

impl Each {
    /// Whether each capture is answered about.
    pub(super) fn is_asked(self) -> bool {
        self.each
    }

    /// Refuses `--each` for a command with a single output.
    pub(super) fn refuse(self) -> Result<(), Failure> {
        match self.each {
            true => Err(Failure::BadArguments("--each works only for printed answers; name the files of one capture".to_owned())),
            false => Ok(()),
        }
    }

    /// Answers about the capture that the files belong to, or with `--each` about each of several. If one of several
    /// cannot be read, or lacks what is named, a line reports that and the others are answered. A limit that one of
    /// them breaks is broken.
    pub(super) fn answer(
        self,
        inputs: &[Input],
        mut answer: impl FnMut(&Capture, &Told) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut all = Capture::open_all(inputs, &mut |_, _| true).map_err(cannot_open)?;
        if !self.each && all.len() > 1 {
            return Err(Failure::SeveralCaptures(all.iter().map(Opened::describe).collect()));
        }
        let count = all.len();
        let (mut refused, mut failed, mut is_broken) = (0, 0, false);
        for Opened { capture, .. } in all.drain(..) {
            let files: Vec<String> = capture.files.iter().map(|file| file.name.clone()).collect();
            let name = files.join(" + ");
            let told = Told { files: self.each.then_some(files) };
            match answer(&capture, &told) {
                other if count == 1 => return other,
                Ok(()) => {}
                Err(Failure::LimitBroken) => is_broken = true,
                Err(failure) => {
                    match failure {
                        Failure::BadArguments(_) => refused += 1,
                        _ => failed += 1,
                    }
                    output::error(&failure.line_about(&name));
                }
            }
        }
        let of = plural(count as u64, "capture");
        match () {
            () if failed > 0 => Err(Failure::Failed(format!("{failed} of {of} could not be read"))),
            () if is_broken => Err(Failure::LimitBroken),
            () if refused == count => Err(Failure::BadArguments(format!("none of {of} has what the filters name"))),
            () => Ok(()),
        }
    }
}
