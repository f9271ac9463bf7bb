//! The protocol between an elevated recorder and the window that started it, over two pipes: JSON lines from the
//! recorder, command words from the window. No command can do harm: the output folder is on the recorder's command line
//! ([`Orders`]), which the user has confirmed.
//!
//! ```text
//! recorder ─▶ {"progress":{…}} four times a second, then "ended" or {"failed":"…"}
//! window   ─▶ stop | mark NAME        (a closed pipe means stop, too)
//! ```
//!
//! The recorder sends its last line when everything was stopped and put back. [`Listener`] receives all lines.

mod listen;
mod orders;

use std::io::{BufRead, BufReader, Read};

use serde::{Deserialize, Serialize};

pub use listen::{End, Listener};
pub use orders::{Errand, Orders, PipeName, Sid};

use super::{Cost, Leftovers, Pulse};

/// A message from the recorder.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The state of the recording.
    Progress(Progress),
    /// Leftovers of earlier recordings that were cleaned up.
    CleanedUp(Leftovers),
    /// Recording failed, or something could not be stopped and put back; why. Always the last line.
    Failed(String),
    /// Everything was stopped and put back. Always the last line.
    Ended,
}

impl Message {
    /// Formats the message as one line, including the line break.
    pub fn line(&self) -> String {
        // Numbers and strings can always be serialized as JSON.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// Parses a line; `None` if it is not a message.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line.trim_end()).ok()
    }
}

/// Lines of a stream without their line breaks. Stops at the end of the stream, at an error, or at a line that is
/// longer than any message. An unterminated last line is dropped.
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

/// The state of a recording. Counts start at its beginning.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The folder with the files that are being written.
    pub folder: String,
    /// Duration so far, in seconds.
    pub seconds: f64,
    /// Events received.
    pub events: u64,
    /// Bytes of these events.
    pub bytes: u64,
    /// Bytes in files at the moment.
    pub on_disk: u64,
    /// Lost events.
    pub lost_events: u64,
    /// Lost buffers.
    pub lost_buffers: u64,
    /// Buffers that hold events, in all sessions.
    pub buffers_used: u32,
    /// Total buffers of all sessions.
    pub buffers_total: u32,
    /// A current problem, as text for the user.
    pub warning: Option<String>,
    /// Why the recording should end, as text for the user; `None` while it should go on. The watcher has to end it.
    pub ends: Option<String>,
    /// The recorder's own memory and CPU use, if known.
    pub cost: Option<Cost>,
}

/// A command from the window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Ends the recording. Its lanes stay in their folder.
    Stop,
    /// Sets a mark at this moment.
    Mark(String),
}

impl Command {
    /// Parses a line; `None` if it is not a command.
    pub fn parse(line: &str) -> Option<Self> {
        match line.trim() {
            "stop" => Some(Self::Stop),
            line => line.strip_prefix("mark ").map(|name| Self::Mark(name.trim().to_owned())),
        }
    }

    /// Formats the command as one line, including the line break.
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
