//! What an elevated recorder and the window that started it tell each other through two
//! pipes: lines of JSON one way, words the other. The recorder is told nothing on them that it
//! could do harm with: where it writes stands on its command line ([`Orders`]), which the user
//! has agreed to.
//!
//! ```text
//! recorder ─▶ {"progress":{…}} four times a second, then "ended" or {"failed":"…"}
//! window   ─▶ stop | mark NAME        (its end means stop, too)
//! ```
//!
//! The last line is said when everything was stopped and put back. [`Listener`] takes it all.

mod listen;
mod orders;

use std::io::{BufRead, BufReader, Read};

use serde::{Deserialize, Serialize};

pub use listen::{End, Listener};
pub use orders::{Errand, Orders, PipeName, Sid};

use super::{Cost, Leftovers, Pulse};

/// What a recorder says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// How it goes.
    Progress(Progress),
    /// What was left of others and is gone now.
    CleanedUp(Leftovers),
    /// Why nothing is recorded, or what could not be stopped and put back. The last line.
    Failed(String),
    /// Everything was stopped and put back. The last line.
    Ended,
}

impl Message {
    /// One line, with its end.
    pub fn line(&self) -> String {
        // Numbers and texts always become JSON.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// The way back; `None` for what is no message.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line.trim_end()).ok()
    }
}

/// Lines of a stream without their ends: up to its end, an error, or a line that is longer
/// than anything that is said here. What has no end of a line is not one.
pub fn lines(stream: impl Read) -> impl Iterator<Item = String> {
    const MOST: u64 = 1 << 20;
    let mut stream = BufReader::new(stream);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        stream.by_ref().take(MOST).read_until(b'\n', &mut line).ok()?;
        line.pop_if(|byte| *byte == b'\n')?;
        String::from_utf8(line).ok()
    })
}

/// How a recording goes. Counts are from its start.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Where its files grow.
    pub folder: String,
    /// Since when.
    pub seconds: f64,
    /// Events that came.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes in files now.
    pub on_disk: u64,
    /// Events that were lost.
    pub lost_events: u64,
    /// Whole buffers that were lost.
    pub lost_buffers: u64,
    /// Buffers of all sessions that hold events, ...
    pub buffers_used: u32,
    /// ... and those there are.
    pub buffers_total: u32,
    /// What is wrong now, for people.
    pub warning: Option<String>,
    /// It is over by itself, and why; for people. Whoever watches it ends it.
    pub ends: Option<String>,
    /// What the recorder takes, if it knows.
    pub cost: Option<Cost>,
}

/// What a window wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// End the recording. Its lanes stay in their folder.
    Stop,
    /// Name this moment.
    Mark(String),
}

impl Command {
    /// From one line; `None` for what is no command.
    pub fn parse(line: &str) -> Option<Self> {
        match line.trim() {
            "stop" => Some(Self::Stop),
            line => line.strip_prefix("mark ").map(|name| Self::Mark(name.trim().to_owned())),
        }
    }

    /// One line, with its end.
    pub fn line(&self) -> String {
        match self {
            Self::Stop => "stop\n".to_owned(),
            Self::Mark(name) => format!("mark {}\n", name.replace(['\r', '\n'], " ")),
        }
    }
}

impl From<Progress> for Pulse {
    fn from(progress: Progress) -> Self {
        Self {
            events: progress.events,
            bytes: progress.bytes,
            lost_events: progress.lost_events,
            lost_buffers: progress.lost_buffers,
            buffers_in_use: progress.buffers_used.into(),
            buffers: progress.buffers_total.into(),
            failure: progress.warning,
            ends: progress.ends,
            cost: progress.cost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_from_one_line_each() {
        let progress = Progress {
            folder: r"C:\a b\ü".into(),
            seconds: 1.25,
            events: 7,
            warning: Some("x\ny".into()),
            ends: Some("all is over".into()),
            cost: Some(Cost { private_bytes: 84 << 20, core_percent: 1.25 }),
            ..Progress::default()
        };
        let cleaned_up = Leftovers { sessions: vec!["highwater-7-heap".into()], images: vec!["ü.exe".into()] };
        let others = [Message::CleanedUp(cleaned_up), Message::Failed("no rights".into()), Message::Ended];
        for message in others.into_iter().chain([Message::Progress(progress)]) {
            let line = message.line();
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(Message::parse(&line), Some(message));
        }
        assert_eq!(Message::parse("{}"), None);
    }

    #[test]
    fn commands_come_back_and_nothing_else_is_one() {
        for command in [Command::Stop, Command::Mark("level 2, boss".into())] {
            assert_eq!(Command::parse(&command.line()), Some(command));
        }
        assert_eq!(Command::parse(&Command::Mark("a\nstop".into()).line()), Some(Command::Mark("a stop".into())));
        for other in ["", "stopped", "mark", "MARK x"] {
            assert_eq!(Command::parse(other), None, "{other:?}");
        }
    }
}
