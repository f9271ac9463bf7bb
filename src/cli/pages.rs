//! `highwater pages`: pages that live blocks touch at a moment, and who keeps nearly empty ones in use.

use clap::Args;
use serde::Serialize;

use super::asked::{Asked, Loaded, decides, interval, needs_names, stopped};
use super::blocks_asked::BlocksAsked;
use super::for_programs::ForPrograms;
use super::report::{describe_quality, key_cells, key_columns, stack_notes};
use super::text::{self, Align, Table};
use super::words::one_key;
use super::{Failure, report_problems};
use crate::format;
use crate::model::Quality;
use crate::query::{By, Cancel, Group, HeapPages, PAGE, PagesAnswer, PagesRequest, PinnedPages, pages};
use crate::time_spec::TimeSpec;
use crate::units::Interval;

#[derive(Args, Debug)]
pub(super) struct PagesArgs {
    #[command(flatten)]
    pub(super) blocks: BlocksAsked,

    /// Moment: seconds since the trace start, mark:TEXT or frame:N [default: the trace end]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    at: Option<TimeSpec>,

    /// Group the blocks on sparse pages by these keys
    #[arg(long, value_name = "KEYS", value_parser = one_key(), value_delimiter = ',', default_value = "responsible")]
    by: Vec<By>,

    /// Only the first N groups
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    #[command(flatten)]
    programs: ForPrograms,
}

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    at_s: f64,
    heaps: &'a [HeapPages],
    pinning: &'a [Group<PinnedPages>],
    quality: Quality,
    doubts: &'a [String],
}

/// Heaps and groups in the text output unless `--top` is given.
const SHOWN: usize = 40;

pub(super) fn run(args: &PagesArgs) -> Result<(), Failure> {
    let asked = args.blocks.asked();
    asked.answer("pages", |loaded| answer(args, &asked, loaded))
}

fn answer(args: &PagesArgs, asked: &Asked, loaded: &Loaded) -> Result<(), Failure> {
    let moment = ["the trace start is", "--at is"];
    let at = interval(&loaded.trace, (None, args.at.as_ref()), asked.process(), moment)?.to;
    let loaded = loaded.over(Interval { from: at, to: at });
    let filter = asked.filter();
    let (names, unnamed) =
        if needs_names(&filter, &args.by) { loaded.names_and_missing(asked, &args.by)? } else { Default::default() };
    let index = loaded.index()?;
    let mut doubts = loaded.doubts(asked, &index, (&unnamed, decides(&filter, &args.by, false)))?;
    let top = args.top.or((!args.programs.is_asked()).then_some(SHOWN));
    let request = PagesRequest { at, by: args.by.clone(), filter, top };
    let found = pages(&index, &names, &request, &Cancel::default()).map_err(stopped)?;
    doubts.extend(unreserved(&found));
    let trace = index.trace();
    report_problems(&trace.problems);
    let at_s = trace.clock.seconds(at);
    if let Some(form) = args.programs.form() {
        let PagesAnswer { heaps, pinning, .. } = &found;
        let answer = Answer { schema: "highwater.pages/1", at_s, heaps, pinning, quality: trace.quality, doubts: &doubts };
        return loaded.told.for_programs(form, &answer, &["heaps", "pinning"]);
    }
    loaded.told.text(&(describe(args, at_s, &found) + &describe_quality((trace, &names), loaded.interval, &doubts)))
}

/// The doubt about blocks of which no reservation is known.
fn unreserved(found: &PagesAnswer) -> Option<String> {
    let blocks = found.unreserved_blocks;
    (blocks > 0).then(|| {
        let are = if blocks == 1 { "is" } else { "are" };
        format!(
            "{} {are} in no known reservation, so committed_bytes (Committed) is too low for their heaps",
            format::plural(blocks, "block")
        )
    })
}

/// The pages as text.
fn describe(args: &PagesArgs, at_s: f64, found: &PagesAnswer) -> String {
    let mut text = format!("At {}\n\n", text::seconds(at_s));
    if found.heaps.is_empty() {
        return text + "No blocks of heaps or trackers are alive at this moment.\n";
    }
    let shown = &found.heaps[..found.heaps.len().min(args.top.unwrap_or(SHOWN))];
    text += &heaps_table(shown).text();
    text += &text::more(found.heaps.len() - shown.len(), &format!(" heaps; --top {} shows them", found.heaps.len()));
    text += &sentence(&found.heaps);
    if !found.pinning.is_empty() {
        text += "\nSparse pages that one group alone keeps in use (without its blocks, the heap could give them back):\n";
        text += &pinning_table(&args.by, &found.pinning).text();
        let rest = format!(" groups; --top {} shows them", found.pinning_count);
        text += &text::more(found.pinning_count - found.pinning.len(), &rest);
    }
    text
}

/// The sums of all heaps as a sentence.
fn sentence(heaps: &[HeapPages]) -> String {
    let sum = |of: fn(&HeapPages) -> u64| heaps.iter().map(of).fold(0, u64::saturating_add);
    let (touched, sparse) = (sum(|heap| heap.touched_pages), sum(|heap| heap.sparse_pages));
    format!(
        "\n{}, {} of them sparse (less than a tenth in use). {} of their {} are not in use.\n",
        format::plural(touched, "touched page"),
        format::count(sparse),
        format::bytes(sum(HeapPages::waste)),
        format::bytes(touched.saturating_mul(PAGE))
    )
}

fn heaps_table(heaps: &[HeapPages]) -> Table {
    let keys = ["Process", "Layer", "Heap"].map(|name| (name, Align::Left));
    let numbers = ["Waste", "Live", "Blocks", "Touched", "Sparse", "Committed"].map(|name| (name, Align::Right));
    let mut table = Table::new(keys.into_iter().chain(numbers));
    let lives = heaps.iter().map(|heap| (Some(heap.process.as_str()), Some(heap.pid), heap.process_start_s));
    for (heap, process) in heaps.iter().zip(text::process_names(lives)) {
        let cells = [
            process,
            heap.layer.to_owned(),
            heap.heap.clone().unwrap_or_default(),
            format::bytes(heap.waste()),
            format::bytes(heap.live_bytes),
            format::count(heap.live_blocks),
            format::count(heap.touched_pages),
            format::count(heap.sparse_pages),
            heap.committed_bytes.map_or_else(|| "unknown".to_owned(), format::bytes),
        ];
        table.line(cells.into(), Vec::new());
    }
    table.bars(heaps.iter().map(HeapPages::waste));
    table
}

fn pinning_table(by: &[By], groups: &[Group<PinnedPages>]) -> Table {
    let numbers = ["Pages", "Live"].map(|name| (name, Align::Right));
    let mut table = Table::new(key_columns(by).map(|name| (name, Align::Left)).chain(numbers));
    for (group, mut cells) in groups.iter().zip(key_cells(by, groups)) {
        cells.extend([format::count(group.numbers.pages), format::bytes(group.numbers.live_bytes)]);
        table.line(cells, stack_notes(group));
    }
    table.bars(groups.iter().map(|group| group.numbers.pages));
    table
}
