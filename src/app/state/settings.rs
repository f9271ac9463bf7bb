//! Settings that are remembered between runs: theme, text size, hidden columns, window. They are kept
//! in one TOML file in the platform's folder for settings; [`file`](mod@file) reads and writes it.

mod file;

use std::path::PathBuf;

use eframe::egui;
use serde::{Deserialize, Serialize};

use super::graph::Arrangement;
use super::ids::Reading;
use super::layout::{Shape, bounded_width};
use crate::editor::SourceSettings;
use crate::load::default_budget;
use crate::query::{Column, Words};

/// Light or dark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    /// The theme of the system.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl Theme {
    /// The theme in egui's terms.
    pub fn preference(self) -> egui::ThemePreference {
        match self {
            Self::System => egui::ThemePreference::System,
            Self::Light => egui::ThemePreference::Light,
            Self::Dark => egui::ThemePreference::Dark,
        }
    }
}

/// The window's size and state.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Window {
    /// Inner size in points.
    pub size: Option<[f32; 2]>,
    /// Whether it fills the screen.
    pub maximized: bool,
}

/// The places to search for symbols.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct SymbolSettings {
    /// Whether to look for a PDB beside its image.
    pub beside_image: bool,
    /// Whether to look for a PDB at the path that the linker wrote.
    pub where_linked: bool,
    /// A symbol path, searched before that of the environment.
    pub path: String,
    /// Whether `_NT_SYMBOL_PATH` and `_NT_ALT_SYMBOL_PATH` are used.
    pub environment: bool,
    /// Whether servers may be contacted; `None` until the user has decided.
    pub network: Option<bool>,
}

impl Default for SymbolSettings {
    fn default() -> Self {
        Self { beside_image: true, where_linked: true, path: String::new(), environment: true, network: None }
    }
}

/// The data to record beside memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordOptions {
    /// Frames that programs present.
    pub frames: bool,
    /// GPU memory.
    pub gpu: bool,
    /// Events of the .NET runtime.
    pub managed: bool,
    /// CPU samples.
    pub samples: bool,
    /// Providers whose events become marks, separated by commas.
    pub marks: String,
}

/// All settings. A value that cannot be read falls back to its default, without affecting the others.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Light or dark.
    pub theme: Theme,
    /// The arrangement of the graph's lines.
    pub arrangement: Arrangement,
    /// Text size in percent of the usual one; it scales everything that is drawn.
    text_size: Option<u16>,
    /// Hidden columns of the table, by their stable names.
    pub hidden_columns: Vec<String>,
    /// Columns that are shown only on request: those of single allocations, whose lines show the same
    /// data after the address, and averages over frames.
    pub extra_columns: Vec<String>,
    /// Files opened before, as stored by earlier versions; they are now in `recent`.
    #[serde(skip_serializing)]
    pub recent: Vec<PathBuf>,
    /// The file of accepted findings, if it is not the one beside the settings.
    pub accepted: Option<PathBuf>,
    /// Memory that a trace may use, in MB; by default three quarters of the machine's.
    pub memory_limit_mb: Option<u64>,
    /// Whether traces are always read from their files, and nothing is prepared for the next time.
    pub reads_anew: bool,
    /// Whether all frames are shown, not only the user's own.
    pub show_all_frames: bool,
    /// Whether every call has a line of its own, even if it is the only one at its level.
    pub open_chains: bool,
    /// Whether lifetime classes have WPA's names instead of plain words.
    pub wpa_words: bool,
    /// The width of the list of sources, in points.
    pub sources_width: Option<f32>,
    /// The window.
    pub window: Window,
    /// The layout of the window's parts, if the user has changed it.
    pub layout: Option<Shape>,
    /// The places to search for symbols.
    pub symbols: SymbolSettings,
    /// The way to open source files.
    pub sources: SourceSettings,
    /// The last choice of data to record beside memory.
    pub recording: RecordOptions,
    /// Providers whose events become marks: names or GUIDs.
    pub mark_providers: Vec<String>,
    /// The file of the settings; `None` if they were not loaded from one.
    #[serde(skip)]
    file: Option<PathBuf>,
    /// Why the file is not written: it could not be read, and must not be lost.
    #[serde(skip)]
    pub unread: Option<String>,
    /// Entries of the file that this version does not know.
    #[serde(skip)]
    left: file::Left,
}

/// Allowed side lengths of the window, in points.
const WINDOW_SIDES: std::ops::RangeInclusive<f32> = 200.0..=10_000.0;

/// Text sizes to choose from, in percent of the usual one.
pub const TEXT_SIZES: [u16; 8] = [75, 90, 100, 110, 125, 150, 175, 200];

/// The text size this many steps up or down; at the end of the list the last one.
pub fn text_size_beside(size: u16, by: isize) -> u16 {
    let at = TEXT_SIZES.iter().position(|&known| known >= size).unwrap_or(TEXT_SIZES.len() - 1);
    TEXT_SIZES[at.saturating_add_signed(by).min(TEXT_SIZES.len() - 1)]
}

impl Settings {
    /// Drops values that no window can have, wherever they come from.
    fn bound(&mut self) {
        self.window.size = self.window.size.filter(|size| size.iter().all(|side| WINDOW_SIDES.contains(side)));
        self.sources_width = self.sources_width.filter(|width| width.is_finite()).map(bounded_width);
    }

    /// A file of this name beside the settings file.
    pub fn beside(&self, name: &str) -> Option<PathBuf> {
        Some(self.file.as_ref()?.with_file_name(name))
    }

    /// Text size in percent of the usual one.
    pub fn text_size(&self) -> u16 {
        self.text_size.unwrap_or(100).clamp(TEXT_SIZES[0], TEXT_SIZES[TEXT_SIZES.len() - 1])
    }

    /// Changes the text size.
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

    /// The wording and layout of table lines.
    pub fn reading(&self) -> Reading {
        Reading { chains: !self.open_chains, words: if self.wpa_words { Words::Wpa } else { Words::Plain } }
    }

    /// Bytes of memory that a trace may use.
    pub fn budget(&self) -> u64 {
        self.memory_limit_mb.filter(|&n| n > 0).map_or_else(default_budget, |n| n.saturating_mul(1 << 20))
    }

    /// Remembers the window's size.
    pub fn note_window(&mut self, ctx: &egui::Context) {
        let (rect, maximized) = ctx.input(|i| (i.viewport().inner_rect, i.viewport().maximized));
        if let Some(maximized) = maximized {
            self.window.maximized = maximized;
        }
        if let Some(rect) = rect.filter(|_| !self.window.maximized) {
            // The window is opened before anything is scaled.
            let size = rect.size() * ctx.zoom_factor();
            self.window.size = Some([size.x, size.y]);
        }
    }
}

/// The folder for recordings until the user saves them elsewhere.
pub fn recordings() -> Option<PathBuf> {
    Some(local_data()?.join("recordings"))
}

/// The folder that lists running recordings, so that remains of a killed one are found.
pub fn recordings_that_run() -> Option<PathBuf> {
    Some(local_data()?.join("recording"))
}

fn local_data() -> Option<PathBuf> {
    match std::env::var_os("HIGHWATER_SETTINGS_DIR") {
        Some(folder) => Some(PathBuf::from(folder)),
        None => Some(directories::ProjectDirs::from("", "", "highwater")?.data_local_dir().to_owned()),
    }
}

/// The settings file; an environment variable can name another folder, for tests and portable use.
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
        settings.recording = RecordOptions { frames: true, marks: "Multi-Main".to_owned(), ..RecordOptions::default() };
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
