//! Names that are made to cost much: as long as an event has room for, repeated for each frame, and looked at by each
//! rule.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use highwater::export::{Exported, Format, Value, write};
use highwater::load::{Capture, Input, Unwatched, load};
use highwater::query::{By, Cancel, Fold, Functions, Index, ReportFilter, ReportRequest, tags};
use highwater::stack_rules::{FoldRule, StackRules, TagRule};
use highwater::symbols::Names;

use super::common::hostile_names::all_called;
use super::{Bound, bound};

#[rustfmt::skip]
pub const INPUTS: [Bound; 3] = [
    bound("long names under 500 stacks, written", || long(500), (written_short, "no longer than it may be"), 20.0, 200),
    bound("long names under 3,000 stacks, written", || long(3_000), (written_short, "no longer than it may be"), 40.0, 300),
    bound("long names under 500 stacks, 1,000 rules", || long(500), (ruled, "tags"), 20.0, 100),
];

fn long(stacks: u64) -> Vec<u8> {
    all_called(&"n".repeat(30_000), stacks)
}

/// Counts what is written.
struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens and loads it, and writes it by stack in each format that spells out frames.
fn written_short(path: &Path) -> String {
    /// A frame, which takes 8 bytes of a file, takes a name.
    const MOST_A_BYTE: u64 = 100;
    const MOST_BESIDES: u64 = 4 << 20;
    let (never, names) = (Cancel::default(), Names::default());
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let bytes = capture.bytes();
    let trace = Arc::new(load(&capture, &mut Unwatched).unwrap());
    let index = Index::for_one_question(Arc::clone(&trace), &never).unwrap();
    let by = vec![By::Process, By::Heap, By::Stack];
    let filter = ReportFilter { layer: Some(highwater::units::Layer::Heap), ..ReportFilter::default() };
    let request = ReportRequest { interval: trace.span, by, filter, top: None, fold: Fold::Nothing, sources: false };
    let exported = Exported::new(&index, &names, &request, &never).unwrap();
    let sizes = [Format::Json, Format::Csv, Format::Firefox, Format::Folded, Format::Speedscope, Format::Pprof].map(|format| {
        let mut out = Counted(0);
        write(&exported, format, Value::Outstanding, &mut out).unwrap();
        (format.name(), out.0)
    });
    let most = MOST_A_BYTE * bytes + MOST_BESIDES;
    match sizes.iter().find(|(_, size)| *size > most) {
        Some((format, size)) => format!("{size} bytes of {format} of {bytes}, at most {most}"),
        None => "no longer than it may be".to_owned(),
    }
}

/// Opens and loads it, and asks for functions and tags by as many rules as there can be, none of which fits.
fn ruled(path: &Path) -> String {
    let never = Cancel::default();
    let capture = Capture::open(&[Input::File(path.to_owned())]).unwrap();
    let trace = load(&capture, &mut Unwatched).unwrap();
    let pattern = |n: usize| format!("*n*n*n*!*{n}z*");
    let folds = (0..500).map(|n| FoldRule { frame: pattern(n) }).collect();
    let rules = (500..1_000).map(|n| TagRule::new(pattern(n), format!("t{n}"))).collect();
    let names = Names::default().with_rules(Arc::new(StackRules::new(folds, rules).unwrap()));
    let folded = Functions::of(&trace, &names, Fold::Allocator, &never).unwrap();
    let functions = Functions::of(&trace, &names, Fold::Nothing, &never).unwrap();
    let named = tags(&functions, &never).unwrap();
    assert_eq!(&**named.name(named.of_site(highwater::model::SiteId(0))), highwater::stack_rules::NO_TAG);
    format!("tags of {} functions, {} folded", functions.len(), folded.len())
}
