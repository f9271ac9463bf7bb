//! What a recorder and the window that watches it tell each other: lines of JSON one way,
//! words the other. The same on standard streams and on the pipes of an elevated recorder.
//! A recorder with rights is told nothing that it could do harm with: where it writes stands
//! on its command line, which the user has agreed to.
//!
//! ```text
//! recorder ─▶ {"progress":{…}} four times a second, then {"done":{…}} or {"failed":"…"}
//! window   ─▶ stop | mark NAME        (its end means stop, too)
//! ```

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Cost, Pulse, Request, Ring, Target};

/// What a recorder says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// How it goes.
    Progress(Progress),
    /// Everything is in one file.
    Done {
        /// Which.
        path: String,
        /// Events in it.
        events: u64,
    },
    /// Why nothing is recorded, or the recording could not be completed.
    Failed(String),
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
    /// By how many nanoseconds times of trackers may be wrong; `None` if there are none.
    pub clock_error_ns: Option<u64>,
    /// Whether every process that is recorded has ended.
    pub is_target_gone: bool,
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
    /// End the recording: into the trace that was named at the start, if one was; else it
    /// stays in its folder.
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

/// The command line of a recorder that does this in a folder, and is told the rest.
pub fn words(request: &Request, folder: &Path) -> Vec<String> {
    let mut words = vec!["record".to_owned(), "--control".to_owned(), "--folder".to_owned(), folder.display().to_string()];
    let mut say = |name: &str, value: String| words.extend([name.to_owned(), value]);
    match &request.target {
        Target::Pids(pids) => say("--pid", pids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        Target::Image(name) => say("--name", name.clone()),
        Target::Launch(command) => say("--launch", command.clone()),
    }
    match request.ring {
        Some(Ring::Time(time)) => say("--ring", format!("{}s", time.as_secs())),
        Some(Ring::Bytes(bytes)) => say("--ring", format!("{}MB", bytes >> 20)),
        None => {}
    }
    request.stop_when.iter().for_each(|condition| say("--stop-when", condition.to_string()));
    let flags = [
        ("--commit", request.commit),
        ("--heap", request.heap),
        ("--trackers", request.trackers),
        ("--stacks", request.stacks),
        ("--free-stacks", request.free_stacks),
    ];
    words.extend(flags.iter().filter(|(_, is_on)| *is_on).map(|(flag, _)| (*flag).to_owned()));
    words
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
        let done = Message::Done { path: "out.etl".into(), events: 3 };
        for message in [Message::Progress(progress), done, Message::Failed("no rights".into())] {
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
