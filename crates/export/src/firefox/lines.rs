//! Source files and lines of frames, for which the profile writer has no place. A frame with a line is written with a
//! label of its own. In the text of the profile the labels become functions again, with their file, and the frames
//! get their line.
//!
//! Memory: the profile's text, and the tables of one thread.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::tables::KeyedMap;

/// Separates a function's name from the number of its line in a label.
const MARK: char = '\u{1f}';

/// The source lines of a profile's frames.
#[derive(Default)]
pub(super) struct Lines {
    list: Vec<Line>,
    index: KeyedMap<Line, usize>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Line {
    function: String,
    file: String,
    line: Option<u32>,
}

impl Lines {
    /// The label of a function at a line.
    pub(super) fn label(&mut self, function: String, file: Option<&str>, line: Option<u32>) -> String {
        let Some(file) = file else { return function };
        let line = Line { function, file: file.to_owned(), line };
        let number = *self.index.entry(line.clone()).or_insert(self.list.len());
        let label = format!("{}{MARK}{number}", line.function);
        if number == self.list.len() {
            self.list.push(line);
        }
        label
    }

    /// The line that a label stands for.
    fn of(&self, label: &str) -> Option<&Line> {
        let (function, number) = label.rsplit_once(MARK)?;
        self.list.get(number.parse::<usize>().ok()?).filter(|line| line.function == function)
    }

    /// Writes a profile whose frames have such labels, with files and lines in their place.
    pub(super) fn write(&self, profile: &impl Serialize, out: &mut dyn Write) -> serde_json::Result<()> {
        if self.list.is_empty() {
            return serde_json::to_writer(out, profile);
        }
        let text = serde_json::to_string(profile)?;
        let mut whole: Table<'_> = serde_json::from_str(&text)?;
        let threads: Vec<&RawValue> =
            whole.remove("threads").map_or(Ok(Vec::new()), |threads| serde_json::from_str(threads.get()))?;
        let mut out = out;
        out.write_all(b"{\"threads\":[").map_err(serde_json::Error::io)?;
        for (i, thread) in threads.into_iter().enumerate() {
            if i > 0 {
                out.write_all(b",").map_err(serde_json::Error::io)?;
            }
            let mut tables: Table<'_> = serde_json::from_str(thread.get())?;
            let replaced = self.thread(&tables)?;
            tables.extend(replaced.iter().map(|(name, table)| (*name, &**table)));
            serde_json::to_writer(&mut out, &tables)?;
        }
        out.write_all(b"],").map_err(serde_json::Error::io)?;
        let rest = serde_json::to_string(&whole)?;
        out.write_all(&rest.as_bytes()[1..]).map_err(serde_json::Error::io)
    }

    /// The tables of a thread that change, without labels.
    fn thread(&self, tables: &Table<'_>) -> serde_json::Result<Vec<(&'static str, Box<RawValue>)>> {
        let mut strings: Vec<String> = column(tables, "stringArray")?;
        let mut functions: Table<'_> = column(tables, "funcTable")?;
        let mut frames: Table<'_> = column(tables, "frameTable")?;
        let names: Vec<usize> = column(&functions, "name")?;
        let lines: Vec<Option<&Line>> = names.iter().map(|&name| strings.get(name).and_then(|label| self.of(label))).collect();
        // Functions and files get one string each, after the strings that are there.
        let mut numbers: KeyedMap<&str, usize> = KeyedMap::default();
        let mut added: Vec<&str> = Vec::new();
        let first = strings.len();
        let mut number = |text| {
            *numbers.entry(text).or_insert_with(|| {
                added.push(text);
                first + added.len() - 1
            })
        };
        // Labels with the same name and file become one function; `kept` has the first of each.
        let (mut kept, mut files, mut new_names): (Vec<usize>, Vec<Option<usize>>, Vec<usize>) = Default::default();
        let mut known: KeyedMap<(usize, usize), usize> = KeyedMap::default();
        let of_old: Vec<usize> = (0..names.len())
            .map(|old| {
                let mut keep = |name, file| {
                    kept.push(old);
                    new_names.push(name);
                    files.push(file);
                    kept.len() - 1
                };
                match lines[old] {
                    None => keep(names[old], None),
                    Some(line) => {
                        let (name, file) = (number(&line.function), number(&line.file));
                        *known.entry((name, file)).or_insert_with(|| keep(name, Some(file)))
                    }
                }
            })
            .collect();
        let of_frame: Vec<usize> = column(&frames, "func")?;
        let frame_lines: Vec<Option<u32>> = of_frame.iter().map(|&old| lines.get(old).copied().flatten()?.line).collect();
        let new_functions: Vec<usize> = of_frame.iter().filter_map(|&old| of_old.get(old).copied()).collect();
        for (&name, line) in names.iter().zip(&lines) {
            if line.is_some() {
                strings[name].clear(); // nothing refers to it any more
            }
        }
        strings.extend(added.into_iter().map(str::to_owned));
        let none = vec![None::<u32>; kept.len()];
        let mut replaced = vec![("length", to_raw_value(&kept.len())?), ("name", to_raw_value(&new_names)?)];
        replaced.extend([
            ("fileName", to_raw_value(&files)?),
            ("lineNumber", to_raw_value(&none)?),
            ("columnNumber", to_raw_value(&none)?),
        ]);
        for name in ["isJS", "relevantForJS", "resource"] {
            let old: Vec<&RawValue> = column(&functions, name)?;
            replaced.push((name, to_raw_value(&kept.iter().filter_map(|&at| old.get(at)).collect::<Vec<_>>())?));
        }
        functions.extend(replaced.iter().map(|(name, value)| (*name, &**value)));
        let of_frames = [("func", to_raw_value(&new_functions)?), ("line", to_raw_value(&frame_lines)?)];
        frames.extend(of_frames.iter().map(|(name, value)| (*name, &**value)));
        Ok(vec![
            ("stringArray", to_raw_value(&strings)?),
            ("funcTable", to_raw_value(&functions)?),
            ("frameTable", to_raw_value(&frames)?),
        ])
    }
}

/// A JSON object by its keys; the values are unparsed text.
type Table<'a> = BTreeMap<&'a str, &'a RawValue>;

fn column<'a, T: serde::Deserialize<'a>>(table: &Table<'a>, name: &str) -> serde_json::Result<T> {
    serde_json::from_str(table.get(name).map_or("null", |value| value.get()))
}
