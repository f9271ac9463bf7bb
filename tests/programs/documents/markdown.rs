//! Fenced blocks and code spans of Markdown, as far as the documents use it.

/// A fenced block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The word after the fence.
    pub language: String,
    /// Its lines, without their ends.
    pub lines: Vec<String>,
    /// Number of its first line in the document, from 1.
    pub first: usize,
}

impl Block {
    /// The lines as one text.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The fenced blocks of a document.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let lines = lines.by_ref().map(|(_, line)| line.to_owned()).take_while(|line| line != "```").collect();
            found.push(Block { language: language.to_owned(), lines, first: at + 2 });
        }
    }
    found
}

/// The code spans of a document, outside of its blocks.
pub fn spans(text: &str) -> impl Iterator<Item = String> {
    let mut is_inside = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_inside = !is_inside;
        } else if !is_inside {
            prose.extend([line, "\n"]);
        }
    }
    // A span does not go beyond its paragraph.
    let of_paragraph = |paragraph: &str| -> Vec<String> {
        paragraph.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " ").replace("\\|", "|")).collect()
    };
    prose.split("\n\n").flat_map(of_paragraph).collect::<Vec<_>>().into_iter()
}

/// The targets of the links of a document.
pub fn links(text: &str) -> impl Iterator<Item = String> {
    text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()))
}

/// The names of a document's headings, as links name them.
pub fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let name = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    headings.map(name).collect::<Vec<_>>().into_iter()
}

#[test]
fn blocks_and_spans_are_told_apart() {
    let text = "a `b c` `d\ne`\n\n```sh\nx `y`\n\nz\n```\n`f`\n";
    assert_eq!(spans(text).collect::<Vec<_>>(), ["b c", "d e", "f"]);
    assert_eq!(links("[a](b.md#c) and [d](e)").collect::<Vec<_>>(), ["b.md#c", "e"]);
    assert_eq!(anchors("# A b\n## c: `d` […]\n").collect::<Vec<_>>(), ["a-b", "c-d-"]);
    let [block] = &blocks(text)[..] else { panic!() };
    assert_eq!((block.language.as_str(), block.first, block.text().as_str()), ("sh", 5, "x `y`\n\nz\n"));
}
