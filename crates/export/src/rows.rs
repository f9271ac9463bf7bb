//! Single allocations, as CSV or as lines of JSON: one line per allocation that takes part in the interval, in the order of
//! births.
//!
//! Cost: a pass over the rows on one thread, and a look at the frames of a site where the last [`MOST_KEPT`] sites do not include
//! it.

use std::io::Write;
use std::sync::Arc;

use serde::Serialize;

use super::csv::joined;
use super::{ExportError, Exported, csv_cell, csv_line};
use crate::model::{Chunk, SiteId};
use crate::query::{LifetimeClass, allocated_type, stack_labels};
use crate::tables::KeyedMap;
use crate::units::Ticks;

/// Largest number of sites whose texts are kept.
const MOST_KEPT: usize = 1 << 12;

/// Rows between two checks for a cancelled export.
const CHECKED: usize = 1 << 16;

/// The part of an allocation that all allocations of a site share.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct SiteTexts {
    process: String,
    pid: u32,
    process_start_s: Option<f64>,
    layer: &'static str,
    /// The tracker's name or the handle in hex; `None` for commit.
    heap: Option<String>,
    #[serde(rename = "type")]
    allocated_type: Option<String>,
    /// The outermost frame first.
    stack: Vec<String>,
}

/// An allocation; the field names are the machine interface.
#[derive(Serialize)]
struct Allocation<'a> {
    #[serde(flatten)]
    site: &'a SiteTexts,
    thread: Option<u32>,
    address: String,
    size: u64,
    /// `None` before the trace.
    birth_s: Option<f64>,
    /// `None` if its free was not seen.
    death_s: Option<f64>,
}

/// Writes allocations as CSV.
pub fn rows_csv(exported: &Exported<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    let of_site = ["process", "pid", "process_start_s", "layer", "heap", "type", "stack"];
    let of_row = ["thread", "address", "size", "birth_s", "death_s"];
    csv_line(out, of_site.iter().chain(&of_row).map(|name| (*name).to_owned()))?;
    each(exported, |Allocation { site, thread, address, size, birth_s, death_s }| {
        fn number<T: ToString>(number: Option<T>) -> String {
            number.map_or_else(String::new, |number| number.to_string())
        }
        let SiteTexts { process, pid, process_start_s, layer, heap, allocated_type, stack } = site;
        let cells = [
            csv_cell(process),
            pid.to_string(),
            number(*process_start_s),
            (*layer).to_owned(),
            heap.as_deref().map_or_else(String::new, csv_cell),
            allocated_type.as_deref().map_or_else(String::new, csv_cell),
            joined(stack),
            number(thread),
            address,
            size.to_string(),
            number(birth_s),
            number(death_s),
        ];
        Ok(csv_line(out, cells)?)
    })
}

/// Writes allocations as JSON, one object in a line.
pub fn rows_ndjson(exported: &Exported<'_>, out: &mut dyn Write) -> Result<(), ExportError> {
    each(exported, |allocation| {
        serde_json::to_writer(&mut *out, &allocation)?;
        Ok(out.write_all(b"\n")?)
    })
}

/// Calls `each` with all allocations that take part.
fn each(exported: &Exported<'_>, mut each: impl FnMut(Allocation<'_>) -> Result<(), ExportError>) -> Result<(), ExportError> {
    let trace = exported.trace();
    let (interval, chosen) = (exported.interval(), exported.index.chosen());
    let takes_part = |chunk: &Chunk<'_>, at: usize| {
        let Some(class) = LifetimeClass::of(chunk.birth(at), chunk.death(at), interval) else { return false };
        exported.mask.has(chunk.sites()[at], class) && chosen.is_none_or(|chosen| chosen.has(chunk.id(at)))
    };
    let seconds = |at: Ticks| (at > Ticks::BEFORE_TRACE && at < Ticks::NEVER).then(|| trace.clock.seconds(at));
    let mut kept: KeyedMap<SiteId, Arc<SiteTexts>> = KeyedMap::default();
    for index in 0..trace.rows.chunks().len() {
        let chunk = trace.rows.chunk(index);
        for at in 0..chunk.len() {
            if at % CHECKED == 0 {
                exported.cancel.check()?;
            }
            if !takes_part(&chunk, at) {
                continue;
            }
            let site = chunk.sites()[at];
            if kept.len() >= MOST_KEPT && !kept.contains_key(&site) {
                kept.clear();
            }
            let texts = kept.entry(site).or_insert_with(|| Arc::new(texts(exported, site)));
            let thread = Some(chunk.thread(at)).filter(|thread| thread.is_known()).map(|thread| thread.0);
            each(Allocation {
                site: texts,
                thread,
                address: format!("{:#x}", chunk.address(at)),
                size: chunk.size(at),
                birth_s: seconds(chunk.birth(at)),
                death_s: seconds(chunk.death(at)),
            })?;
        }
    }
    Ok(())
}

fn texts(exported: &Exported<'_>, site: SiteId) -> SiteTexts {
    let (trace, names) = (exported.trace(), exported.names);
    let site = trace.site(site);
    let heap = trace.heap(site.heap);
    let process = trace.process(heap.process);
    SiteTexts {
        process: process.label(),
        pid: process.pid.0,
        process_start_s: process.start.map(|at| trace.clock.seconds(at)),
        layer: heap.layer.name(),
        heap: heap.key(),
        allocated_type: allocated_type(trace, names, site).map(str::to_owned),
        stack: stack_labels(trace, names, site),
    }
}
