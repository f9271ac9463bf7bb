//! Commands that choose how the window looks: layout, columns, theme, size of text.

use super::super::context::PanelContext;
use super::Entry;
use crate::app::commands::keys::{self};
use crate::app::commands::{Command, Setting};
use crate::app::state::layout::{Part, Preset};
use crate::app::state::settings::{TEXT_SIZES, Theme, text_size_beside};
use crate::app::widgets::columns;
use crate::query::Column;

/// Commands that choose the layout.
pub(super) fn layouts(context: &PanelContext<'_>) -> Vec<Entry> {
    let entry = |preset: Preset| {
        let entry = Entry::new(preset.name(), Command::ChooseLayout(preset)).hint(preset.hint());
        entry.choice(context.layout.is(preset))
    };
    let has_sources = context.layout.has(Part::Sources);
    let sources = Entry::new("List of sources", Command::ShowPart(Part::Sources, !has_sources));
    let sources = sources.hint("Processes, heaps and trackers beside the graph").switch(has_sources);
    Preset::ALL.into_iter().map(entry).chain([sources]).collect()
}

/// The columns of a table that can be hidden.
pub fn columns_shown(context: &PanelContext<'_>) -> Vec<Entry> {
    let columns = Column::ALL.into_iter().filter(|&column| column != Column::Name);
    let entry = |column| {
        let shown = context.settings.shows(column);
        let entry = Entry::new(columns::title(column), Command::Set(Setting::Column(column, !shown)));
        entry.hint(columns::explanation(column)).switch(shown)
    };
    columns.map(entry).collect()
}

pub(super) fn themes(context: &PanelContext<'_>) -> Vec<Entry> {
    let all = [(Theme::System, "System"), (Theme::Light, "Light"), (Theme::Dark, "Dark")];
    all.map(|(theme, name)| Entry::new(name, Command::Set(Setting::Theme(theme))).choice(context.settings.theme == theme)).into()
}

pub(super) fn text_sizes(context: &PanelContext<'_>) -> Vec<Entry> {
    let now = context.settings.text_size();
    let step = |words, by, keys| Entry::new(words, Command::Set(Setting::TextSize(text_size_beside(now, by)))).keys(keys);
    let steps = [
        step("Larger", 1, keys::LARGER).hint("Larger text").when(text_size_beside(now, 1) != now, "It cannot be larger"),
        step("Smaller", -1, keys::SMALLER).hint("Smaller text").when(text_size_beside(now, -1) != now, "It cannot be smaller"),
    ];
    let size = |percent: u16| {
        let entry = Entry::new(format!("{percent} %"), Command::Set(Setting::TextSize(percent))).choice(now == percent);
        if percent == 100 { entry.keys(keys::USUAL_SIZE).hint("Normal text size") } else { entry }
    };
    steps.into_iter().chain(TEXT_SIZES.map(size)).collect()
}
