//! The terminal that shows an answer: its width, and whether it shows colours.
//!
//! Under Windows the program for shells (console.rs) has the terminal, and this program only pipes; what the terminal is like
//! is then in environment variables.

use std::io::{IsTerminal, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::platform::{COLUMNS_OF_CONSOLE, CONSOLE_SHOWS_ERRORS};

/// Columns of the narrowest terminal for which tables are fitted.
const NARROWEST: usize = 40;

static IS_WIDE: AtomicBool = AtomicBool::new(false);

/// Makes tables as wide as their texts, from now on.
pub(super) fn be_wide() {
    IS_WIDE.store(true, Ordering::Relaxed);
}

/// Returns the number of columns of the terminal that shows answers; `None` for a file or a pipe.
fn columns() -> Option<usize> {
    if let Some(columns) = std::env::var(COLUMNS_OF_CONSOLE).ok().and_then(|text| text.parse().ok()) {
        return Some(columns);
    }
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(stdout())?;
    stdout().is_terminal().then_some(columns.into())
}

/// Returns whether a terminal shows messages.
pub(super) fn shows_messages() -> bool {
    stderr().is_terminal() || std::env::var_os(CONSOLE_SHOWS_ERRORS).is_some()
}

/// Returns the width in which tables have to fit; `None` if they are as wide as their texts.
pub(super) fn room() -> Option<usize> {
    let is_wide = IS_WIDE.load(Ordering::Relaxed);
    columns().filter(|_| !is_wide).map(|columns| columns.max(NARROWEST))
}

/// Returns whether answers have colours: on a terminal that is not `dumb`, unless NO_COLOR is set (no-color.org).
pub(super) fn has_colors() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    columns().is_some() && !is_set("NO_COLOR") && !is_dumb
}

/// A style of text. Answers contain it as a character that no name can contain ([`crate::format::plain`] replaces
/// noncharacters), and that is written as a control sequence, or not at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    Heading,
    Bar,
    Note,
    Normal,
}

impl Style {
    const ALL: [Self; 4] = [Self::Heading, Self::Bar, Self::Note, Self::Normal];

    /// The character that stands for it in an answer.
    pub(super) fn mark(self) -> char {
        match self {
            Self::Heading => '\u{fdd0}',
            Self::Bar => '\u{fdd1}',
            Self::Note => '\u{fdd2}',
            Self::Normal => '\u{fdd3}',
        }
    }

    /// The style for which a character stands.
    pub(super) fn of(mark: char) -> Option<Self> {
        Self::ALL.into_iter().find(|style| style.mark() == mark)
    }

    /// The control sequence that begins it (ECMA-48, select graphic rendition).
    pub(super) fn sequence(self) -> &'static str {
        match self {
            Self::Heading => "\x1b[1m",
            Self::Bar => "\x1b[36m",
            Self::Note => "\x1b[2m",
            Self::Normal => "\x1b[0m",
        }
    }

    /// A text in this style.
    pub(super) fn text(self, text: &str) -> String {
        format!("{}{text}{}", self.mark(), Self::Normal.mark())
    }
}
