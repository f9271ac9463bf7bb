//! Compare: what is different between A and B, two intervals of the open trace, by groups.
//!
//! Cost: that of two reports; behind the graph.

mod panel;
mod sides;
mod table;

use std::sync::Arc;

use eframe::egui::Ui;

use super::{Around, View, ViewId};
use crate::app::document::Document;
use crate::app::jobs::{Ground, drop_aside};
use crate::query::{By, Cancelled, Compared, DiffSide, Group, folded_diff};
use crate::units::Interval;
use sides::Sides;
use table::Order;

/// Groups that are listed at most.
const MOST: usize = 10_000;

/// The same of stacks, each of which can have thousands of frames.
const MOST_STACKS: usize = 1_000;

/// What tells groups apart; the layer always does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Grouping {
    #[default]
    Heap,
    Stack,
    Type,
    Function,
    Module,
    Thread,
}

impl Grouping {
    const ALL: [Self; 6] = [Self::Heap, Self::Stack, Self::Type, Self::Function, Self::Module, Self::Thread];

    fn label(self) -> &'static str {
        match self {
            Self::Heap => "By process and heap",
            Self::Stack => "By stack",
            Self::Type => "By type",
            Self::Function => "By function",
            Self::Module => "By module",
            Self::Thread => "By thread",
        }
    }

    fn by(self) -> &'static [By] {
        match self {
            Self::Heap => &[By::Process, By::Heap],
            Self::Stack => &[By::Stack, By::Function],
            Self::Type => &[By::Type],
            Self::Function => &[By::Function],
            Self::Module => &[By::Module],
            Self::Thread => &[By::Process, By::Thread],
        }
    }

    fn most(self) -> usize {
        if self == Self::Stack { MOST_STACKS } else { MOST }
    }
}

/// What is asked.
pub struct Request {
    sides: [Interval; 2],
    grouping: Grouping,
    search: String,
}

/// What is different.
pub struct Difference {
    sides: [Interval; 2],
    grouping: Grouping,
    groups: Arc<[Group<Compared>]>,
    /// Whether there are more.
    is_cut: bool,
    order: Vec<usize>,
}

/// State of the view.
#[derive(Default)]
pub struct Compare {
    sides: Sides,
    grouping: Grouping,
    order: Order,
    search: String,
    difference: Option<Difference>,
}

impl View for Compare {
    const TITLE: ViewId = "Compare";
    type Request = Request;
    type Answer = Difference;

    fn request(&self, document: &Document) -> Option<Request> {
        let sides = self.sides.of(document)?;
        Some(Request { sides, grouping: self.grouping, search: self.search.trim().to_lowercase() })
    }

    fn answer(_: &Request, _: &mut Ground<'_>, _: &mut dyn FnMut(Difference)) -> Result<(), Cancelled> {
        Ok(())
    }

    fn complete(request: &Request, ground: &mut Ground<'_>, tell: &mut dyn FnMut(Difference)) -> Result<(), Cancelled> {
        let side = |interval| DiffSide { index: &ground.index, interval, mask: &ground.mask, names: ground.names() };
        let (by, most) = (request.grouping.by(), request.grouping.most());
        let sides = request.sides.map(side);
        let mut groups = folded_diff(sides, by, ground.folds(), Some(most + 1), ground.cancel)?;
        let is_cut = groups.len() > most;
        groups.truncate(most);
        if !request.search.is_empty() {
            groups.retain(|group| table::matches(group, &request.search));
        }
        let order = (0..groups.len()).collect();
        tell(Difference { sides: request.sides, grouping: request.grouping, groups: groups.into(), is_cut, order });
        Ok(())
    }

    fn take(&mut self, mut difference: Difference) {
        self.order.sort(&mut difference);
        drop_aside(self.difference.replace(difference));
    }

    fn forget(&mut self) {
        drop_aside(self.difference.take());
    }

    fn show(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::show(self, around, ui);
    }

    fn tools(&mut self, around: &mut Around<'_>, ui: &mut Ui) {
        panel::tools(self, around, ui);
    }

    fn searched(&self) -> Option<&str> {
        Some(&self.search)
    }

    fn search(&mut self, text: String) {
        self.search = text;
    }
}
