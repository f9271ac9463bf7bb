//! `--unmatched` of `report` and `export`: frees of what was allocated before the trace, or whose allocation was lost, by who
//! freed.

use serde::Serialize;

use super::asked::{Asked, IntervalInSeconds, Loaded, stopped};
use super::report::ReportArgs;
use super::text::{self, Align, Table};
use super::{Failure, report_problems, symbols};
use crate::format;
use crate::model::{Quality, Trace};
use crate::query::{By, Cancel, Fold, UNMATCHED_KEYS, UnmatchedGroup, UnmatchedRequest, doubts, unmatched, unmatched_sites};

/// The JSON answer; its field names are the machine interface.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    schema: &'static str,
    groups: &'a [UnmatchedGroup],
    quality: Quality,
    doubts: &'a [String],
}

/// Keys of the groups unless others are asked for.
pub(super) const UNMATCHED_BY: [By; 3] = [By::Process, By::Heap, By::Stack];

/// Groups in the text output unless `--top` is given.
const SHOWN: usize = 40;

/// Frees without an allocation, in groups, with what the answer says of the trace.
pub(super) struct Frees {
    /// By size, then by number of frees, both falling.
    pub(super) groups: Vec<UnmatchedGroup>,
    quality: Quality,
    doubts: Vec<String>,
}

impl Frees {
    /// The frees that were asked for; `fold` skips the allocator's frames in functions and modules.
    pub(super) fn of(asked: &Asked, loaded: &Loaded, by: Vec<By>, fold: bool) -> Result<Self, Failure> {
        let trace = &loaded.trace;
        let request = UnmatchedRequest {
            interval: loaded.interval,
            by,
            filter: asked.filter(),
            under: Vec::new(),
            fold: Fold::allocator(fold),
        };
        let sites = unmatched_sites(trace);
        let names = loaded.with_rules(&symbols::names_of_sites(trace, asked.symbols(), sites.iter()));
        let groups = unmatched(trace, &names, &request, &Cancel::default()).map_err(stopped)?;
        let mut doubts = doubts(trace, loaded.interval.to);
        doubts.extend(not_kept(trace));
        Ok(Self { groups, quality: trace.quality, doubts })
    }

    /// The answer for programs.
    pub(super) fn answer(&self) -> Answer<'_> {
        Answer { schema: "highwater.unmatched/1", groups: &self.groups, quality: self.quality, doubts: &self.doubts }
    }
}

/// Checks the arguments as far as that is possible without reading the files.
pub(super) fn check(asked: &Asked, by: &[By]) -> Result<(), String> {
    if let Some(key) = by.iter().find(|key| !UNMATCHED_KEYS.contains(key)) {
        let keys: Vec<&str> = UNMATCHED_KEYS.into_iter().map(By::word).collect();
        return Err(format!("--by {} does not apply to --unmatched, which takes {}", key.word(), keys.join(", ")));
    }
    match asked.choices.about_blocks() {
        Some(option) => Err(format!("{option} does not apply to --unmatched, whose blocks are not known; leave it out")),
        None => Ok(()),
    }
}

/// Prints what `report --unmatched` asks for.
pub(super) fn answer(args: &ReportArgs, loaded: &Loaded) -> Result<(), Failure> {
    let mut frees = Frees::of(&args.asked, loaded, args.groups.by.clone(), args.fold)?;
    report_problems(&loaded.trace.problems);
    if let Some(form) = args.programs.form() {
        frees.groups.truncate(args.groups.top.unwrap_or(usize::MAX));
        return loaded.told.for_programs(form, &frees.answer(), &["groups"]);
    }
    loaded.told.text(&describe(args, loaded, &frees.groups, &frees.doubts))
}

/// The doubt about frees of which the trace keeps only the number.
fn not_kept(trace: &Trace) -> Option<String> {
    let rest = trace.quality.unmatched_frees.saturating_sub(trace.unmatched.len() as u64);
    (rest > 0).then(|| format!("{} not listed: there are too many", format::plural(rest, "further free")))
}

fn describe(args: &ReportArgs, loaded: &Loaded, groups: &[UnmatchedGroup], doubts: &[String]) -> String {
    let IntervalInSeconds { from_s, to_s } = IntervalInSeconds::of(&loaded.trace.clock, loaded.interval);
    let mut text = format!("{} to {}\n\n", text::seconds(from_s), text::seconds(to_s));
    let frees: u64 = groups.iter().map(|group| group.count).sum();
    text += &match frees {
        0 => "Nothing was freed here that was allocated before.\n".to_owned(),
        frees => {
            format!("{} of blocks allocated before the trace, or whose allocation was lost\n\n", format::plural(frees, "free"))
        }
    };
    let shown = &groups[..groups.len().min(args.groups.top.unwrap_or(SHOWN))];
    if !shown.is_empty() {
        text += &table(&args.groups.by, shown).text();
    }
    text += &text::more(groups.len() - shown.len(), &format!(" groups; --top {} shows them", groups.len()));
    text.push('\n');
    doubts.iter().for_each(|doubt| text += &format!("The numbers may be off: {doubt}.\n"));
    text
}

fn table(by: &[By], groups: &[UnmatchedGroup]) -> Table {
    type Cell = fn(&UnmatchedGroup) -> Option<&String>;
    let keys: [(&str, &[By], Cell); 5] = [
        ("Heap", &[By::Heap], |group| group.heap.as_ref()),
        ("Responsible caller", &[By::Responsible, By::Stack], |group| group.responsible.as_ref()),
        ("Responsible module", &[By::ResponsibleModule], |group| group.responsible_module.as_ref()),
        ("Function", &[By::Function], |group| group.function.as_ref()),
        ("Module", &[By::Module], |group| group.module.as_ref()),
    ];
    let keys: Vec<(&str, Cell)> =
        keys.iter().filter(|(_, of, _)| of.iter().any(|key| by.contains(key))).map(|(name, _, cell)| (*name, *cell)).collect();
    let process = by.contains(&By::Process).then_some("Process");
    let columns = process.into_iter().chain(["Layer"]).chain(keys.iter().map(|(name, _)| *name));
    let columns = columns.map(|name| (name, Align::Left)).chain([("Frees", Align::Right), ("Bytes", Align::Right)]);
    let mut table = Table::new(columns);
    let names = text::process_names(groups.iter().map(|group| (group.process.as_deref(), group.pid, group.process_start_s)));
    for (group, name) in groups.iter().zip(names) {
        let name = process.map(|_| name);
        let cells = name.into_iter().chain([group.layer.to_owned()]);
        let cells = cells.chain(keys.iter().map(|(_, cell)| cell(group).cloned().unwrap_or_default()));
        let size = group.size.map_or_else(String::new, format::bytes);
        let frames = group.stack.iter().flatten().rev().cloned().collect();
        table.line(cells.chain([format::count(group.count), size]).collect(), frames);
    }
    table
}
