//! A report as one HTML page: it needs no other file, no script and no network, so that it can be sent to anybody.
//!
//! Names in a trace are foreign: all text is escaped by the template library and made plain before.

mod flame;
mod lanes;
mod page;

use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use flame::{Color, FlameBox, FlameGraph};
pub use lanes::Lane;
pub use page::{Cell, Column, Entry, Line, Page, Table, command};

use highwater_engine::format::{plain, sentence};

/// Largest size of a page in bytes.
pub const MOST_BYTES: usize = 2_000_000;

/// Room that is kept for everything but the tables and flame graphs, in bytes: their lines and boxes are left out first.
const ROOM: usize = 800_000;

/// Room for the boxes of all flame graphs, in bytes.
const FLAME_ROOM: usize = 500_000;

/// Largest length of a text in a page, in characters; longer ones are cut in the middle.
const MOST_TEXT: usize = 400;

const STYLE: &str = include_str!("style.css");

/// Writes the page. Lines of tables and boxes of flame graphs that would make it larger than [`MOST_BYTES`] are
/// left out, and it says so.
pub fn write(page: &Page, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(markup(page).into_string().as_bytes())
}

fn markup(page: &Page) -> Markup {
    let mut room = FLAME_ROOM;
    let flames: Vec<Markup> = page.flames.iter().map(|graph| flame::draw(graph, &mut room)).collect();
    let mut room = MOST_BYTES - ROOM - (FLAME_ROOM - room);
    let tables: Vec<Markup> = page.tables.iter().map(|table| self::table(table, &mut room)).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(concat!("highwater ", env!("CARGO_PKG_VERSION")));
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                title { (text(&page.title)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (text(&page.title)) }
                    dl { @for (name, value) in &page.facts { div { dt { (text(name)) } dd { (text(value)) } } } }
                }
                @if !page.doubts.is_empty() {
                    section.doubts {
                        h2 { "The numbers may be off" }
                        ul { @for doubt in &page.doubts { li { (text(&sentence(doubt))) } } }
                    }
                }
                section.graph {
                    h2 { "Outstanding size over time" }
                    (lanes::draw(page))
                }
                @if let Some(findings) = &page.findings {
                    section.findings {
                        h2 { "Findings" }
                        @if page.has_findings_of_all && page.selected.is_some() { p.note { "Of the whole trace." } }
                        @if findings.is_empty() { p { "Nothing stands out." } }
                        @for entry in findings { (finding(entry)) }
                    }
                }
                @for graph in flames { (graph) }
                @for table in tables { (table) }
                footer {
                    @if let Some(command) = &page.command { p { "The same numbers on the command line:" } pre { (plain(command)) } }
                    @else { p { "No single command prints the same numbers: the command line lacks one of the filters or files." } }
                    p { "Written by highwater " (env!("CARGO_PKG_VERSION")) ". Layers (commit, heap, tracker) contain each other and are never added." }
                }
            }
        }
    }
}

fn finding(entry: &Entry) -> Markup {
    html! {
        article {
            p.text { (text(&entry.text)) }
            @if !entry.frames.is_empty() {
                details {
                    summary { (text(&entry.frames[0])) }
                    ol { @for frame in &entry.frames[1..] { li { (text(frame)) } } }
                }
            }
            @for doubt in &entry.doubts { p.doubt { "But: " (text(doubt)) } }
        }
    }
}

/// One table, with as many lines as there is room for.
fn table(table: &Table, room: &mut usize) -> Markup {
    let mut lines = Vec::new();
    for line in &table.lines {
        let markup = self::line(table, line);
        let size = markup.0.len();
        if size > *room {
            break;
        }
        *room -= size;
        lines.push(markup);
    }
    let left_out = table.left_out + (table.lines.len() - lines.len()) as u64;
    html! {
        section.table {
            h2 { (text(&table.title)) }
            @if table.lines.is_empty() { p { (text(&table.if_empty)) } }
            @else {
                div.scroll {
                    table {
                        thead { tr { @for column in &table.columns { th.number[column.is_number] scope="col" { (text(&column.name)) } } } }
                        tbody { @for line in &lines { (line) } }
                    }
                }
            }
            @if left_out > 0 { p.rest { "\u{2026} and " (highwater_engine::format::count(left_out)) " more lines" } }
        }
    }
}

fn line(table: &Table, line: &Line) -> Markup {
    let indent = format!("padding-left:{}em", f32::from(line.depth.min(40)) * 0.9 + 0.6);
    html! {
        tr {
            @for (at, cell) in line.cells.iter().enumerate() {
                @let is_number = table.columns.get(at).is_some_and(|column| column.is_number);
                @let style = (at == 0 && line.depth > 0).then_some(&*indent);
                td.number[is_number] style=[style] {
                    @if let Some(share) = cell.share { span.bar style=(format!("width:{:.1}%", share.clamp(0.0, 1.0) * 100.0)) {} }
                    span { (text(&cell.text)) }
                    @if at == 0 && !line.notes.is_empty() { ol { @for note in &line.notes { li { (text(note)) } } } }
                }
            }
        }
    }
}

/// A text without control characters, cut in the middle if it is very long.
fn text(text: &str) -> String {
    let text = plain(text);
    let count = text.chars().count();
    if count <= MOST_TEXT {
        return text;
    }
    let half = MOST_TEXT / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{start}\u{2026}{end}")
}
