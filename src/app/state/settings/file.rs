//! The settings file. Each key is read separately: one that this version does not know, or whose value
//! it does not understand, does not affect the others. It is written back unless the user has set it
//! meanwhile. A file that cannot be read at all is not overwritten.
//!
//! It is a regular file of at most [`MOST`] bytes with [`MOST_KEYS`] keys; a path to a pipe or a device
//! is neither read nor replaced. Cost: a look at each key with a default beside it.

use std::io;
use std::path::PathBuf;

use toml::{Table, Value};

use super::Settings;
use crate::paths;
use crate::toml_file::{self, text_of};

/// Maximum size of the file in bytes; a longer one is not ours.
const MOST: u64 = 1 << 20;
/// Maximum number of keys, including those of tables.
const MOST_KEYS: usize = 1_000;

/// The place of a value: a key, or a key in a table.
type Place = (String, Option<String>);

/// Entries of the file that are no settings of this version.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Left(Vec<(Place, Value)>);

impl Settings {
    /// Loads the saved settings, or the defaults.
    pub fn load() -> Self {
        Self::load_from(super::file())
    }

    /// Loads the settings of a file, or the defaults.
    pub fn load_from(file: Option<PathBuf>) -> Self {
        let text = match file.as_deref().map(|path| text_of(path, MOST)) {
            Some(Err(reason)) if reason.kind() != io::ErrorKind::NotFound => Err(format!(" cannot be read: {reason}")),
            Some(Ok(text)) => Ok(text),
            _ => Ok(String::new()),
        };
        let read = text.and_then(|text| Self::parse(&text));
        let mut settings = read.unwrap_or_else(|reason| {
            let name = file.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            let unread = Some(format!("{name}{reason}; the settings are those of a new start, and the file stays as it is"));
            Self { unread, ..Self::default() }
        });
        settings.file = file;
        settings.bound();
        settings
    }

    /// Reads the settings from the text of a file. The error is the end of a sentence.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let table: Table = toml_file::parse(text).map_err(|bad| bad.behind_name())?;
        let usual = written(&Self::default())?;
        let (mut known, mut left) = (Table::new(), Vec::new());
        let leaves = leaves(table, &usual);
        if leaves.len() > MOST_KEYS {
            return Err(format!(" has more than {MOST_KEYS} keys"));
        }
        for (place, value) in leaves {
            let mut alone = Table::new();
            put(&mut alone, &place, value.clone());
            // A key that changes nothing and is not written either is not a setting.
            let is_setting = alone.try_into::<Self>().is_ok_and(|one| one != Self::default() || at(&usual, &place).is_some());
            if is_setting {
                put(&mut known, &place, value);
            } else {
                left.push((place, value));
            }
        }
        let settings: Self = known.try_into().map_err(|error| format!(": {error}"))?;
        Ok(Self { left: Left(left), ..settings })
    }

    /// Whether the file has a layout that only another version understands.
    pub fn has_other_layout(&self) -> bool {
        self.left.0.iter().any(|((key, _), _)| key == "layout")
    }

    /// Writes the settings; if that fails, the old file stays complete.
    pub fn save(&self) -> io::Result<()> {
        match &self.file {
            Some(path) if self.unread.is_none() => paths::keep(path, &self.to_text().map_err(io::Error::other)?, MOST),
            _ => Ok(()),
        }
    }

    /// The text of a file with these settings.
    pub(super) fn to_text(&self) -> Result<String, String> {
        let (mut all, usual) = (written(self)?, written(&Self::default())?);
        for (place, value) in &self.left.0 {
            // Values that the user has set since take precedence.
            if at(&all, place) == at(&usual, place) {
                put(&mut all, place, value.clone());
            }
        }
        toml::to_string(&all).map_err(|error| error.to_string())
    }
}

fn written(settings: &Settings) -> Result<Table, String> {
    Table::try_from(settings).map_err(|error| error.to_string())
}

/// All values, including each one in groups of settings.
fn leaves(table: Table, usual: &Table) -> Vec<(Place, Value)> {
    let mut all = Vec::new();
    for (key, value) in table {
        match (value, usual.get(&key)) {
            (Value::Table(inner), Some(Value::Table(_))) => {
                all.extend(inner.into_iter().map(|(name, value)| ((key.clone(), Some(name)), value)));
            }
            (value, _) => all.push(((key, None), value)),
        }
    }
    all
}

fn at<'t>(table: &'t Table, (key, name): &Place) -> Option<&'t Value> {
    match (table.get(key)?, name) {
        (value, None) => Some(value),
        (Value::Table(inner), Some(name)) => inner.get(name),
        _ => None,
    }
}

