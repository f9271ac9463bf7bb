//! What is remembered between runs: theme, hidden columns, recent files, window.
//! One TOML file in the platform's place for settings.

use std::fs;
use std::io;
use std::path::PathBuf;

use eframe::egui;
use serde::{Deserialize, Serialize};

use crate::load::{Input, default_budget};
use crate::query::Column;

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

/// Everything that is remembered. Unknown or damaged entries fall back to defaults.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Light or dark.
    pub theme: Theme,
    /// Columns of the table that are not shown, by their stable names.
    pub hidden_columns: Vec<String>,
    /// Files opened before, the latest first.
    pub recent: Vec<PathBuf>,
    /// Memory that a trace may use, in MB; without it, three quarters of the machine's.
    pub memory_limit_mb: Option<u64>,
    /// Whether frames of the allocator are shown.
    pub show_allocators: bool,
    /// The window.
    pub window: Window,
    /// Where symbols come from.
    pub symbols: SymbolSettings,
    /// Where to save; nowhere for settings that were not loaded from a place.
    #[serde(skip)]
    file: Option<PathBuf>,
}

const MAX_RECENT: usize = 10;

impl Settings {
    /// What was saved, or defaults.
    pub fn load() -> Self {
        let file = file();
        let text = file.as_ref().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let settings = toml::from_str(&text).unwrap_or_else(|e| {
            log::warn!("settings are damaged and were reset: {e}");
            Self::default()
        });
        Self { file, ..settings }
    }

    /// Writes the settings; the old file stays whole if that fails.
    pub fn save(&self) -> io::Result<()> {
        let Some(path) = &self.file else { return Ok(()) };
        let text = toml::to_string(self).map_err(io::Error::other)?;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let draft = path.with_extension("toml.new");
        fs::write(&draft, text)?;
        fs::rename(&draft, path)
    }

    /// The file of rules for stacks, beside that of the settings.
    pub fn stack_rules(&self) -> Option<PathBuf> {
        Some(self.file.as_ref()?.with_file_name("stack-rules.toml"))
    }

    /// Puts files to the front of the recent ones.
    pub fn remember(&mut self, inputs: &[Input]) {
        for input in inputs.iter().rev() {
            let Input::File(path) = input else { continue };
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            self.recent.retain(|p| *p != path);
            self.recent.insert(0, path);
        }
        self.recent.truncate(MAX_RECENT);
    }

    /// Whether a column is shown.
    pub fn shows(&self, column: Column) -> bool {
        !self.hidden_columns.iter().any(|name| name == column.id())
    }

    /// Shows or hides a column.
    pub fn show_column(&mut self, column: Column, shown: bool) {
        self.hidden_columns.retain(|name| name != column.id());
        if !shown {
            self.hidden_columns.push(column.id().to_owned());
        }
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
            self.window.size = Some([rect.width(), rect.height()]);
        }
    }
}

/// Where recordings are kept until the user puts them elsewhere.
pub fn recordings() -> Option<PathBuf> {
    let folder = match std::env::var_os("HIGHWATER_SETTINGS_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => directories::ProjectDirs::from("", "", "highwater")?.data_local_dir().to_owned(),
    };
    Some(folder.join("recordings"))
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
        settings.show_column(Column::Peak, false);
        settings.memory_limit_mb = Some(100);
        settings.symbols = SymbolSettings { path: "/a;srv*/b".to_owned(), network: Some(false), ..SymbolSettings::default() };
        assert_eq!(settings.budget(), 100 << 20);
        settings.remember(&[Input::File("/a.etl".into()), Input::Demo]);
        let text = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<Settings>(&text).unwrap(), settings);
        assert_eq!(toml::from_str::<Settings>("future = 1\ntheme = \"light\"").unwrap().theme, Theme::Light);
        let nothing = toml::from_str::<Settings>("memory_limit_mb = 0").unwrap();
        assert_eq!(nothing.budget(), Settings::default().budget(), "no memory at all is no setting");
    }

    #[test]
    fn recent_files_come_latest_first_and_once() {
        let mut settings = Settings::default();
        for name in ["/1", "/2", "/1"] {
            settings.remember(&[Input::File(name.into())]);
        }
        assert_eq!(settings.recent.len(), 2);
        assert!(settings.recent[0].ends_with("1"));
    }
}
