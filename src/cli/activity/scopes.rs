//! `highwater scopes`: the named scopes of programs, each with what its threads allocated in it.

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{LayerListing, process_cell};
use crate::cli::asked::{Asked, IntervalInSeconds, Loaded, stopped};
use crate::cli::text::{self, Align, Table};
use crate::cli::{Failure, output, report_problems_besides_memory};
use crate::model::Quality;
use crate::query::{Cancel, MOST_SCOPES, ScopeEntry, ScopeRequest, layers_of, scope_count, scope_sums};
use crate::units::Layer;
use crate::{export, format};

#[derive(Args, Debug)]
pub(in crate::cli) struct ScopesArgs {
    #[command(flatten)]
    pub(in crate::cli) asked: Asked,

    /// Sort order
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,

    #[command(flatten)]
    listing: LayerListing,
}

/// Orders of scopes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Sort {
    /// Most allocated bytes first
    #[default]
    Allocated,
    /// Most scopes first
    Count,
    /// Most time first
    Length,
    /// By name
    Name,
}

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    interval: IntervalInSeconds,
    layers: &'a [LayerLines],
    quality: Quality,
    doubts: Vec<String>,
}

/// The scopes with their sums for one memory layer.
#[derive(Serialize)]
struct LayerLines {
    layer: &'static str,
    scopes: Vec<ScopeEntry>,
    #[serde(skip)]
    left_out: usize,
}

/// Scopes per layer in the text output unless `--top` is given.
const SHOWN: usize = 40;

pub(in crate::cli) fn run(args: &ScopesArgs) -> Result<(), Failure> {
    args.asked.answer("scopes", |loaded| answer(args, loaded))
}

fn answer(args: &ScopesArgs, loaded: &Loaded) -> Result<(), Failure> {
    report_problems_besides_memory(&loaded.trace.problems);
    let layers = layers(args, loaded)?;
    if args.listing.csv {
        let rows = layers.iter().map(|of| (of.layer, &of.scopes[..]));
        return output::stream(|out| export::scopes_csv(rows, out)).map_err(output::unanswered);
    }
    if let Some(form) = args.listing.programs.form() {
        let interval = IntervalInSeconds::of(&loaded.trace.clock, loaded.interval);
        let (quality, doubts) = (loaded.trace.quality, loaded.doubts_of_rows(&args.asked)?);
        let answer = Answer { schema: "highwater.scopes/1", interval, layers: &layers, quality, doubts };
        return loaded.told.for_programs(form, &answer, &["layers.scopes"]);
    }
    loaded.told.text(&describe(&layers))
}

fn layers(args: &ScopesArgs, loaded: &Loaded) -> Result<Vec<LayerLines>, Failure> {
    let never = Cancel::default();
    let (process, interval) = (args.asked.process(), loaded.interval);
    let all = scope_count(&loaded.trace, interval, process);
    if all == 0 {
        return Ok(Vec::new());
    }
    if all > MOST_SCOPES {
        output::message(&format!(
            "only the first {MOST_SCOPES} of {all} scopes are counted; narrow the interval with --from and --to"
        ));
    }
    let (_, mask) = loaded.named_mask(&args.asked)?;
    let index = loaded.index()?;
    let top = args.listing.most(SHOWN);
    let of_layer = |layer: Layer| {
        let request = ScopeRequest { interval, process, layer, mask: &mask };
        let mut scopes = scope_sums(&index, &request, &never).map_err(stopped)?;
        match args.sort {
            Sort::Allocated => {}
            Sort::Count => scopes.sort_by_key(|scope| std::cmp::Reverse(scope.count)),
            Sort::Length => scopes.sort_by(|a, b| b.length_s.total_cmp(&a.length_s)),
            Sort::Name => scopes.sort_by(|a, b| a.scope.cmp(&b.scope)),
        }
        let left_out = scopes.len().saturating_sub(top);
        scopes.truncate(top);
        Ok(LayerLines { layer: layer.name(), scopes, left_out })
    };
    layers_of(&loaded.trace, None, &mask).into_iter().map(of_layer).collect()
}

/// The answer as text. Names can be long, so their column is the last.
fn describe(layers: &[LayerLines]) -> String {
    if layers.is_empty() {
        return "No scopes. highwater reads those of PIX and UIforETW; record --marks records them.\n".to_owned();
    }
    let mut text = String::new();
    for LayerLines { layer, scopes, left_out } in layers {
        let right = ["Allocated", "Blocks", "Scopes", "Lasted"].map(|name| (name, Align::Right));
        let mut table = Table::new(right.into_iter().chain(["Process", "Scope"].map(|name| (name, Align::Left))));
        for scope in scopes {
            let cells = [
                format::bytes(scope.allocated_size),
                format::count(scope.allocated_count),
                format::count(scope.count),
                text::seconds(scope.length_s),
                process_cell(Some(&scope.process), Some(scope.pid)),
                scope.scope.clone(),
            ];
            table.line(cells.into(), Vec::new());
        }
        let separator = if text.is_empty() { "" } else { "\n" };
        text += &format!("{separator}{layer}\n{}", table.text());
        text += &text::more(*left_out, &format!("; --top {} shows them", scopes.len() + left_out));
    }
    text
}
