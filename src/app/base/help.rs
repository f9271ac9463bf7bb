//! The texts of the help: the guide and the glossary of `docs`, which are built into the program. They
//! are parsed once, into parts by their headings and each part into blocks, so that a frame shows one
//! part.

use std::sync::LazyLock;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The page at which the help is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    /// A part of the guide, by its index.
    Guide(usize),
    Glossary,
}

/// The text under one heading.
#[derive(Debug, Default)]
pub struct Part {
    pub title: String,
    pub blocks: Vec<Block>,
}

/// A block of a part.
#[derive(Debug)]
pub enum Block {
    Heading(String),
    Paragraph(Vec<Run>),
    /// An entry of a list.
    Item(Vec<Run>),
    /// Lines of code or terminal output.
    Code(String),
    /// Rows of cells; the first row is the heading.
    Table(Vec<Vec<Vec<Run>>>),
}

/// Text in one style.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    pub text: String,
    /// Whether it is bold: a name in the window, or the subject of a paragraph.
    pub is_strong: bool,
    pub is_code: bool,
}

static GUIDE: LazyLock<Vec<Part>> = LazyLock::new(|| parts(include_str!("../../../docs/guide.md"), HeadingLevel::H2));
static GLOSSARY: LazyLock<Vec<Part>> = LazyLock::new(|| parts(include_str!("../../../docs/glossary.md"), HeadingLevel::H1));

/// The parts of the guide.
pub fn guide() -> &'static [Part] {
    &GUIDE
}

/// The glossary, in one part.
pub fn glossary() -> Option<&'static Part> {
    GLOSSARY.first()
}

/// Parses one paragraph into runs.
pub fn runs(text: &str) -> Vec<Run> {
    let mut reader = Reader::default();
    Parser::new(text).for_each(|event| reader.read(event));
    reader.runs
}

/// Parses a text; each heading down to `level` begins a part.
fn parts(text: &str, level: HeadingLevel) -> Vec<Part> {
    let mut reader = Reader { level: Some(level), ..Reader::default() };
    Parser::new_ext(text, Options::ENABLE_TABLES).for_each(|event| reader.read(event));
    reader.parts
}

#[derive(Default)]
struct Reader {
    /// The deepest level of heading that begins a part; `None` without parts.
    level: Option<HeadingLevel>,
    parts: Vec<Part>,
    /// The text of the block being read.
    runs: Vec<Run>,
    /// Nesting depth of bold marks around the current text.
    strong: usize,
    /// Nesting depth of pictures, which are not shown.
    pictures: usize,
    items: usize,
    table: Vec<Vec<Vec<Run>>>,
}

impl Reader {
    fn read(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text, false),
            Event::Code(text) => self.text(&text, true),
            Event::SoftBreak | Event::HardBreak => self.text(" ", false),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Strong | Tag::Emphasis => self.strong += 1,
            Tag::Image { .. } => self.pictures += 1,
            Tag::Item => self.items += 1,
            Tag::Table(_) => self.table = Vec::new(),
            Tag::TableHead | Tag::TableRow => self.table.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong | TagEnd::Emphasis => self.strong = self.strong.saturating_sub(1),
            TagEnd::Image => self.pictures = self.pictures.saturating_sub(1),
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Paragraph if self.level.is_none() => {}
            TagEnd::Paragraph if self.items == 0 => self.block(Block::Paragraph),
            TagEnd::Item => {
                self.items = self.items.saturating_sub(1);
                self.block(Block::Item);
            }
            TagEnd::CodeBlock => self.block(|runs| Block::Code(plain(&runs).trim_end().to_owned())),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.runs);
                if let Some(row) = self.table.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                let table = std::mem::take(&mut self.table);
                self.push(Block::Table(table));
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, is_code: bool) {
        if self.pictures == 0 {
            self.runs.push(Run { text: text.to_owned(), is_strong: self.strong > 0, is_code });
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        let title = plain(&std::mem::take(&mut self.runs));
        if self.level.is_some_and(|parts| level <= parts) {
            self.parts.push(Part { title, blocks: Vec::new() });
        } else {
            self.push(Block::Heading(title));
        }
    }

    /// Ends the block being read, unless it contains nothing but a picture.
    fn block(&mut self, make: impl FnOnce(Vec<Run>) -> Block) {
        let runs = std::mem::take(&mut self.runs);
        if runs.iter().any(|run| !run.text.trim().is_empty()) {
            self.push(make(runs));
        }
    }

    fn push(&mut self, block: Block) {
        if self.parts.is_empty() {
            self.parts.push(Part::default());
        }
        if let Some(part) = self.parts.last_mut() {
            part.blocks.push(block);
        }
    }
}

fn plain(runs: &[Run]) -> String {
    runs.iter().map(|run| run.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_and_the_glossary_are_all_there() {
        let titles: Vec<&str> = guide().iter().map(|part| part.title.as_str()).collect();
        assert_eq!(titles.len(), 9, "{titles:?}");
        assert!(titles[0].starts_with("A first walk") && titles.contains(&"What the numbers mean"));
        assert!(guide().iter().all(|part| part.blocks.len() > 3));
        let tables = guide().iter().flat_map(|part| &part.blocks).filter(|block| matches!(block, Block::Table(_)));
        assert_eq!(tables.count(), 4);
        let words = glossary().unwrap();
        let headings = words.blocks.iter().filter(|block| matches!(block, Block::Heading(_)));
        assert!(words.title == "Glossary" && headings.count() >= 5);
        for word in ["Impacting Size", "AIFI", "AIFO", "AOFI", "AOFO", "Transient", "Persistent", "Commit (VirtualAlloc)"] {
            let tells = |block: &Block| matches!(block, Block::Paragraph(runs) if plain(runs).contains(word));
            assert!(words.blocks.iter().any(tells), "{word}");
        }
    }

    #[test]
    fn a_paragraph_is_runs_of_one_style() {
        let run = |text: &str, is_strong, is_code| Run { text: text.to_owned(), is_strong, is_code };
        assert_eq!(
            runs("Press *Z*, or `x`"),
            [run("Press ", false, false), run("Z", true, false), run(", or ", false, false), run("x", false, true),]
        );
        let part = &parts("# A\n![a picture](b.png)\n\n- one\n- two\n\n```sh\ncode\n```\n", HeadingLevel::H1)[0];
        assert!(matches!(&part.blocks[..], [Block::Item(_), Block::Item(_), Block::Code(code)] if code == "code"));
    }
}
