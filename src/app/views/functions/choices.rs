//! The user's choices of grouping and opened nodes, as an investigation keeps them.

use std::sync::Arc;

use super::opened::{Opened, Way};
use super::{Choices, Grouping};
use crate::app::jobs::ForestKind;
use crate::app::state::view_choices::{NodePlace, OpenedNode, ViewChoices};
use crate::query::RowGrouping;

/// The groupings with their names in files, which never change.
const NAMES: [(Grouping, &str); 11] = [
    (Grouping::Sites(ForestKind::TopDown), "top-down"),
    (Grouping::INVERTED, "bottom-up"),
    (Grouping::Sites(ForestKind::ByFunction), "function"),
    (Grouping::Sites(ForestKind::ByModule), "module"),
    (Grouping::Rows(RowGrouping::Tag), "tag"),
    (Grouping::Rows(RowGrouping::Owner), "owner"),
    (Grouping::Rows(RowGrouping::Heap), "heap"),
    (Grouping::Rows(RowGrouping::Type), "type"),
    (Grouping::Rows(RowGrouping::Thread), "thread"),
    (Grouping::Rows(RowGrouping::Size), "size"),
    (Grouping::Rows(RowGrouping::Lifetime), "lifetime"),
];

/// Adds the grouping, unless it is the usual one, and the opened nodes of both trees.
pub fn add(wish: &Choices, choices: &mut ViewChoices) {
    let grouping = Some(wish.grouping).filter(|grouping| *grouping != Grouping::default());
    let named = grouping.and_then(|grouping| NAMES.iter().find(|(other, _)| *other == grouping));
    choices.grouping = named.map(|(_, name)| (*name).to_owned());
    for (is_inverted, opened) in [false, true].into_iter().zip(&wish.opened) {
        let node = |(names, is_open): (Way, bool)| OpenedNode { place: NodePlace::Names { is_inverted, names }, is_open };
        choices.nodes.extend(opened.nodes().into_iter().map(node));
    }
}

/// The grouping of an investigation; the usual one if it has none that the view offers.
pub fn grouping(choices: &ViewChoices, frees: bool) -> Grouping {
    let is_it = |(grouping, name): &&(Grouping, &str)| {
        let is_offered = !frees || matches!(grouping, Grouping::Sites(_));
        is_offered && choices.grouping.as_deref() == Some(*name)
    };
    NAMES.iter().find(is_it).map(|(grouping, _)| *grouping).unwrap_or_default()
}

/// The opened nodes of the top-down tree, and of the bottom-up tree.
pub fn opened(choices: &ViewChoices) -> [Arc<Opened>; 2] {
    [false, true].map(|inverted| {
        let of_tree = choices.nodes.iter().filter_map(|node| match &node.place {
            NodePlace::Names { is_inverted, names } if *is_inverted == inverted => Some((names, node.is_open)),
            _ => None,
        });
        Arc::new(Opened::of(&of_tree.collect::<Vec<_>>()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groupings_come_back_by_name_if_the_view_offers_them() {
        for (wanted, name) in NAMES {
            let choices = ViewChoices { grouping: Some(name.to_owned()), ..ViewChoices::default() };
            assert_eq!(grouping(&choices, false), wanted);
            assert!(matches!(grouping(&choices, true), Grouping::Sites(_)), "{name}");
        }
        let later = ViewChoices { grouping: Some("colour".to_owned()), ..ViewChoices::default() };
        assert_eq!(grouping(&later, false), Grouping::default());
    }

    #[test]
    fn opened_nodes_of_both_trees_come_back() {
        let way: Way = ["main".into(), "run".into()].into();
        let mut wish = Choices::default();
        Arc::make_mut(&mut wish.opened[0]).open_way(&way);
        Arc::make_mut(&mut wish.opened[1]).set(&way[..1], true);
        let mut choices = ViewChoices::default();
        add(&wish, &mut choices);
        assert_eq!((choices.grouping.as_deref(), choices.nodes.len()), (None, 2));
        assert_eq!(opened(&choices), wish.opened);
        wish.grouping = Grouping::INVERTED;
        add(&wish, &mut choices);
        assert_eq!(grouping(&choices, false), Grouping::INVERTED);
    }
}