fn put(table: &mut Table, (key, name): &Place, value: Value) {
    match name {
        None => drop(table.insert(key.clone(), value)),
        Some(name) => {
            if let Value::Table(inner) = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new())) {
                inner.insert(name.clone(), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::app::state::settings::Theme;

    const OF_A_LATER_VERSION: &str = "theme = \"sepia\"\ntext_size = 125\nfuture = 1\nsources_width = \"wide\"\n\
        [symbols]\npath = \"/store\"\nnetwork = \"ask\"\nbeside_image = false\nproxy = \"here\"\n\
        [window]\nsize = [900.0, 700.0]\n[future_part]\na = 1\n[empty]\n";

    #[test]
    fn each_key_is_read_by_itself_and_what_is_not_understood_is_kept() {
        let mut settings = Settings::parse(OF_A_LATER_VERSION).unwrap();
        assert_eq!((settings.theme, settings.text_size(), settings.sources_width), (Theme::System, 125, None));
        assert_eq!((settings.symbols.path.as_str(), settings.symbols.network), ("/store", None));
        assert_eq!((settings.symbols.beside_image, settings.window.size), (false, Some([900.0, 700.0])));
        let again: Table = toml::from_str(&settings.to_text().unwrap()).unwrap();
        let before: Table = toml::from_str(OF_A_LATER_VERSION).unwrap();
        for (place, value) in leaves(before, &written(&Settings::default()).unwrap()) {
            assert_eq!(at(&again, &place), Some(&value), "{place:?}");
        }
        // Values that the user sets take effect, and values that they reset do not come back.
        (settings.theme, settings.symbols.network) = (Theme::Dark, Some(true));
        settings.set_text_size(100);
        let again = Settings::parse(&settings.to_text().unwrap()).unwrap();
        assert_eq!((again.theme, again.symbols.network, again.text_size()), (Theme::Dark, Some(true), 100));
        assert!(again.to_text().unwrap().contains("future = 1") && again.to_text().unwrap().contains("proxy = \"here\""));
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut settings = Settings { theme: Theme::Light, sources_width: Some(333.0), ..Settings::default() };
        settings.memory_limit_mb = Some(512);
        settings.hidden_columns = vec!["peak".to_owned()];
        settings.symbols.network = Some(false);
        let shape = crate::app::state::layout::Preset::Spike.shape();
        settings.layout = Some(shape);
        assert_eq!(Settings::parse(&settings.to_text().unwrap()).unwrap(), settings);
        assert_eq!(Settings::parse("").unwrap(), Settings::default());
    }

    #[test]
    fn numbers_that_no_window_can_have_are_not_taken() {
        for odd in ["-1e30", "1e30", "nan", "-inf", "0.0"] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("settings.toml");
            fs::write(&file, format!("sources_width = {odd}\n[window]\nsize = [{odd}, 700.0]\n")).unwrap();
            let settings = Settings::load_from(Some(file));
            assert!(settings.window.size.is_none_or(|[width, _]| (200.0..=10_000.0).contains(&width)), "{odd}");
            assert!(settings.sources_width.is_none_or(|width| (100.0..=4_000.0).contains(&width)), "{odd}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_and_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.toml");
        let long = format!("# {}\n", "x".repeat(MOST as usize));
        let many: String = (0..=MOST_KEYS).map(|n| format!("k{n} = 1\n")).collect();
        for (text, told) in
            [("theme = \"dark\"\npath = \n", "settings.toml:2: "), (&long, "larger than 1024 KB"), (&many, "1000 keys")]
        {
            fs::write(&file, text).unwrap();
            let mut settings = Settings::load_from(Some(file.clone()));
            let unread = settings.unread.clone().unwrap();
            assert!(unread.contains(told) && unread.contains("settings.toml"), "{unread}");
            settings.theme = Theme::Light;
            settings.save().unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        fs::remove_file(&file).unwrap();
        let settings = Settings::load_from(Some(file.clone()));
        assert_eq!(settings.unread, None);
        settings.save().unwrap();
        assert!(file.is_file());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_neither_read_nor_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("settings.toml"), folder.path().join("other"));
        let _socket = std::os::unix::net::UnixListener::bind(&other).unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        let mut settings = Settings::load_from(Some(file.clone()));
        assert!(settings.unread.as_ref().unwrap().contains("not a regular file"));
        settings.unread = None;
        assert!(settings.save().is_err());
        assert!(file.is_symlink() && !other.metadata().unwrap().is_file());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_does_not_hold_up_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.toml");
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        assert!(Settings::load_from(Some(file.clone())).unread.is_some(), "nobody writes into it");
        assert!(!file.is_file());
    }
}
