//! speedscope's own JSON (`https://www.speedscope.app/file-format-schema.json`): one *sampled* profile whose samples
//! are stacks, the process outermost. Weights cannot be negative there, so *impacting* becomes two profiles: what
//! grew and what shrank.
//!
//! Frames are numbered in the order in which they appear, and follow the profiles. Memory: 8 bytes per stack, and
//! each frame's name once.

use std::cell::RefCell;
use std::io::Write;

use serde::{Serialize, Serializer};

use super::stacks::{self, StackMet, no_frames, weight};
use super::streamed::{Streamed, Take, write};
use super::{ExportError, Exported, Value};
use crate::tables::KeyedMap;

/// The file; its field names are those of the schema.
#[derive(Serialize)]
struct File<'a, Samples> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    profiles: Vec<Profile<'a, Samples>>,
    shared: Shared<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'a, Samples> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u8,
    samples: Samples,
    weights: Written<'a, Vec<u64>>,
    end_value: Sum<'a>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Written<'a, Vec<Frame>>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

/// Data that is collected while samples are written.
#[derive(Default)]
struct Gathered {
    frames: RefCell<Vec<Frame>>,
    numbers: RefCell<KeyedMap<FrameKey, usize>>,
}

type FrameKey = (String, Option<String>, Option<u32>);

/// A value that is complete only when it is serialized, after the samples.
struct Written<'a, T>(&'a RefCell<T>);

/// The sum of the weights.
struct Sum<'a>(&'a RefCell<Vec<u64>>);

/// Writes a speedscope file.
pub fn speedscope(exported: &Exported<'_>, value: Value, out: &mut dyn Write) -> Result<(), ExportError> {
    let layer = match exported.only_layer(value)? {
        _ if value == Value::Samples => "CPU",
        layer => layer.map_or("memory", |layer| layer.name()),
    };
    let gathered = Gathered::default();
    let stopped = RefCell::default();
    let weights = [RefCell::<Vec<u64>>::default(), RefCell::default()];
    let signs: &[(i128, &str)] = if value == Value::Impacting { &[(1, ", grew"), (-1, ", shrank")] } else { &[(1, "")] };
    let (gathered, stopped) = (&gathered, &stopped);
    let profiles = signs.iter().zip(&weights).map(|(&(sign, which), weights)| Profile {
        kind: "sampled",
        name: format!("{layer}: {}{which}", value.name()),
        unit: if value.is_bytes() { "bytes" } else { "none" },
        start_value: 0,
        samples: Streamed::new(stopped, move |take: Take<'_, Vec<usize>>| {
            stacks::each(exported, value, |stack| {
                let Ok(weight @ 1..) = u64::try_from(weight(&stack.numbers, value) * sign) else { return Ok(()) };
                weights.borrow_mut().push(weight);
                take(gathered.frames(&stack))
            })
        }),
        weights: Written(weights),
        end_value: Sum(weights),
    });
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        exporter: concat!("highwater ", env!("CARGO_PKG_VERSION")),
        name: format!("{layer}: {}", value.name()),
        active: 0,
        profiles: profiles.collect(),
        shared: Shared { frames: Written(&gathered.frames) },
    };
    write(out, &file, None, stopped)
}

impl Gathered {
    fn frame(&self, key: FrameKey) -> usize {
        let mut frames = self.frames.borrow_mut();
        let (name, file, line) = key.clone();
        *self.numbers.borrow_mut().entry(key).or_insert_with(|| {
            frames.push(Frame { name, file, line });
            frames.len() - 1
        })
    }

    /// The numbers of a stack's frames, from the process inwards.
    fn frames(&self, stack: &StackMet<'_>) -> Vec<usize> {
        let mut all = vec![self.frame((stack.process_name.to_string(), None, None))];
        if stack.frames.is_empty() {
            all.push(self.frame((no_frames(stack).to_owned(), None, None)));
        }
        all.extend(stack.frames.iter().map(|frame| {
            let (file, line) = frame.source();
            self.frame((frame.name().to_string(), file.map(str::to_owned), line))
        }));
        all
    }
}

impl<T: Serialize> Serialize for Written<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.borrow().serialize(serializer)
    }
}

impl Serialize for Sum<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let sum = self.0.borrow().iter().fold(0u64, |sum, &weight| sum.saturating_add(weight));
        serializer.serialize_u64(sum)
    }
}
