//! What is remembered between runs: theme, text size, hidden columns, window.
//! One TOML file in the platform's place for settings; [`file`](mod@file) reads and writes it.

mod file;

use std::path::PathBuf;

use eframe::egui;
use serde::{Deserialize, Serialize};

use super::graph::Arrangement;
use super::layout::{Shape, bounded_width};
use crate::app::state::ids::Reading;
use crate::editor::SourceSettings;
use crate::load::default_budget;
use crate::query::{Column, Words};

/// Light or dark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// As the system has it.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// In egui's terms.
    pub fn preference(self) -> egui::ThemePreference {
        match self {
            Self::System => egui::ThemePreference::System,
            Self::Light => egui::ThemePreference::Light,
            Self::Dark => egui::ThemePreference::Dark,
        }
    }
}

/// The window's place on the screen.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Inner size in points.
    pub size: Option<[f32; 2]>,
    /// Whether it fills the screen.
    pub maximized: bool,
}

/// Where symbols come from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct SymbolSettings {
    /// Whether a PDB may lie beside its image.
    pub beside_image: bool,
    /// Whether it may lie where the linker wrote it.
    pub where_linked: bool,
    /// A symbol path, asked before that of the environment.
    pub path: String,
    /// Whether `_NT_SYMBOL_PATH` and `_NT_ALT_SYMBOL_PATH` count.
    pub environment: bool,
    /// Whether servers may be asked; `None` until the user has said so.
    pub network: Option<bool>,
}

impl Default for SymbolSettings {
    fn default() -> Self {
        Self { beside_image: true, where_linked: true, path: String::new(), environment: true, network: None }
    }
}

/// What is recorded beside memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BesideMemory {
    /// Frames that programs show.
    pub frames: bool,
    /// What the .NET runtime tells.
    pub managed: bool,
    /// Samples of processors.
    pub samples: bool,
    /// Providers whose events are marks, with commas.
    pub marks: String,
}

/// Everything that is remembered. What is not understood falls back to its default, alone.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Light or dark.
    pub theme: Theme,
    /// How the lines of the graph stand.
    pub arrangement: Arrangement,
    /// Percent of the usual size that everything is drawn at.
    text_size: Option<u16>,
    /// Columns of the table that are not shown, by their stable names.
    pub hidden_columns: Vec<String>,
    /// Columns that are shown only if the user says so: of single allocations, whose lines tell the same behind the
    /// address, and averages over frames.
    pub extra_columns: Vec<String>,
    /// Files opened before, as earlier versions kept them; now they are [`Recents`](super::recent).
    #[serde(skip_serializing)]
    pub(super) recent: Vec<PathBuf>,
    /// The file of accepted findings, if it is another one than beside this.
    pub accepted: Option<PathBuf>,
    /// Memory that a trace may use, in MB; without it, three quarters of the machine's.
    pub memory_limit_mb: Option<u64>,
    /// Whether all frames are shown, not the user's own alone.
    pub show_all_frames: bool,
    /// Whether each call has a line of its own, also where there is no choice.
    pub open_chains: bool,
    /// Whether lifetime classes are called as in WPA, and nothing else.
    pub wpa_words: bool,
    /// The width of the list of sources, in points.
    pub sources_width: Option<f32>,
    /// The window.
    pub window: Window,
    /// Where its parts stand, if the user has moved them.
    pub layout: Option<Shape>,
    /// Where symbols come from.
    pub symbols: SymbolSettings,
    /// How source files are opened.
    pub sources: SourceSettings,
    /// What was recorded beside memory the last time.
    pub recording: BesideMemory,
    /// Whose events are marks: names or GUIDs of providers.
    pub mark_providers: Vec<String>,
    /// Where to save; nowhere for settings that were not loaded from a place.
    #[serde(skip)]
    file: Option<PathBuf>,
    /// Why that file is not written: it could not be read, and is not lost.
    #[serde(skip)]
    pub unread: Option<String>,
    /// What this version does not understand of it.
    #[serde(skip)]
    left: file::Left,
}

/// Sides that a window can have, in points.
const WINDOW_SIDES: std::ops::RangeInclusive<f32> = 200.0..=10_000.0;

/// Sizes to choose from, in percent of the usual one.
pub const TEXT_SIZES: [u16; 8] = [75, 90, 100, 110, 125, 150, 175, 200];

/// The size so many steps up or down; the last one where there is none.
pub fn text_size_beside(size: u16, by: isize) -> u16 {
    let at = TEXT_SIZES.iter().position(|&known| known >= size).unwrap_or(TEXT_SIZES.len() - 1);
    TEXT_SIZES[at.saturating_add_signed(by).min(TEXT_SIZES.len() - 1)]
}

impl Settings {
    /// Takes back what no window can have, wherever it comes from.
    fn bound(&mut self) {
        self.window.size = self.window.size.filter(|size| size.iter().all(|side| WINDOW_SIDES.contains(side)));
        self.sources_width = self.sources_width.filter(|width| width.is_finite()).map(bounded_width);
    }

