//! The fonts that come with Windows, by script. Asking DirectWrite for them would make the program a
//! quarter larger, and the files have had the same names since Windows 8.1 (Microsoft, "Fonts included
//! with Windows" and "Windows 11 font list"). Each font is tried before it is used, so a wrong line
//! here costs time but never draws wrong glyphs.

use std::path::{Path, PathBuf};

use eframe::egui::epaint::text::{FallbackRequest, FontInsert, FontPriority, InsertFontFamily};
use eframe::egui::{FontData, FontFamily};

use super::{LARGEST_FILE, has};

/// The first and last character of a block of Unicode, and the files of fonts that may draw it.
type Block = (char, char, &'static [&'static str]);

/// Blocks with fonts of their own, in the order of Unicode; everything else uses [`COMMON`].
const BLOCKS: &[Block] = &[
    ('\u{0900}', '\u{0dff}', &["Nirmala.ttc", "Nirmala.ttf"]), // of India
    ('\u{0e00}', '\u{0eff}', &["LeelawUI.ttf"]),               // Thai, Lao
    ('\u{0f00}', '\u{0fff}', &["himalaya.ttf"]),               // Tibetan
    ('\u{1000}', '\u{109f}', &["mmrtext.ttf"]),                // Myanmar
    ('\u{1100}', '\u{11ff}', &["malgun.ttf"]),                 // Hangul
    ('\u{1200}', '\u{139f}', &["ebrima.ttf"]),                 // Ethiopic
    ('\u{13a0}', '\u{167f}', &["gadugi.ttf"]),                 // Cherokee, Canadian syllables
    ('\u{1780}', '\u{17ff}', &["LeelawUI.ttf"]),               // Khmer
    ('\u{1800}', '\u{18af}', &["monbaiti.ttf"]),               // Mongolian
    ('\u{3040}', '\u{30ff}', &["YuGothR.ttc", "msgothic.ttc", "msyh.ttc"]), // Kana
    ('\u{3130}', '\u{318f}', &["malgun.ttf"]),                 // Hangul
    ('\u{2e80}', '\u{9fff}', &["msyh.ttc", "msjh.ttc", "YuGothR.ttc", "malgun.ttf"]), // Han
    ('\u{ac00}', '\u{d7ff}', &["malgun.ttf"]),                 // Hangul
    ('\u{f900}', '\u{faff}', &["msyh.ttc", "malgun.ttf"]),     // Han
    ('\u{ff00}', '\u{ffef}', &["msyh.ttc", "YuGothR.ttc", "malgun.ttf"]), // wide forms
    ('\u{20000}', '\u{3ffff}', &["simsunb.ttf", "msyh.ttc"]),  // Han
];

/// Latin, Greek, Cyrillic, Armenian, Georgian, Hebrew, Arabic; symbols; historic scripts.
const COMMON: &[&str] = &["segoeui.ttf", "seguisym.ttf", "seguiemj.ttf", "seguihis.ttf", "ebrima.ttf", "sylfaen.ttf"];

/// A folder of fonts under the names that Windows gives them.
pub struct KnownFonts(PathBuf);

impl KnownFonts {
    /// The folder of the system.
    #[cfg(windows)]
    pub fn new() -> Self {
        Self(PathBuf::from(std::env::var_os("WINDIR").unwrap_or_else(|| r"C:\Windows".into())).join("Fonts"))
    }

    /// The first of the fonts for this character's script that contains it.
    pub fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        let c = request.cluster.chars().next()?;
        files(c).find_map(|name| read(&self.0.join(name), name).filter(|font| has(font, c)))
    }
}

fn files(c: char) -> impl Iterator<Item = &'static str> {
    let block = BLOCKS.iter().find(|&&(first, last, _)| (first..=last).contains(&c));
    block.map_or(&[][..], |&(.., files)| files).iter().chain(COMMON).copied()
}

fn read(file: &Path, name: &str) -> Option<FontInsert> {
    let size = std::fs::metadata(file).ok()?.len();
    if size > LARGEST_FILE as u64 {
        return None;
    }
    let families = [FontFamily::Proportional, FontFamily::Monospace];
    let families = families.map(|family| InsertFontFamily { family, priority: FontPriority::Lowest });
    Some(FontInsert::new(name, FontData::from_owned(std::fs::read(file).ok()?), families.to_vec()))
}

#[cfg(test)]
mod tests {
    use eframe::egui::FontDefinitions;

    use super::*;

    fn font_for(fonts: &KnownFonts, cluster: &str) -> Option<String> {
        let request = FallbackRequest { cluster, family: &FontFamily::Proportional };
        fonts.font_for(&request).map(|font| font.name)
    }

    #[test]
    fn the_first_file_that_can_be_read_and_has_the_character_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let fonts = KnownFonts(folder.path().to_owned());
        assert_eq!(font_for(&fonts, "a"), None, "no font at all");
        let bundled = FontDefinitions::default();
        std::fs::write(folder.path().join("seguisym.ttf"), bundled.font_data["Hack"].bytes()).unwrap();
        assert_eq!(font_for(&fonts, "a").as_deref(), Some("seguisym.ttf"));
        assert_eq!(font_for(&fonts, "\u{d55c}"), None, "it has no Hangul");
        std::fs::write(folder.path().join("segoeui.ttf"), b"no font").unwrap();
        std::fs::create_dir(folder.path().join("malgun.ttf")).unwrap();
        assert_eq!(font_for(&fonts, "a").as_deref(), Some("seguisym.ttf"), "the first cannot be read");
        assert_eq!(font_for(&fonts, "\u{d55c}"), None, "a folder is no font");
    }

    #[test]
    fn each_script_has_a_font_before_the_common_ones() {
        let first = |c| files(c).next().unwrap();
        let scripts = ['\u{d55c}', '\u{6f22}', '\u{30ab}', '\u{e01}', '\u{915}', '\u{1c90}', 'я'];
        let expected = ["malgun.ttf", "msyh.ttc", "YuGothR.ttc", "LeelawUI.ttf", "Nirmala.ttc", "segoeui.ttf", "segoeui.ttf"];
        assert_eq!(scripts.map(first), expected);
    }
}
