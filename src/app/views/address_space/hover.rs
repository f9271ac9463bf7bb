//! The place under the pointer: what it is, what a click does, and its menu.

use eframe::egui::{Pos2, Ui};

use super::Mapped;
use super::colors::ColorBy;
use super::draw::{LINE, Measures};
use super::lines::{Line, Lines};
use super::zoom::Direction;
use crate::app::commands::DocCommand;
use crate::app::document::source_of;
use crate::app::state::filters::{Chip, Predicate};
use crate::app::views::ViewContext;
use crate::format;
use crate::model::{HeapId, RowId};
use crate::query::{FunctionId, MapBlock, MapRegion, RowCondition, Sums, heap_label};
use crate::units::Ticks;

/// A place in the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    pub line: usize,
    /// The address under the pointer.
    pub address: u64,
    /// First and last byte of the cell or block.
    pub first: u64,
    pub last: u64,
    /// The region, by its place in the map; whether the pointer is on its label.
    pub region: usize,
    pub is_label: bool,
    pub what: What,
}

/// The kind of thing at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// Reserved addresses, or none at all.
    Nothing,
    /// A cell, by its place in the map.
    Cell(usize),
    /// A block, by its place in the map.
    Block(usize),
}

/// The effect of a click or a menu entry.
pub enum Did {
    /// Show this range.
    Zoom((u64, u64)),
    /// Show the details of a block.
    Select(RowId),
    /// Make the map finer around an address, or coarser.
    Step(Direction, u64),
    /// Filter to the group of a cell.
    Filter(Predicate),
}

impl Spot {
    /// The place at a point of the map, whose first line begins at `corner`.
    pub fn at(mapped: &Mapped, lines: &Lines, measures: Measures, corner: Pos2, point: Pos2) -> Option<Self> {
        let line = ((point.y - corner.y) / LINE).floor();
        let (line, map) = ((line >= 0.0).then_some(line as usize)?, &mapped.map);
        let Line::Cells { region, row, cells, .. } = lines.all.get(line)? else { return None };
        let x = point.x - corner.x - measures.labels;
        let of = &map.regions.get(*region)?.region;
        let base = row.saturating_mul(measures.columns).saturating_mul(map.cell);
        let part = f64::from((x / measures.cell).clamp(0.0, measures.columns as f32 - 0.001));
        let address = base.saturating_add((part * map.cell as f64) as u64);
        let number = address / map.cell;
        let first = number.saturating_mul(map.cell).max(of.first);
        let last = number.saturating_mul(map.cell).saturating_add(map.cell - 1).min(of.last);
        let spot = Self { line, address, first, last, region: *region, is_label: x < 0.0, what: What::Nothing };
        if spot.is_label {
            return Some(spot);
        }
        let block = map.blocks.partition_point(|block| block.last < address);
        if let Some(MapBlock { first, last, .. }) = map.blocks.get(block).filter(|block| block.first <= address) {
            return Some(Self { first: *first, last: *last, what: What::Block(block), ..spot });
        }
        let cell = map.cells[cells.clone()].binary_search_by_key(&number, |cell| cell.number).ok();
        match cell {
            Some(cell) => Some(Self { what: What::Cell(cells.start + cell), ..spot }),
            None => (of.first..=of.last).contains(&address).then_some(spot),
        }
    }

    /// Says what is there.
    pub fn tell(&self, mapped: &Mapped, ui: &mut Ui) {
        let Some(of) = mapped.map.regions.get(self.region) else { return };
        match self.what {
            _ if self.is_label => region(mapped, of, ui),
            What::Block(block) => {
                mapped.map.blocks.get(block).into_iter().for_each(|block| of_block(mapped, block.row, ui));
                ui.weak("Click for its stack");
            }
            What::Cell(cell) => {
                let Some(cell) = mapped.map.cells.get(cell) else { return };
                ui.strong(self.addresses());
                numbers(mapped, &cell.sums, of, ui);
                if let Some(row) = cell.sums.largest {
                    ui.separator();
                    ui.label(if cell.sums.has_blocks() { "Largest block" } else { "Committed range" });
                    of_block(mapped, row, ui);
                }
                ui.weak("Click to filter, Ctrl+wheel to zoom");
            }
            What::Nothing => {
                ui.strong(self.addresses());
                ui.label(if of.region.is_reserved { "Reserved, nothing committed" } else { "No blocks" });
            }
        }
    }

    fn addresses(&self) -> String {
        let bytes = (self.last - self.first).saturating_add(1);
        format!("{:#x} to {:#x}, {}", self.first, self.last, format::bytes(bytes))
    }

    /// The result of a click.
    pub fn click(&self, mapped: &Mapped) -> Option<Did> {
        match self.what {
            _ if self.is_label => mapped.map.regions.get(self.region).map(|of| Did::Zoom((of.region.first, of.region.last))),
            What::Block(block) => mapped.map.blocks.get(block).map(|block| Did::Select(block.row)),
            What::Cell(cell) => {
                let of = mapped.map.regions.get(self.region)?;
                mapped.predicate(&mapped.map.cells.get(cell)?.sums, of).map(Did::Filter)
            }
            What::Nothing => None,
        }
    }

