//! How soon the first trace of some files is there, if they are loaded as in the window.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::{Failure, Figures, open};
use crate::load::{Input, Plan, Preview, Watch, load_planned};
use crate::model::Trace;

/// An observer that notes when the first trace comes.
#[derive(Clone)]
struct First {
    begin: Instant,
    /// Seconds until then.
    came: Arc<OnceLock<f64>>,
    shown_to: i64,
}

impl Watch for First {
    fn progress(&mut self, _done: u64, _total: u64) -> bool {
        true
    }

    fn publish(&mut self, _trace: Trace) {
        self.came.get_or_init(|| self.begin.elapsed().as_secs_f64());
    }

    fn shown_to(&self) -> i64 {
        self.shown_to
    }
}

/// Loads the files, with a preview or without.
pub(super) fn measure(inputs: &[Input], with_preview: bool, figures: &mut Figures) -> Result<(), Failure> {
    let begin = Instant::now();
    let mut watch = First { begin, came: Arc::default(), shown_to: i64::MIN };
    let preview = if with_preview { Preview::start(inputs, Plan::default(), watch.clone()) } else { None };
    let capture = open(inputs)?;
    figures.open_s = begin.elapsed().as_secs_f64();
    let shown_to = preview.and_then(Preview::end);
    figures.has_preview = shown_to.is_some();
    watch.shown_to = shown_to.unwrap_or(watch.shown_to);
    let Ok(trace) = load_planned(&capture, &Plan::default(), &mut watch) else { return Ok(()) };
    figures.load_s = begin.elapsed().as_secs_f64() - figures.open_s;
    figures.first_s = watch.came.get().copied().unwrap_or(figures.open_s + figures.load_s);
    figures.note(&trace);
    Ok(())
}