    /// A file of that name, beside that of the settings.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        Some(self.file.as_ref()?.with_file_name(name))
    }

    /// Percent of the usual size that everything is drawn at.
    pub fn text_size(&self) -> u16 {
        self.text_size.unwrap_or(100).clamp(TEXT_SIZES[0], TEXT_SIZES[TEXT_SIZES.len() - 1])
    }

    /// Has everything drawn at another size.
    pub fn set_text_size(&mut self, percent: u16) {
        self.text_size = Some(percent).filter(|&percent| percent != 100);
    }

    /// Whether a column is shown.
    pub fn shows(&self, column: Column) -> bool {
        let is_in = |list: &[String]| list.iter().any(|name| name == column.id());
        if column.is_extra() { is_in(&self.extra_columns) } else { !is_in(&self.hidden_columns) }
    }

    /// Shows or hides a column.
    pub fn show_column(&mut self, column: Column, shown: bool) {
        let (list, is_listed) = match column.is_extra() {
            true => (&mut self.extra_columns, shown),
            false => (&mut self.hidden_columns, !shown),
        };
        list.retain(|name| name != column.id());
        if is_listed {
            list.push(column.id().to_owned());
        }
    }

    /// How lines of tables read.
    pub fn reading(&self) -> Reading {
        Reading { chains: !self.open_chains, words: if self.wpa_words { Words::Wpa } else { Words::Plain } }
    }

    /// Bytes of memory that a trace may use.
    pub fn budget(&self) -> u64 {
        self.memory_limit_mb.filter(|&n| n > 0).map_or_else(default_budget, |n| n.saturating_mul(1 << 20))
    }

    /// Takes note of the window's size.
    pub fn note_window(&mut self, ctx: &egui::Context) {
        let (rect, maximized) = ctx.input(|i| (i.viewport().inner_rect, i.viewport().maximized));
        if let Some(maximized) = maximized {
            self.window.maximized = maximized;
        }
        if let Some(rect) = rect.filter(|_| !self.window.maximized) {
            // It is opened before anything is drawn larger or smaller.
            let size = rect.size() * ctx.zoom_factor();
            self.window.size = Some([size.x, size.y]);
        }
    }
}

/// Where recordings are kept until the user puts them elsewhere.
pub fn recordings() -> Option<PathBuf> {
    Some(local_data()?.join("recordings"))
}

/// Where it is written down which recordings run, so that what a killed one leaves in the system is found.
pub fn recordings_that_run() -> Option<PathBuf> {
    Some(local_data()?.join("recording"))
}

fn local_data() -> Option<PathBuf> {
    match std::env::var_os("HIGHWATER_SETTINGS_DIR") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => Some(directories::ProjectDirs::from("", "", "highwater")?.data_local_dir().to_owned()),
    }
}

/// The settings file; another folder can be named for tests and portable use.
fn file() -> Option<PathBuf> {
    let folder = match std::env::var_os("HIGHWATER_SETTINGS_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => directories::ProjectDirs::from("", "", "highwater")?.config_dir().to_owned(),
    };
    Some(folder.join("settings.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_a_round_trip_and_unknown_entries() {
        let mut settings = Settings { theme: Theme::Dark, ..Settings::default() };
        assert!(settings.shows(Column::Peak) && !settings.shows(Column::Address));
        settings.show_column(Column::Peak, false);
        settings.show_column(Column::Address, true);
        assert!(!settings.shows(Column::Peak) && settings.shows(Column::Address));
        settings.memory_limit_mb = Some(100);
        settings.symbols = SymbolSettings { path: "/a;srv*/b".to_owned(), network: Some(false), ..SymbolSettings::default() };
        settings.recording = BesideMemory { frames: true, marks: "Multi-Main".to_owned(), ..BesideMemory::default() };
        assert_eq!(settings.budget(), 100 << 20);
        assert_eq!(Settings::parse(&settings.to_text().unwrap()).unwrap(), settings);
        assert_eq!(Settings::parse("future = 1\ntheme = \"light\"").unwrap().theme, Theme::Light);
        assert_eq!(Settings::parse("recent = ['/a']").unwrap().recent.len(), 1, "of an earlier version");
        let nothing = Settings::parse("memory_limit_mb = 0").unwrap();
        assert_eq!(nothing.budget(), Settings::default().budget(), "no memory at all is no setting");
    }

    #[test]
    fn text_sizes_go_in_steps_and_stay_readable() {
        let mut settings = Settings::default();
        assert_eq!(settings.text_size(), 100);
        assert_eq!((text_size_beside(100, 1), text_size_beside(100, -1)), (110, 90));
        assert_eq!((text_size_beside(200, 1), text_size_beside(75, -1)), (200, 75));
        for (odd, used) in [(0, 75), (1, 75), (130, 130), (9999, 200)] {
            settings.set_text_size(odd);
            assert_eq!(settings.text_size(), used);
            assert!(TEXT_SIZES.contains(&text_size_beside(used, 1)));
        }
    }
}