    /// Draws the menu.
    pub fn menu(&self, mapped: &Mapped, context: &mut ViewContext<'_>, ui: &mut Ui) -> Option<Did> {
        let of = mapped.map.regions.get(self.region)?;
        let mut did = None;
        if ui.button("Zoom to this region").clicked() {
            did = Some(Did::Zoom((of.region.first, of.region.last)));
        }
        let row = match self.what {
            What::Block(block) => mapped.map.blocks.get(block).map(|block| block.row),
            What::Cell(cell) => mapped.map.cells.get(cell).and_then(|cell| cell.sums.largest),
            What::Nothing => None,
        };
        let Some(row) = row else { return did };
        if ui.button("Show the block\u{2019}s stack").clicked() {
            did = Some(Did::Select(row));
        }
        ui.separator();
        let address = mapped.kept.trace.rows.get(row).address;
        let one = Predicate::Row(RowCondition::rows([row]), format!("block {address:#x}").into());
        context.offer_filters(ui, "this block", one);
        context.offer_heap(ui, mapped.heap_of(row));
        if let Some(name) = mapped.responsible(row) {
            context.offer_filters(ui, "this function", Predicate::Function(name.as_str().into()));
            context.offer_rules(ui, &name);
        }
        did
    }
}

/// Filters to what was clicked; a second click on the same removes the filter.
pub fn filter(what: Predicate, context: &mut ViewContext<'_>) {
    let chip = Chip::only(what);
    if context.document.filters().chips().contains(&chip) {
        context.commands.push(DocCommand::RemoveChip(chip.what));
    } else {
        context.commands.push(DocCommand::AddChip(chip));
    }
}

fn region(mapped: &Mapped, of: &MapRegion, ui: &mut Ui) {
    let region = &of.region;
    ui.strong(format!("{:#x} to {:#x}", region.first, region.last));
    let kind = if region.is_reserved { "reserved" } else { "from the first to the last of its blocks" };
    ui.label(format!("{} {kind}", format::bytes(region.bytes())));
    if let Some(heap) = region.owner {
        ui.label(format!("Owner: {}", heap_label(mapped.kept.trace.heap(heap))));
    }
    let sums = &region.sums;
    ui.label(live(sums));
    times(mapped, sums, ui);
    ui.weak("Click to zoom to it");
}

/// Live bytes of committed bytes.
fn live(sums: &Sums) -> String {
    let (live, committed) = (format::bytes(sums.live), format::bytes(sums.committed));
    let of = if sums.committed > 0 { format!("{live} of {committed} live") } else { format!("{live} live") };
    let blocks = match sums.blocks {
        0 => String::new(),
        1 => ", 1 block".to_owned(),
        count => format!(", {} blocks", format::count(count)),
    };
    let others = if sums.others > 0 { format!(", {} filtered out", format::bytes(sums.others)) } else { String::new() };
    format!("{of}{blocks}{others}")
}

fn numbers(mapped: &Mapped, sums: &Sums, of: &MapRegion, ui: &mut Ui) {
    let committed = format::bytes(sums.committed);
    if !sums.has_blocks() && of.region.has_blocks() {
        let owner = of.region.owner.map(|heap| heap_label(mapped.kept.trace.heap(heap)));
        owner.into_iter().for_each(|owner| drop(ui.label(owner)));
        ui.label(format!("{committed} committed, without any block"));
        return;
    }
    match sums.group {
        Some(group) => ui.label(mapped.name(group)),
        None => ui.weak("Filtered out"),
    };
    ui.label(if sums.has_blocks() { live(sums) } else { format!("{committed} committed") });
    times(mapped, sums, ui);
}

fn times(mapped: &Mapped, sums: &Sums, ui: &mut Ui) {
    if sums.largest.is_none() {
        return;
    }
    let (oldest, newest) = (mapped.time(sums.oldest), mapped.time(sums.newest));
    ui.weak(if oldest == newest { format!("Allocated: {oldest}") } else { format!("Oldest: {oldest}, newest: {newest}") });
}

fn of_block(mapped: &Mapped, row: RowId, ui: &mut Ui) {
    let of = mapped.kept.trace.rows.get(row);
    ui.strong(format!("{:#x}, {}", of.address, format::bytes(of.size)));
    ui.label(heap_label(mapped.kept.trace.heap(mapped.heap_of(row))));
    ui.label(format!("Allocated: {}", mapped.time(of.birth)));
    if let Some(name) = mapped.responsible(row) {
        ui.label(name);
    }
}

impl Mapped {
    fn time(&self, at: Ticks) -> String {
        format::moment(at, self.kept.trace.clock.seconds(at))
    }

    fn heap_of(&self, row: RowId) -> HeapId {
        let trace = &self.kept.trace;
        trace.site(trace.rows.site(row)).heap
    }

    /// The function that is responsible for a block.
    fn responsible(&self, row: RowId) -> Option<String> {
        let function = self.functions.function(self.functions.responsible(self.kept.trace.rows.site(row)))?;
        Some(self.functions.name(function).to_string())
    }

    /// The filter that a click on a cell adds.
    fn predicate(&self, sums: &Sums, of: &MapRegion) -> Option<Predicate> {
        let heap = |heap: HeapId| {
            let of = self.kept.trace.heap(heap);
            Predicate::Under(source_of(of.process, of.layer, Some(heap)).into())
        };
        // Empty pages belong to the heap that owns the region.
        if !sums.has_blocks() && of.region.has_blocks() {
            return of.region.owner.map(heap);
        }
        let group = sums.group?;
        match self.color_by {
            ColorBy::Responsible if group == super::NO_FUNCTION => None,
            ColorBy::Responsible => Some(Predicate::Function(self.functions.name(FunctionId(group)).to_string().into())),
            ColorBy::Heap | ColorBy::Age => Some(heap(HeapId(group))),
        }
    }
}
