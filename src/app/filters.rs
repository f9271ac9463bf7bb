//! What is filtered: predicates, each a chip that the user can take away or turn round. A row
//! must meet all of them.
//!
//! What they leave is one [`Scope`], and every number of the window is of it: tables, lines and their
//! headings, sources, landmarks and findings, frames, sums between pins. What is of the whole capture
//! (counters, losses, frees of unknown blocks) is no sum of rows, and says so where it stands.
//!
//! Predicates about places in the tree, types and functions are about sites, so they are a
//! [`Mask`](crate::query::Mask), made by a worker in a pass over the sites. Those about rows themselves are a set
//! of rows, which takes a pass over the rows, once; so are those about lifetime classes, which are of the
//! rows that have that class in the interval of the tables, wherever these are looked at.

mod known;

use std::sync::Arc;

pub use known::Known;

use crate::query::{Filter, KeyMap, Path, RowCondition, TypeKey};
use crate::units::{Interval, Tid};

/// What a row can be asked for.
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
    /// Kept by the owner of that name.
    Owner(Arc<str>),
    /// With a stack to which rules give that name, or none.
    Tag(Arc<str>),
    /// Itself of that kind; and what a user calls that.
    Row(RowCondition, Arc<str>),
}

impl Predicate {
    /// Allocated by a thread.
    pub fn thread(thread: Tid) -> Self {
        Self::Row(RowCondition::Thread(thread), format!("thread {thread}").into())
    }
}

/// A predicate that rows must meet, or must not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chip {
    pub what: Predicate,
    pub is_excluded: bool,
}

/// What the filters leave: which rows count, wherever a number is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Scope {
    pub filters: Filters,
    /// The interval in which lifetime classes are meant, where filters ask for some.
    pub interval: Option<Interval>,
}

/// All chips.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filters {
    chips: Vec<Chip>,
}

impl Chip {
    /// Rows must meet it.
    pub fn only(what: Predicate) -> Self {
        Self { what, is_excluded: false }
    }

    /// Rows must not meet it.
    pub fn without(what: Predicate) -> Self {
        Self { what, is_excluded: true }
    }

    /// Whether it tells rows of one place apart.
    fn is_about_rows(&self) -> bool {
        match &self.what {
            Predicate::Row(..) => true,
            Predicate::Under(_) => self.is_about_lives(),
            Predicate::Type(_) | Predicate::Function(_) | Predicate::Module(_) | Predicate::Owner(_) | Predicate::Tag(_) => false,
        }
    }

    /// Whether the same row meets it in one interval and not in another.
    fn is_about_lives(&self) -> bool {
        matches!(&self.what, Predicate::Under(path) if path.iter().any(|key| key.tells_rows_apart()))
    }
}

impl Filters {
    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.chips.is_empty()
    }

    pub fn chips(&self) -> &[Chip] {
        &self.chips
    }

    /// The node to which everything is filtered, if there is one.
    pub fn under(&self) -> Filter {
        let node = |chip: &Chip| match &chip.what {
            Predicate::Under(path) if !chip.is_excluded => Some(path.clone()),
            _ => None,
        };
        Filter { any: self.chips.iter().filter_map(node).collect() }
    }

    /// The type to which everything is filtered.
    pub fn chosen_type(&self) -> Option<&TypeKey> {
        self.chips.iter().find_map(|chip| match &chip.what {
            Predicate::Type(key) if !chip.is_excluded => Some(key),
            _ => None,
        })
    }

    /// What they leave while the tables show an interval.
    pub fn scope(&self, interval: Interval) -> Scope {
        let is_needed = self.chips.iter().any(Chip::is_about_lives);
        Scope { filters: self.clone(), interval: is_needed.then_some(interval) }
    }

    /// Whether types have to be known to tell which rows count.
    pub fn need_types(&self) -> bool {
        self.chips.iter().any(|chip| matches!(chip.what, Predicate::Type(_)))
    }

    /// Whether functions have to be.
    pub fn need_functions(&self) -> bool {
        let needs = |chip: &Chip| matches!(chip.what, Predicate::Function(_) | Predicate::Module(_) | Predicate::Tag(_));
        self.chips.iter().any(needs)
    }

    /// Whether the names that rules give have to be.
    pub fn need_tags(&self) -> bool {
        self.chips.iter().any(|chip| matches!(chip.what, Predicate::Tag(_)))
    }

    /// Whether the owners of memory have to be.
    pub fn need_owners(&self) -> bool {
        self.chips.iter().any(|chip| matches!(chip.what, Predicate::Owner(_)))
    }

    /// Whether the rows that count follow from names.
    pub fn need_names(&self) -> bool {
        self.need_types() || self.need_functions() || self.need_owners()
    }

    /// The chips that `counts`.
    pub fn only(&self, counts: impl Fn(&Chip) -> bool) -> Self {
        Self { chips: self.chips.iter().filter(|chip| counts(chip)).cloned().collect() }
    }

    /// The chips about rows themselves.
    pub fn about_rows(&self) -> Self {
        self.only(Chip::is_about_rows)
    }

    /// One more. To choose a node or a type takes the place of the one chosen before.
    pub fn add(&mut self, chip: Chip) {
        let is_choice = |what: &Predicate| matches!(what, Predicate::Under(_) | Predicate::Type(_));
        let is_of_kind = |other: &Chip| std::mem::discriminant(&other.what) == std::mem::discriminant(&chip.what);
        let gives_way = |other: &Chip| is_choice(&chip.what) && !chip.is_excluded && !other.is_excluded && is_of_kind(other);
        self.chips.retain(|other| other.what != chip.what && !gives_way(other));
        self.chips.push(chip);
    }

    /// Takes one away, if it is there.
    pub fn remove(&mut self, what: &Predicate) {
        self.chips.retain(|chip| chip.what != *what);
    }

    /// Takes away what chooses a node.
    pub fn remove_node(&mut self) {
        self.chips.retain(|chip| chip.is_excluded || !matches!(chip.what, Predicate::Under(_)));
    }

    /// The opposite of one.
    pub fn turn(&mut self, what: &Predicate) {
        self.chips.iter_mut().filter(|chip| chip.what == *what).for_each(|chip| chip.is_excluded = !chip.is_excluded);
    }

    /// Paths in them are called otherwise from now on, or are gone; so are single rows.
    pub fn renumber(&mut self, map: &KeyMap) {
        self.chips.retain_mut(|chip| match &mut chip.what {
            Predicate::Under(path) => map.path(path).map(|new| *path = new).is_some(),
            Predicate::Row(RowCondition::Rows(_), _) => false,
            _ => true,
        });
    }

    /// All paths in them.
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
