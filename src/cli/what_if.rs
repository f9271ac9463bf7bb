//! `highwater whatif`: pages that other allocators would touch for the recorded requests.

use clap::Args;
use serde::Serialize;

use super::asked::{Asked, Loaded, decides, stopped};
use super::blocks_asked::BlocksAsked;
use super::for_programs::ForPrograms;
use super::report::describe_quality;
use super::text::{self, Align, Table};
use super::words::one_of;
use super::{Failure, report_problems};
use crate::format;
use crate::model::{Clock, Quality};
use crate::query::{ArenaKey, By, Cancel, ModelNumbers, ModelsDone, WhatIfRequest, pool_sentence, what_if};

#[derive(Args, Debug)]
pub(super) struct WhatIfArgs {
    #[command(flatten)]
    pub(super) blocks: BlocksAsked,

    /// Also a pool for each group of blocks by this key, and for single groups
    #[arg(long, value_name = "KEY", value_parser = one_of(&WhatIfRequest::KEYS, By::word))]
    pool_by: Option<By>,

    /// Also an arena for each group of blocks by this key
    #[arg(long, value_name = "KEY", value_parser = one_of(&ArenaKey::ALL, ArenaKey::word))]
    arena_by: Option<ArenaKey>,

    #[command(flatten)]
    programs: ForPrograms,
}

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    models: Vec<Entry>,
    quality: Quality,
    doubts: &'a [String],
}

/// A model; its field names are the machine interface.
#[derive(Serialize)]
struct Entry {
    model: String,
    layer: &'static str,
    /// Whether the allocator's rules are only roughly known.
    approximate: bool,
    peak_touched_bytes: u64,
    waste: u64,
    pinned: u64,
    at_s: f64,
}

pub(super) fn run(args: &WhatIfArgs) -> Result<(), Failure> {
    let asked = args.blocks.asked();
    asked.answer("what if", |loaded| answer(args, &asked, loaded))
}

impl WhatIfArgs {
    /// The keys whose groups need names: pinned pages are told by responsible caller.
    fn keys(&self) -> Vec<By> {
        let arena = self.arena_by.and_then(|key| if let ArenaKey::Key(by) = key { Some(by) } else { None });
        [By::Responsible].into_iter().chain(self.pool_by).chain(arena).collect()
    }

    fn request(&self) -> WhatIfRequest {
        WhatIfRequest { pool_by: self.pool_by, arena_by: self.arena_by }
    }

    fn entry(&self, clock: &Clock, numbers: &ModelNumbers) -> Entry {
        let &ModelNumbers { ref model, layer, at, peak_touched_bytes, waste, pinned } = numbers;
        let approximate = model.is_approximate();
        let (model, layer, at_s) = (model.name(self.request()), layer.name(), clock.seconds(at));
        Entry { model, layer, approximate, peak_touched_bytes, waste, pinned, at_s }
    }
}

fn answer(args: &WhatIfArgs, asked: &Asked, loaded: &Loaded) -> Result<(), Failure> {
    let (filter, keys) = (asked.filter(), args.keys());
    let (names, unnamed) = loaded.names_and_missing(asked, &keys)?;
    let index = loaded.index()?;
    let mut doubts = loaded.doubts(asked, &index, (&unnamed, decides(&filter, &keys, false)))?;
    let trace = index.trace();
    let (request, mask) = (args.request(), filter.mask(trace));
    doubts.extend(request.doubt(trace).map(str::to_owned));
    let found = what_if((&index, &mask, &names), request, &ModelsDone::default(), &Cancel::default()).map_err(stopped)?;
    report_problems(&trace.problems);
    let models: Vec<Entry> = found.iter().map(|numbers| args.entry(&trace.clock, numbers)).collect();
    if let Some(form) = args.programs.form() {
        let answer = Answer { schema: "highwater.whatif/1", models, quality: trace.quality, doubts: &doubts };
        return loaded.told.for_programs(form, &answer, &["models"]);
    }
    let layers = found.chunk_by(|a, b| a.layer == b.layer).map(|models| pool_sentence(models, request));
    let sentences: Vec<Option<String>> = layers.collect();
    loaded.told.text(&(describe(&models, &sentences) + &describe_quality((trace, &names), loaded.interval, &doubts)))
}

/// The meaning of the columns.
const LEGEND: &str = "\
    Touched: pages of 4 KB in which a live block has a byte, when they are most. Waste: their bytes outside of live blocks.\n\
    Pinned: such pages less than a tenth in use, by blocks of one responsible caller.\n";

/// The models as text, with a sentence about each layer.
fn describe(models: &[Entry], sentences: &[Option<String>]) -> String {
    if models.is_empty() {
        return "No blocks of heaps or trackers were recorded.\n".to_owned();
    }
    let layers = models.chunk_by(|a, b| a.layer == b.layer).zip(sentences).map(|(models, sentence)| {
        let sentence = sentence.as_ref().map_or_else(String::new, |sentence| format!("\n{sentence}\n"));
        table(models).text() + &sentence + "\n"
    });
    layers.collect::<String>() + LEGEND
}

fn table(models: &[Entry]) -> Table {
    let keys = ["Layer", "Model"].map(|name| (name, Align::Left));
    let numbers = ["Peak touched", "Waste", "Pinned pages", "At"].map(|name| (name, Align::Right));
    let mut table = Table::new(keys.into_iter().chain(numbers));
    for model in models {
        let name = model.model.clone() + if model.approximate { " (approximate)" } else { "" };
        let cells = [
            model.layer.to_owned(),
            name,
            format::bytes(model.peak_touched_bytes),
            format::bytes(model.waste),
            format::count(model.pinned),
            text::seconds(model.at_s),
        ];
        table.line(cells.into(), Vec::new());
    }
    table.bars(models.iter().map(|model| model.peak_touched_bytes));
    table
}
