//! `highwater frames`: the frames of a game, each with what was allocated and freed in it.

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{LayerListing, chain_line, frames_table};
use crate::cli::asked::{Asked, IntervalInSeconds, Loaded, stopped};
use crate::cli::{Failure, output, report_problems_besides_memory, text};
use crate::export;
use crate::model::{PresentLane, Quality, Trace};
use crate::query::{
    Cancel, ChainEntry, FrameEntry, FrameLine, FrameRequest, frame_lanes, frame_sums, layers_of, sort_by_allocated,
};
use crate::time_spec::main_lane;
use crate::units::Layer;

#[derive(Args, Debug)]
pub(in crate::cli) struct FramesArgs {
    #[command(flatten)]
    pub(in crate::cli) asked: Asked,

    /// Frames of this swap chain, by its address [default: the one with most frames, of a process with memory events]
    #[arg(long, value_name = "HEX", value_parser = address)]
    swap_chain: Option<u64>,

    /// Sort order
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,

    #[command(flatten)]
    listing: LayerListing,
}

/// Orders of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Sort {
    /// By number
    #[default]
    Number,
    /// Most allocated bytes first
    Allocated,
    /// Most freed bytes first
    Freed,
    /// Longest first
    Length,
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| u64::from_str_radix(digits, 16).ok()).flatten().ok_or_else(|| "not an address like 0x1a47ff09d80".to_owned())
}

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
struct Answer<'a> {
    schema: &'static str,
    interval: IntervalInSeconds,
    /// All swap chains.
    chains: Vec<ChainEntry>,
    /// The swap chain whose frames are listed.
    chain: Option<&'a ChainEntry>,
    layers: &'a [LayerLines],
    quality: Quality,
    doubts: Vec<String>,
}

/// The frames with their sums for one memory layer.
#[derive(Serialize)]
struct LayerLines {
    layer: &'static str,
    frames: Vec<FrameEntry>,
    #[serde(skip)]
    left_out: usize,
}

/// Frames per layer in the text output unless `--top` is given.
const SHOWN: usize = 40;

pub(in crate::cli) fn run(args: &FramesArgs) -> Result<(), Failure> {
    args.asked.answer("frames", |loaded| answer(args, loaded))
}

fn answer(args: &FramesArgs, loaded: &Loaded) -> Result<(), Failure> {
    let trace = &loaded.trace;
    report_problems_besides_memory(&trace.problems);
    let lane = lane(args, trace)?;
    let chain = lane.and_then(|(_, lane)| ChainEntry::of(trace, lane, loaded.interval));
    let layers = match lane {
        Some((number, lane)) => layers(args, loaded, (number, lane))?,
        None => Vec::new(),
    };
    if args.listing.csv {
        let rows = chain.iter().flat_map(|chain| layers.iter().map(move |of| (chain, of.layer, &of.frames[..])));
        return output::stream(|out| export::frames_csv(rows, out)).map_err(output::unanswered);
    }
    if let Some(form) = args.listing.programs.form() {
        let interval = IntervalInSeconds::of(&trace.clock, loaded.interval);
        let chains = frame_lanes(trace).into_iter().filter_map(|(_, lane)| ChainEntry::of(trace, lane, loaded.interval));
        let (chains, chain) = (chains.collect(), chain.as_ref());
        let (quality, doubts) = (trace.quality, loaded.doubts_of_rows(&args.asked)?);
        let answer = Answer { schema: "highwater.frames/1", interval, chains, chain, layers: &layers, quality, doubts };
        return loaded.told.for_programs(form, &answer, &["layers.frames"]);
    }
    let Some(chain) = &chain else { return loaded.told.text("No frames.\n") };
    loaded.told.text(&describe(chain, &layers))
}

/// The requested swap chain, by default the main one; `None` if there is none.
fn lane<'t>(args: &FramesArgs, trace: &'t Trace) -> Result<Option<(usize, &'t PresentLane)>, Failure> {
    let process = args.asked.process();
    let Some(address) = args.swap_chain else {
        return Ok(main_lane(trace, process).and_then(|number| Some((number, trace.activity.presents.get(number)?))));
    };
    let is_meant = |lane: &PresentLane| process.is_none_or(|wanted| trace.process(lane.process).is_called(wanted));
    let lanes = frame_lanes(trace);
    let found = lanes.iter().find(|(_, lane)| lane.swap_chain == address && is_meant(lane));
    found.copied().map(Some).ok_or_else(|| {
        let all: Vec<String> = lanes.iter().take(8).map(|(_, lane)| format!("{:#x}", lane.swap_chain)).collect();
        let all = if all.is_empty() { "none with frames".to_owned() } else { all.join(", ") };
        Failure::BadArguments(format!("--swap-chain {address:#x}: there is no such swap chain; there are {all}"))
    })
}

fn layers(args: &FramesArgs, loaded: &Loaded, (number, lane): (usize, &PresentLane)) -> Result<Vec<LayerLines>, Failure> {
    let never = Cancel::default();
    let (_, mask) = loaded.named_mask(&args.asked)?;
    let index = loaded.index()?;
    let trace = index.trace();
    let top = args.listing.most(SHOWN);
    let of_layer = |layer: Layer| {
        let request = FrameRequest { lane: number, interval: loaded.interval, layer, mask: &mask };
        let mut lines = frame_sums(&index, &request, &never).map_err(stopped)?;
        sort(&mut lines, args.sort);
        let frames: Vec<FrameEntry> = lines.iter().take(top).map(|line| FrameEntry::of(trace, line)).collect();
        Ok(LayerLines { layer: layer.name(), left_out: lines.len() - frames.len(), frames })
    };
    let layers = layers_of(trace, Some(lane.process), &mask).into_iter().map(of_layer).collect::<Result<Vec<_>, Failure>>()?;
    let all = lane.ending_in(loaded.interval).len();
    if let Some(told) = layers.first().map(|of| of.frames.len() + of.left_out).filter(|told| *told < all) {
        output::message(&format!("only the first {told} of {all} frames are listed; narrow the interval with --from and --to"));
    }
    Ok(layers)
}

fn sort(lines: &mut [FrameLine], by: Sort) {
    match by {
        Sort::Number => {}
        Sort::Allocated => sort_by_allocated(lines),
        Sort::Freed => lines.sort_by_key(|line| (std::cmp::Reverse(line.sums.freed_size), line.number)),
        Sort::Length => lines.sort_by_key(|line| (std::cmp::Reverse(line.interval.len()), line.number)),
    }
}

/// The answer as text.
fn describe(chain: &ChainEntry, layers: &[LayerLines]) -> String {
    let mut text = chain_line(chain) + "\n";
    if layers.is_empty() {
        text += "The process has no memory in the trace.\n";
    }
    for LayerLines { layer, frames, left_out } in layers {
        text += &format!("\n{layer}\n{}", frames_table(frames.iter()));
        text += &text::more(*left_out, &format!("; --top {} shows them", frames.len() + left_out));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_chains_are_named_by_hexadecimal_addresses() {
        assert_eq!((address("0xABC0"), address("abc0")), (Ok(0xABC0), Ok(0xABC0)));
        for bad in ["", "0x", "g", "-1", "10000000000000000"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
