//! A command's JSON as a bounded answer: it is read while the command writes it, lists are cut at their ends, and the rest
//! stays as it was written.
//!
//! Lists are the arrays of the answer and of objects in it, not those in the entries of another list. `doubts` come first,
//! then each list in the order of the answer, as many entries as fit. Memory is at most the bound for each list.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Bytes of an answer unless a call says otherwise.
pub(super) const USUAL: usize = 20_000;
/// Most bytes that a call can ask for.
pub(super) const MOST: usize = 10_000_000;

/// Key of the number of entries that were left out.
const TRUNCATED: &str = "truncated";
/// Room for that key and any number.
const ROOM_FOR_TRUNCATED: usize = TRUNCATED.len() + 26;

/// An answer of a command, with lists that may be shorter than they were.
#[derive(Debug)]
pub(super) struct Answer(Vec<(String, Node)>);

#[derive(Debug)]
enum Node {
    Scalar(Value),
    Object(Vec<(String, Node)>),
    List(List),
}

/// The first entries of a list.
#[derive(Debug, Default)]
struct List {
    /// Entries that may be shown.
    kept: Vec<Box<RawValue>>,
    /// Entries that are shown.
    shown: usize,
    /// Entries that there were.
    count: u64,
}

impl Answer {
    /// Reads a command's JSON, an object, of which at most about `most` bytes can be shown.
    pub(super) fn read(from: impl Read, most: usize) -> Result<Self, serde_json::Error> {
        let mut json = serde_json::Deserializer::from_reader(std::io::BufReader::new(from));
        match (Keep { most }).deserialize(&mut json)? {
            Node::Object(entries) => json.end().map(|()| Self(entries)),
            _ => Err(serde::de::Error::custom("an answer is an object")),
        }
    }

    /// The answer as JSON that [`printed_bytes`] counts as at most `most`, with the command that gives it. The error is the
    /// number of bytes that it has without any entry.
    pub(super) fn text(mut self, command: String, most: usize) -> Result<String, usize> {
        self.0.push(("command".to_owned(), Node::Scalar(command.into())));
        let least = printed_bytes(&self.json());
        let with_truncated = least + ROOM_FOR_TRUNCATED;
        let mut lists = Vec::new();
        lists_of(&mut self.0, &mut lists);
        lists.sort_by_key(|(name, _)| *name != "doubts"); // stable
        let mut show = |mut room| lists.iter_mut().map(|(_, list)| list.show(&mut room)).sum::<u64>();
        if most.checked_sub(least).is_none_or(|room| show(room) > 0) {
            let left_out = show(most.checked_sub(with_truncated).ok_or(with_truncated)?);
            self.0.push((TRUNCATED.to_owned(), Node::Scalar(left_out.into())));
        }
        Ok(self.json())
    }

    fn json(&self) -> String {
        // Neither a key that is no text nor a failing writer: nothing can go wrong.
        serde_json::to_string(&Object(&self.0)).unwrap_or_default()
    }
}

impl List {
    /// Shows as many entries as there is room for; returns how many are left out.
    fn show(&mut self, room: &mut usize) -> u64 {
        self.shown = 0;
        for entry in &self.kept {
            let Some(rest) = room.checked_sub(entry_bytes(entry)) else { break };
            *room = rest;
            self.shown += 1;
        }
        self.count - self.shown as u64
    }
}

/// All lists of an object and of objects in it, with their keys.
fn lists_of<'a>(object: &'a mut [(String, Node)], all: &mut Vec<(&'a str, &'a mut List)>) {
    for (name, node) in object {
        match node {
            Node::List(list) => all.push((name, list)),
            Node::Object(entries) => lists_of(entries, all),
            Node::Scalar(_) => {}
        }
    }
}

/// Bytes of an entry of a list, with the comma.
fn entry_bytes(entry: &RawValue) -> usize {
    printed_bytes(entry.get()) + 2
}

/// Bytes of JSON as clients may print it that are generous with both: a blank behind each comma and colon, and what is not
/// ASCII as `\u1234`.
fn printed_bytes(json: &str) -> usize {
    let (mut is_text, mut is_escaped) = (false, false);
    let mut bytes = 0;
    for c in json.chars() {
        bytes += match c {
            ',' | ':' if !is_text => 2,
            c if c.is_ascii() => 1,
            c => 6 * c.len_utf16(),
        };
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_text,
            '"' => is_text = !is_text,
            _ => {}
        }
    }
    bytes
}

