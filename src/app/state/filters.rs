//! The filters: predicates, each shown as a chip that the user can remove or invert. A row must meet all of them.
//!
//! The rows that pass the filters are one [`Scope`], and every number in the window refers to it:
//! tables, lines and their headings, sources, landmarks and findings, frames, sums between pins.
//! Numbers of the whole capture (counters, losses, unmatched frees) are not sums of rows, and are
//! labelled so.
//!
//! Predicates about places in the tree, types and functions concern sites, so they become a
//! [`Mask`](crate::query::Mask), which a worker makes in a pass over the sites. Predicates about single
//! rows become a set of rows, which takes one pass over the rows. So do predicates about lifetime
//! classes: they select the rows that have that class in the interval of the tables, whichever interval
//! is looked at.

mod known;

use std::sync::Arc;

use crate::query::{Filter, Key, KeyMap, Path, RowCondition, TypeKey};
use crate::units::{Interval, Tid};
pub use known::Known;

/// A condition on rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Predicate {
    /// Under a node of the tree.
    Under(Path),
    /// Of an allocated type, in a layer.
    Type(TypeKey),
    /// With a function of that name in the stack.
    Function(Arc<str>),
    /// Allocated by a function of that module.
    Module(Arc<str>),
    /// Kept alive by the owner of that name.
    Owner(Arc<str>),
    /// With a stack that rules tag with this name, or that no rule tags.
    Tag(Arc<str>),
    /// A condition on the row itself, with its name for the user.
    Row(RowCondition, Arc<str>),
}

impl Predicate {
    /// Allocated by a thread.
    pub fn thread(thread: Tid) -> Self {
        Self::Row(RowCondition::Thread(thread), format!("thread {thread}").into())
    }
}

/// A predicate that rows must meet, or must not meet if it is excluded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chip {
    pub what: Predicate,
    pub is_excluded: bool,
}

/// The rows that pass the filters: those that count wherever a number is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Scope {
    pub filters: Filters,
    /// The interval for lifetime classes; `None` if no filter uses them.
    pub interval: Option<Interval>,
}

/// All chips; a row must pass every one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filters {
    chips: Vec<Chip>,
}

impl Chip {
    /// Keeps only the rows that meet the predicate.
    pub fn only(what: Predicate) -> Self {
        Self { what, is_excluded: false }
    }

    /// Leaves out the rows that meet the predicate.
    pub fn without(what: Predicate) -> Self {
        Self { what, is_excluded: true }
    }

    /// Whether rows of one site can differ in it.
    fn is_about_rows(&self) -> bool {
        match &self.what {
            Predicate::Row(..) => true,
            Predicate::Under(_) => self.is_about_lives(),
            Predicate::Type(_) | Predicate::Function(_) | Predicate::Module(_) | Predicate::Owner(_) | Predicate::Tag(_) => false,
        }
    }

    /// Whether a row can meet it in one interval and not in another.
    fn is_about_lives(&self) -> bool {
        matches!(&self.what, Predicate::Under(path) if path.iter().any(|key| key.tells_rows_apart()))
    }
}

impl Filters {
    /// Whether nothing is filtered out.
    pub fn is_all(&self) -> bool {
        self.chips.is_empty()
    }

    pub fn chips(&self) -> &[Chip] {
        &self.chips
    }

    /// The nodes that the filters include, as a filter; empty without such a chip.
    pub fn under(&self) -> Filter {
        let node = |chip: &Chip| match &chip.what {
            Predicate::Under(path) if !chip.is_excluded => Some(path.clone()),
            _ => None,
        };
        Filter { any: self.chips.iter().filter_map(node).collect() }
    }

    /// The type that the filters include, if any.
    pub fn chosen_type(&self) -> Option<&TypeKey> {
        self.chips.iter().find_map(|chip| match &chip.what {
            Predicate::Type(key) if !chip.is_excluded => Some(key),
            _ => None,
        })
    }

    /// The scope of these filters while the tables show an interval.
    pub fn scope(&self, interval: Interval) -> Scope {
        let is_needed = self.chips.iter().any(Chip::is_about_lives);
        Scope { filters: self.clone(), interval: is_needed.then_some(interval) }
    }

    /// Whether types must be known to evaluate the filters.
    pub fn need_types(&self) -> bool {
        self.chips.iter().any(|chip| matches!(chip.what, Predicate::Type(_)))
    }

    /// Whether functions must be known to evaluate the filters.
    pub fn need_functions(&self) -> bool {
        let needs = |chip: &Chip| matches!(chip.what, Predicate::Function(_) | Predicate::Module(_) | Predicate::Tag(_));
        self.chips.iter().any(needs)
    }

