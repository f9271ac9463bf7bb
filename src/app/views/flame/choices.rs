//! The user's choices of a flame graph, as an investigation keeps them.

use std::sync::Arc;

use super::Way;
use crate::app::state::view_choices::{NodePlace, ViewChoices};
use crate::query::FlameWeight;

/// The weights with their names in files, which never change.
const NAMES: [(FlameWeight, &str); 5] = [
    (FlameWeight::Impacting, "impacting"),
    (FlameWeight::Size, "size"),
    (FlameWeight::AtStart, "at-start"),
    (FlameWeight::AtEnd, "at-end"),
    (FlameWeight::Count, "count"),
];

/// The name of a weight in files, unless it is the usual one.
pub fn saved_weight(weight: FlameWeight) -> Option<String> {
    let chosen = Some(weight).filter(|weight| *weight != FlameWeight::default())?;
    NAMES.iter().find(|(other, _)| *other == chosen).map(|(_, name)| (*name).to_owned())
}

/// The weight of an investigation; the usual one if it has none that is known.
pub fn weight(choices: &ViewChoices) -> FlameWeight {
    let is_it = |(_, name): &&(FlameWeight, &str)| choices.weight.as_deref() == Some(*name);
    NAMES.iter().find(is_it).map(|(weight, _)| *weight).unwrap_or_default()
}

/// The direction and the focus of a flame graph, for an investigation.
pub fn focus_choice(is_inverted: bool, focus: &[Arc<str>]) -> NodePlace {
    NodePlace::Names { is_inverted, names: focus.into() }
}

/// The direction and the focus of a flame graph in an investigation, if it has them.
pub fn chosen_focus(choices: &ViewChoices) -> Option<(bool, Way)> {
    match &choices.focus {
        Some(NodePlace::Names { is_inverted, names }) => Some((*is_inverted, names.to_vec())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_come_back_by_name() {
        for weight in FlameWeight::ALL {
            let choices = ViewChoices { weight: saved_weight(weight), ..ViewChoices::default() };
            assert_eq!(super::weight(&choices), weight);
        }
        let later = ViewChoices { weight: Some("colour".to_owned()), ..ViewChoices::default() };
        assert_eq!(weight(&later), FlameWeight::default());
    }
}