/// Reads a value, of each list as many entries as fit.
#[derive(Clone, Copy)]
struct Keep {
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Keep {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keep {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key()? {
            entries.push((key, map.next_value_seed(self)?));
        }
        Ok(Node::Object(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut list = List::default();
        let mut room = Some(self.most);
        while let Some(entry) = seq.next_element::<Box<RawValue>>()? {
            list.count += 1;
            room = room.and_then(|room| room.checked_sub(entry_bytes(&entry)));
            if room.is_none() {
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    list.count += 1;
                }
                break;
            }
            list.kept.push(entry);
        }
        Ok(Node::List(list))
    }
}

/// An object with its keys in their order.
struct Object<'a>(&'a [(String, Node)]);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
        map.end()
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Scalar(value) => value.serialize(serializer),
            Self::Object(entries) => Object(entries).serialize(serializer),
            Self::List(list) => {
                let mut seq = serializer.serialize_seq(Some(list.shown))?;
                list.kept[..list.shown].iter().try_for_each(|entry| seq.serialize_element(entry))?;
                seq.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(json: &str, most: usize) -> Result<String, usize> {
        Answer::read(json.as_bytes(), most).unwrap().text("x".to_owned(), most)
    }

    const JSON: &str = r#"{"schema":"s","groups":[{"a":0.1,"stack":["f","g"]},{"a":2,"stack":[]},{"a":3}],"of":{"list":[1,2,3]},"doubts":["d"]}"#;

    #[test]
    fn an_answer_that_fits_stays_as_it_is_written() {
        let text = bounded(JSON, 1000).unwrap();
        assert_eq!(text, format!(r#"{},"command":"x"}}"#, JSON.strip_suffix('}').unwrap()));
    }

    #[test]
    fn lists_are_cut_at_their_ends_and_doubts_come_first() {
        let whole = bounded(JSON, 1000).unwrap();
        let mut left_out = Vec::new();
        // Each of three lists counts a comma too many.
        for most in 0..printed_bytes(&whole) + 7 {
            let Ok(text) = bounded(JSON, most) else { continue };
            assert!(printed_bytes(&text) <= most, "{most}: {text}");
            let value: Value = serde_json::from_str(&text).unwrap();
            let (groups, list) = (value["groups"].as_array().unwrap(), value["of"]["list"].as_array().unwrap());
            let doubts = value["doubts"].as_array().unwrap();
            let missing = 7 - groups.len() - list.len() - doubts.len();
            assert_eq!(value[TRUNCATED].as_u64().unwrap_or(0), missing as u64);
            assert_eq!(value.get(TRUNCATED).is_some(), missing > 0, "{most}");
            assert!(!doubts.is_empty() || missing == 7 || groups.is_empty());
            let whole: Value = serde_json::from_str(&whole).unwrap();
            assert_eq!(groups[..], whole["groups"].as_array().unwrap()[..groups.len()]);
            left_out.push(missing);
        }
        assert!(left_out.contains(&7) && left_out.last() == Some(&0), "{left_out:?}");
    }

    #[test]
    fn what_cannot_be_cut_is_an_error_with_the_bytes_that_it_needs() {
        let least = bounded(JSON, 10).unwrap_err();
        assert!(bounded(JSON, least - 1).is_err() && bounded(JSON, least).is_ok());
    }

    #[test]
    fn entries_beyond_the_bound_are_counted_and_not_kept() {
        let json = format!(r#"{{"groups":[{}7]}}"#, r#"{"x":"yyyyyyyyyyyyyyyyyyyy"},"#.repeat(10_000));
        let Answer(entries) = Answer::read(json.as_bytes(), 1000).unwrap();
        let [(_, Node::List(list))] = &entries[..] else { panic!("{entries:?}") };
        assert!(list.kept.len() < 100 && list.count == 10_001, "{}", list.kept.len());
    }

    #[test]
    fn bytes_are_counted_as_generous_writers_print_them() {
        assert_eq!(printed_bytes(r#"{"a":1,"b":[]}"#), r#"{"a": 1, "b": []}"#.len());
        assert_eq!(printed_bytes(r#""a:b,\"c,""#), r#""a:b,\"c,""#.len());
        assert_eq!(printed_bytes("\"\u{e9}\u{1f600}\""), r#""\u00e9\ud83d\ude00""#.len());
    }

    #[test]
    fn what_is_no_object_is_no_answer() {
        for json in ["", "[]", "{", "{}{}", "7"] {
            assert!(Answer::read(json.as_bytes(), 1000).is_err(), "{json}");
        }
    }
}
