//! Frees of what was allocated before a trace began, or whose allocation was lost: CSV with a line per group, and folded stacks with
//! the number of frees.

use std::io::Write;

use super::csv::joined;
use super::folded::part;
use super::stacks::NO_STACK;
use super::{ExportError, csv_cell, csv_line};
use crate::query::UnmatchedGroup;
use crate::units::Layer;

/// Writes groups as CSV, with the columns that a group can have.
pub fn unmatched_csv(groups: &[UnmatchedGroup], out: &mut dyn Write) -> Result<(), ExportError> {
    let keys = ["process", "pid", "process_start_s", "layer", "heap", "stack", "responsible", "responsible_module"];
    let names = keys.iter().chain(&["function", "module", "count", "size"]);
    csv_line(out, names.map(|name| (*name).to_owned()))?;
    for group in groups {
        let text = |text: &Option<String>| text.as_deref().map_or_else(String::new, csv_cell);
        let cells = [
            text(&group.process),
            group.pid.map_or_else(String::new, |pid| pid.to_string()),
            group.process_start_s.map_or_else(String::new, |at| at.to_string()),
            group.layer.to_owned(),
            text(&group.heap),
            group.stack.as_deref().map_or_else(String::new, joined),
            text(&group.responsible),
            text(&group.responsible_module),
            text(&group.function),
            text(&group.module),
            group.count.to_string(),
            group.size.map_or_else(String::new, |size| size.to_string()),
        ];
        csv_line(out, cells)?;
    }
    Ok(())
}

/// Writes the freeing stacks folded, each with its number of frees. Groups of more than one layer are an error, since the
/// pages of a heap would be counted beside its blocks.
pub fn unmatched_folded(groups: &[UnmatchedGroup], out: &mut dyn Write) -> Result<(), ExportError> {
    let has = |layer: &Layer| groups.iter().any(|group| group.layer == layer.name());
    let layers: Vec<Layer> = Layer::ALL.into_iter().filter(has).collect();
    if layers.len() > 1 {
        return Err(ExportError::SeveralLayers(layers));
    }
    for group in groups {
        write!(out, "{}", part(&process(group)))?;
        let frames = group.stack.as_deref().unwrap_or_default();
        if frames.is_empty() {
            write!(out, ";{NO_STACK}")?;
        }
        for frame in frames {
            write!(out, ";{}", part(frame))?;
        }
        writeln!(out, " {}", group.count)?;
    }
    Ok(())
}

/// Name and id of a group's process.
fn process(group: &UnmatchedGroup) -> String {
    let name = group.process.as_deref().unwrap_or("Unknown");
    group.pid.map_or_else(|| name.to_owned(), |pid| format!("{name} ({pid})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(layer: Layer, frames: &[&str], size: Option<u64>) -> UnmatchedGroup {
        let stack = Some(frames.iter().map(|frame| (*frame).to_owned()).collect());
        UnmatchedGroup {
            process: Some("=game.exe".to_owned()),
            pid: Some(7),
            layer: layer.name(),
            stack,
            count: 3,
            size,
            ..UnmatchedGroup::default()
        }
    }

    #[test]
    fn columns_are_those_of_a_group_and_texts_are_no_formulas() {
        let mut out = Vec::new();
        let groups = [group(Layer::Commit, &["a.exe!main", "b.dll!f<1;2>"], Some(4096)), group(Layer::Heap, &[], None)];
        unmatched_csv(&groups, &mut out).unwrap();
        let lines: Vec<String> = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines[1], "'=game.exe,7,,commit,,\"a.exe!main;b.dll!f<1:2>\",,,,,3,4096");
        assert_eq!(lines[2], "'=game.exe,7,,heap,,,,,,,3,");
        assert!(lines.iter().all(|line| line.matches(',').count() == 11), "{lines:?}");
    }

    #[test]
    fn stacks_have_their_number_of_frees_and_layers_are_not_added_up() {
        let mut out = Vec::new();
        unmatched_folded(&[group(Layer::Heap, &["a.exe!main", "b;c"], None), group(Layer::Heap, &[], None)], &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "=game.exe (7);a.exe!main;b:c 3\n=game.exe (7);(no stack recorded) 3\n");
        let both = [group(Layer::Heap, &[], None), group(Layer::Commit, &[], None)];
        let refused = unmatched_folded(&both, &mut Vec::new()).unwrap_err();
        assert!(matches!(refused, ExportError::SeveralLayers(layers) if layers.len() == 2));
    }
}
