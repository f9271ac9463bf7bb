//! Markdown for comments and job summaries.
//!
//! Names come from traces, which others made. So they are put in `<code>`, with everything escaped that Markdown or
//! HTML would interpret, and cannot mention anybody. A text stays below the size limit of comments, whatever the names
//! and however many lines.

use std::fmt::Write;

use crate::format;

/// Maximum bytes of a text; comments on the large services have room for 64 Ki characters.
const MOST_BYTES: usize = 60_000;
/// Maximum characters of a name.
pub(super) const NAME: usize = 120;
/// Maximum characters of a sentence.
pub(super) const SENTENCE: usize = 400;

/// A text of limited size, which takes only whole pieces.
#[derive(Default)]
pub(super) struct Bounded {
    text: String,
}

impl Bounded {
    /// Appends a piece if there is room; returns whether there was.
    pub(super) fn put(&mut self, piece: &str) -> bool {
        let has_room = self.text.len() + piece.len() <= MOST_BYTES;
        if has_room {
            self.text += piece;
        }
        has_room
    }

    /// Appends the short last line, for which there is always room.
    pub(super) fn put_last(&mut self, piece: &str) {
        self.text += piece;
    }

    /// The text.
    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// A doubt about the numbers as a paragraph.
pub(super) fn doubt_line(doubt: &str) -> String {
    format!("> **The numbers may be off.** {}\n\n", escaped(doubt, SENTENCE))
}

/// A name as inline code.
pub(super) fn code(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("<code>{}</code>", escaped(name, NAME)) }
}

/// Escapes everything that Markdown or HTML interprets, and cuts the text to `most` characters.
pub(super) fn escaped(name: &str, most: usize) -> String {
    let mut text = String::new();
    let count = name.chars().count();
    for c in name.chars().take(most) {
        match c {
            c if !format::is_plain(c) => text.push(char::REPLACEMENT_CHARACTER),
            // Text that looks like an email address would become a link; a comment in it prevents that.
            '@' => text.push_str("<!---->&#64;"),
            c if c.is_ascii_punctuation() && !matches!(c, ',' | '-' | '/' | '%' | '+' | '=' | ';') => {
                let _ = write!(text, "&#{};", u32::from(c));
            }
            c => text.push(c),
        }
    }
    if count > most {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_nothing_that_markdown_or_html_reads() {
        let text = escaped("a|b`c*<script>_[x](y)\\@team #7 http://x www.x.com a@b.com\n\u{1b}[1m&amp;~$\u{202e}", NAME);
        let rest = text.replace("<!---->", "");
        let bad = ['|', '`', '*', '<', '>', '_', '[', ']', '(', ')', '\\', '@', '\n', '\u{1b}', '~', '$', '\u{202e}', ':', '.'];
        assert!(!rest.contains(bad), "{text}");
        assert!(text.contains("a<!---->&#64;b&#46;com"), "{text}");
        assert!(text.contains("&#124;") && text.contains("&#38;amp;"), "{text}");
        assert_eq!(escaped("ntdll.dll!Rtl+0x1 (4660)", NAME), "ntdll&#46;dll&#33;Rtl+0x1 &#40;4660&#41;");
        assert_eq!(escaped(&"ä".repeat(NAME + 1), NAME), "ä".repeat(NAME) + "…");
        assert_eq!(code(""), "");
    }

    #[test]
    fn a_text_takes_whole_pieces_as_long_as_there_is_room() {
        let mut text = Bounded::default();
        assert!(text.put(&"a".repeat(MOST_BYTES - 1)));
        assert!(!text.put("bb") && text.put("b"));
        assert_eq!(text.text.len(), MOST_BYTES);
    }
}