    /// Whether the tags of stack rules must be known to evaluate the filters.
    pub fn need_tags(&self) -> bool {
        self.chips.iter().any(|chip| matches!(chip.what, Predicate::Tag(_)))
    }

    /// Whether the owners of memory must be known to evaluate the filters.
    pub fn need_owners(&self) -> bool {
        self.chips.iter().any(|chip| matches!(chip.what, Predicate::Owner(_)))
    }

    /// Whether the rows that pass depend on names.
    pub fn need_names(&self) -> bool {
        self.need_types() || self.need_functions() || self.need_owners()
    }

    /// Whether they leave each heap whole or not at all.
    pub fn leave_whole_heaps(&self) -> bool {
        let is_of_heaps = |key: &Key| matches!(key, Key::Process(_) | Key::Layer(_) | Key::Heap(_));
        self.chips.iter().all(|chip| matches!(&chip.what, Predicate::Under(path) if path.iter().all(is_of_heaps)))
    }

    /// Only the chips for which `counts` is true.
    pub fn only(&self, counts: impl Fn(&Chip) -> bool) -> Self {
        Self { chips: self.chips.iter().filter(|chip| counts(chip)).cloned().collect() }
    }

    /// Only the chips about single rows.
    pub fn about_rows(&self) -> Self {
        self.only(Chip::is_about_rows)
    }

    /// Adds a chip. Choosing a node or a type replaces the one chosen before.
    pub fn add(&mut self, chip: Chip) {
        let is_choice = |what: &Predicate| matches!(what, Predicate::Under(_) | Predicate::Type(_));
        let is_of_kind = |other: &Chip| std::mem::discriminant(&other.what) == std::mem::discriminant(&chip.what);
        let gives_way = |other: &Chip| is_choice(&chip.what) && !chip.is_excluded && !other.is_excluded && is_of_kind(other);
        self.chips.retain(|other| other.what != chip.what && !gives_way(other));
        self.chips.push(chip);
    }

    /// Removes the chip of a predicate, if there is one.
    pub fn remove(&mut self, what: &Predicate) {
        self.chips.retain(|chip| chip.what != *what);
    }

    /// Removes the chip that includes a node.
    pub fn remove_node(&mut self) {
        self.chips.retain(|chip| chip.is_excluded || !matches!(chip.what, Predicate::Under(_)));
    }

    /// Inverts the chip of a predicate.
    pub fn turn(&mut self, what: &Predicate) {
        self.chips.iter_mut().filter(|chip| chip.what == *what).for_each(|chip| chip.is_excluded = !chip.is_excluded);
    }

    /// Renumbers the paths in the chips; chips with a path that is gone, or about single rows, are dropped.
    pub fn renumber(&mut self, map: &KeyMap) {
        self.chips.retain_mut(|chip| match &mut chip.what {
            Predicate::Under(path) => map.path(path).map(|new| *path = new).is_some(),
            Predicate::Row(RowCondition::Rows(_), _) => false,
            _ => true,
        });
    }

    /// The paths in all chips.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.chips.iter().filter_map(|chip| match &chip.what {
            Predicate::Under(path) => Some(path),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Key;
    use crate::units::Layer;

    fn node(layer: Layer) -> Predicate {
        Predicate::Under([Key::Layer(layer)].into())
    }

    #[test]
    fn what_is_chosen_takes_the_place_of_what_was_and_what_is_left_out_adds_up() {
        let mut filters = Filters::default();
        filters.add(Chip::only(node(Layer::Heap)));
        filters.add(Chip::only(node(Layer::Commit)));
        assert_eq!(filters.under().any, [Path::from([Key::Layer(Layer::Commit)])]);
        filters.add(Chip::without(node(Layer::Heap)));
        filters.add(Chip::without(node(Layer::Tracker)));
        assert_eq!(filters.chips().len(), 3);
        filters.turn(&node(Layer::Commit));
        assert!(filters.under().is_all(), "it is left out now");
        filters.remove(&node(Layer::Heap));
        filters.add(Chip::only(node(Layer::Tracker)));
        let rest = [Chip::without(node(Layer::Tracker)), Chip::without(node(Layer::Commit))];
        assert_eq!(filters.chips().len(), 2);
        assert!(filters.chips().contains(&rest[1]) && filters.chips().contains(&Chip::only(node(Layer::Tracker))));
        filters.remove_node();
        assert_eq!(filters.chips(), [Chip::without(node(Layer::Commit))]);
    }

    #[test]
    fn two_functions_are_two_conditions() {
        let mut filters = Filters::default();
        filters.add(Chip::only(Predicate::Function("a!f".into())));
        filters.add(Chip::only(Predicate::Function("a!g".into())));
        assert_eq!(filters.chips().len(), 2);
    }
}
