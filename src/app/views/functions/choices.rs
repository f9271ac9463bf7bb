//! The user's choices of grouping, opened nodes and the selected one, as an investigation keeps them.

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

/// Adds the grouping, unless it is the usual one, the opened nodes of both trees, the selected one, and the function of the
/// butterfly.
pub fn add(wish: &Choices, choices: &mut ViewChoices) {
    let grouping = Some(wish.grouping).filter(|grouping| *grouping != Grouping::default());
    let named = grouping.and_then(|grouping| NAMES.iter().find(|(other, _)| *other == grouping));
    choices.grouping = named.map(|(_, name)| (*name).to_owned());
    for (is_inverted, opened) in [false, true].into_iter().zip(&wish.opened) {
        let node = |(names, is_open): (Way, bool)| OpenedNode { place: NodePlace::Names { is_inverted, names }, is_open };
        choices.nodes.extend(opened.nodes().into_iter().map(node));
    }
    let is_inverted = wish.grouping == Grouping::INVERTED;
    choices.selected = wish.selected.clone().map(|names| NodePlace::Names { is_inverted, names });
    choices.middle = wish.middle.clone();
}

/// The grouping of an investigation; the usual one if it has none that the view offers.
pub fn grouping(choices: &ViewChoices, frees: bool) -> Grouping {
    let is_it = |(grouping, name): &&(Grouping, &str)| {
        let is_offered = !frees || matches!(grouping, Grouping::Sites(_));
        is_offered && choices.grouping.as_deref() == Some(*name)
    };
    NAMES.iter().find(is_it).map(|(grouping, _)| *grouping).unwrap_or_default()
}

/// The selected node, if it is one of this grouping.
pub fn selected(choices: &ViewChoices, grouping: Grouping) -> Option<Way> {
    match &choices.selected {
        Some(NodePlace::Names { is_inverted, names }) if *is_inverted == (grouping == Grouping::INVERTED) => {
            Some(Arc::clone(names))
        }
        _ => None,
    }
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
        assert_eq!(selected(&choices, Grouping::default()), None);
        wish.grouping = Grouping::INVERTED;
        wish.selected = Some(way.clone());
        add(&wish, &mut choices);
        assert_eq!(grouping(&choices, false), Grouping::INVERTED);
        assert_eq!(selected(&choices, Grouping::INVERTED), Some(way));
        assert_eq!(selected(&choices, Grouping::default()), None, "the other tree has no such path");
    }
}
