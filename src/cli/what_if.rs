//! `highwater whatif`: pages that other allocators would touch for the recorded requests.

use clap::Args;
use serde::Serialize;

use super::asked::{Asked, Loaded, decides, stopped};
use super::blocks_asked::BlocksAsked;
use super::for_programs::ForPrograms;
use super::report::{describe_quality, key_cells};
use super::text::{self, Align, Table};
use super::words::{key_word, one_of};
use super::{Failure, report_problems};
use crate::format;
use crate::model::{Clock, Quality};
use crate::query::{ArenaKey, By, Cancel, Model, ModelNumbers, WhatIfRequest, main_frames, what_if};

#[derive(Args, Debug)]
pub(super) struct WhatIfArgs {
    #[command(flatten)]
    pub(super) blocks: BlocksAsked,

    /// Also a pool for each group of blocks by this key, and for single groups
    #[arg(long, value_name = "KEY", value_parser = one_of(&WhatIfRequest::KEYS, key_word))]
    pool_by: Option<By>,

    /// Also an arena for each group of blocks by this key
    #[arg(long, value_name = "KEY", value_parser = one_of(&ARENAS, arena_word))]
    arena_by: Option<ArenaKey>,

    #[command(flatten)]
    programs: ForPrograms,
}

/// The keys of arenas.
const ARENAS: [ArenaKey; WhatIfRequest::KEYS.len() + 1] = {
    let mut keys = [ArenaKey::Frame; WhatIfRequest::KEYS.len() + 1];
    let mut i = 0;
    while i < WhatIfRequest::KEYS.len() {
        keys[i + 1] = ArenaKey::Key(WhatIfRequest::KEYS[i]);
        i += 1;
    }
    keys
};

fn arena_word(key: ArenaKey) -> &'static str {
    match key {
        ArenaKey::Frame => "frame",
        ArenaKey::Key(by) => key_word(by),
    }
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

    fn name(&self, model: &Model) -> String {
        match model {
            Model::Recorded => "recorded".to_owned(),
            Model::NtHeap => "nt_heap".to_owned(),
            Model::SegmentHeap => "segment_heap".to_owned(),
            Model::Mimalloc => "mimalloc".to_owned(),
            Model::Jemalloc => "jemalloc".to_owned(),
            Model::Pools => format!("pool by {}", self.pool_by.map_or("", key_word)),
            Model::Arenas => format!("arena by {}", self.arena_by.map_or("", arena_word)),
            Model::PoolFor(group) => {
                let by: Vec<By> = self.pool_by.into_iter().collect();
                // Behind the layer stands the key.
                let cells = key_cells(&by, std::slice::from_ref(&**group));
                format!("pool for {}", cells.into_iter().flatten().nth(1).unwrap_or_default())
            }
        }
    }

    fn entry(&self, clock: &Clock, numbers: &ModelNumbers) -> Entry {
        let &ModelNumbers { ref model, layer, at, peak_touched_bytes, waste, pinned } = numbers;
        let approximate = matches!(model, Model::NtHeap | Model::SegmentHeap);
        let (model, layer, at_s) = (self.name(model), layer.name(), clock.seconds(at));
        Entry { model, layer, approximate, peak_touched_bytes, waste, pinned, at_s }
    }
}

fn answer(args: &WhatIfArgs, asked: &Asked, loaded: &Loaded) -> Result<(), Failure> {
    let (filter, keys) = (asked.filter(), args.keys());
    let (names, unnamed) = loaded.names_and_missing(asked, &keys)?;
    let index = loaded.index()?;
    let mut doubts = loaded.doubts(asked, &index, (&unnamed, decides(&filter, &keys, false)))?;
    let trace = index.trace();
    if args.arena_by == Some(ArenaKey::Frame) && main_frames(trace, None).is_none() {
        doubts.push("no frames were recorded, so all blocks of a process are in one arena".to_owned());
    }
    let request = WhatIfRequest { filter, pool_by: args.pool_by, arena_by: args.arena_by };
    let found = what_if(&index, &names, &request, &Cancel::default()).map_err(stopped)?;
    report_problems(&trace.problems);
    let models: Vec<Entry> = found.iter().map(|numbers| args.entry(&trace.clock, numbers)).collect();
    if let Some(form) = args.programs.form() {
        let answer = Answer { schema: "highwater.whatif/1", models, quality: trace.quality, doubts: &doubts };
        return loaded.told.for_programs(form, &answer, &["models"]);
    }
    loaded.told.text(&(describe(&models) + &describe_quality((trace, &names), loaded.interval, &doubts)))
}

/// The meaning of the columns.
const LEGEND: &str = "\
    Touched: pages of 4 KB in which a live block has a byte, when they are most. Waste: their bytes outside of live blocks.\n\
    Pinned: such pages less than a tenth in use, by blocks of one responsible caller.\n";

/// The models as text.
fn describe(models: &[Entry]) -> String {
    if models.is_empty() {
        return "No blocks of heaps or trackers were recorded.\n".to_owned();
    }
    let layers = models.chunk_by(|a, b| a.layer == b.layer).map(|models| table(models).text() + &sentence(models) + "\n");
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

/// The best pool for one group, as a sentence.
fn sentence(models: &[Entry]) -> String {
    let best = models.iter().find(|model| model.model.starts_with("pool for "));
    let bytes = |model: &Entry| format::bytes(model.peak_touched_bytes);
    let pair = best.zip(models.first()).filter(|(best, recorded)| bytes(best) != bytes(recorded));
    pair.map_or_else(String::new, |(best, recorded)| {
        let name = best.model.trim_start_matches("pool for ");
        format!("\nA pool for {name} would take the peak from {} to {}.\n", bytes(recorded), bytes(best))
    })
}
