//! Moments as the user writes them: seconds since the trace start, a mark by its text, a frame by its number.
//!
//! | form | meaning |
//! |-|-|
//! | `12.5` | seconds; see [`Seconds`] |
//! | `mark:TEXT`, `mark:"TEXT"` | the first mark with that text; see [`find_mark`] |
//! | `frame:N` | the start of frame N of the main swap chain; see [`main_frames`] |
//!
//! Marks and frames can be resolved only with a trace. Cost: one check of each mark.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::model::{Process, ProcessId, Trace};
use crate::nearest::no_such;
use crate::query::{find_mark, main_frames};
use crate::seconds::Seconds;
use crate::units::Ticks;

/// A moment as the user writes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TimeSpec {
    /// Seconds after the trace start.
    At(Seconds),
    /// The first mark with this text.
    Mark(Box<str>),
    /// The start of a frame.
    Frame(usize),
}

/// Prefix of a mark.
const MARK: &str = "mark:";
/// Prefix of a frame.
const FRAME: &str = "frame:";

impl FromStr for TimeSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(text) = text.strip_prefix(MARK) {
            let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            let text = quoted.unwrap_or(text);
            return match text.trim() {
                "" => Err("mark: wants the text of a mark behind it".to_owned()),
                _ => Ok(Self::Mark(text.into())),
            };
        }
        if let Some(number) = text.strip_prefix(FRAME) {
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let number = is_number.then(|| number.parse().ok()).flatten();
            return number.map(Self::Frame).ok_or_else(|| "frame: wants a number behind it, from 0".to_owned());
        }
        text.parse().map(Self::At).map_err(|why| format!("{why}; or mark:TEXT, or frame:NUMBER"))
    }
}

impl fmt::Display for TimeSpec {
    /// Formats the moment so that it can be parsed again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(seconds) => seconds.fmt(f),
            Self::Mark(text) => write!(f, "{MARK}\"{text}\""),
            Self::Frame(number) => write!(f, "{FRAME}{number}"),
        }
    }
}

impl PartialOrd for TimeSpec {
    /// Compares two times or two frames. Marks can be ordered only with a trace.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::At(a), Self::At(b)) => a.partial_cmp(b),
            (Self::Frame(a), Self::Frame(b)) => a.partial_cmp(b),
            (a, b) => (a == b).then_some(Ordering::Equal),
        }
    }
}

impl TimeSpec {
    /// Resolves the moment in a trace. Frames are those of `process` (name or id), or, without one, those of the main
    /// swap chain of the trace. The error lists what exists.
    pub fn ticks(&self, trace: &Trace, process: Option<&str>) -> Result<Ticks, String> {
        match self {
            Self::At(seconds) => Ok(seconds.ticks(&trace.clock)),
            Self::Mark(text) => find_mark(trace, text).ok_or_else(|| no_mark(trace, text)),
            Self::Frame(number) => {
                let lane = main_lane(trace, process).and_then(|lane| trace.activity.presents.get(lane));
                let Some(lane) = lane else { return Err(no_frames(trace, process)) };
                let last = lane.frames() - 1;
                // There is one more time than frames: the last present ends the last frame.
                lane.times.get(*number).copied().ok_or_else(|| {
                    format!("there is no frame {number}: those of {} are 0 to {last}", trace.process_name(lane.process))
                })
            }
        }
    }
}

/// The main swap chain of a process (name or id), or of the trace.
pub fn main_lane(trace: &Trace, process: Option<&str>) -> Option<usize> {
    let Some(wanted) = process else { return main_frames(trace, None) };
    let is_meant = |(_, process): &(u32, &Process)| process.is_called(wanted);
    let lives = (0..).zip(trace.processes.iter().map(|process| &**process)).filter(is_meant);
    let lanes = lives.filter_map(|(id, _)| main_frames(trace, Some(ProcessId(id))));
    lanes.max_by_key(|&lane| (trace.activity.presents[lane].frames(), std::cmp::Reverse(lane)))
}

/// The error for a mark that does not exist.
fn no_mark(trace: &Trace, text: &str) -> String {
    let marks = &trace.activity.marks.list;
    let hint = if marks.is_empty() { " (--marks PROVIDER makes marks of a provider's events)" } else { "" };
    no_such("mark", text, marks.iter().map(|mark| &*mark.text)) + hint
}

fn no_frames(trace: &Trace, process: Option<&str>) -> String {
    match process {
        Some(process) if !trace.activity.presents.is_empty() => format!("{process} has shown no frames"),
        _ => "the trace has no frames".to_owned(),
    }
}

/// Splits `A..B`, where a moment may be a mark whose text has dots: behind a text in quotes; at the last `..` if A is a
/// mark without quotes (before `..mark:"` if B is one with quotes); otherwise at the first.
pub fn split_range(text: &str) -> Option<(&str, &str)> {
    let Some(mark) = text.strip_prefix(MARK) else { return text.split_once("..") };
    if let Some(quoted) = mark.strip_prefix('"')
        && let Some((inside, behind)) = quoted.split_once("\"..")
    {
        return Some((&text[..MARK.len() + inside.len() + 2], behind));
    }
    if text.ends_with('"')
        && let Some((from, to)) = text.rsplit_once("..mark:\"")
    {
        return Some((from, &text[text.len() - to.len() - MARK.len() - 1..]));
    }
    text.rsplit_once("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_written_alike() {
        let read = |text: &str| text.parse::<TimeSpec>().ok();
        assert_eq!(read("12.5"), Some(TimeSpec::At("12.5".parse().unwrap())));
        assert_eq!(read("mark:Level 2"), Some(TimeSpec::Mark("Level 2".into())));
        assert_eq!(read("mark:\"Level 2..3\""), Some(TimeSpec::Mark("Level 2..3".into())));
        assert_eq!(read("mark:\"half"), Some(TimeSpec::Mark("\"half".into())));
        assert_eq!(read("mark:frame:3"), Some(TimeSpec::Mark("frame:3".into())));
        assert_eq!(read("frame:812"), Some(TimeSpec::Frame(812)));
        for bad in [
            "mark:",
            "mark: ",
            "mark:\"\"",
            "frame:",
            "frame:-1",
            "frame:+1",
            "frame:x",
            "frame:99999999999999999999",
            "Mark:a",
            "",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
        for text in ["12.5", "mark:Level 2", "frame:7"] {
            let moment = read(text).unwrap();
            assert_eq!(read(&moment.to_string()), Some(moment));
        }
    }

    #[test]
    fn ranges_are_split_where_their_marks_allow() {
        for (text, from, to) in [
            ("1..2", "1", "2"),
            (".5...75", ".5", ".75"),
            ("..mark:a", "", "mark:a"),
            ("mark:a..", "mark:a", ""),
            ("mark:Level 2..mark:Level 3", "mark:Level 2", "mark:Level 3"),
            ("mark:a..b..12", "mark:a..b", "12"),
            ("mark:Loading.....", "mark:Loading...", ""),
            ("1..mark:a..b", "1", "mark:a..b"),
            ("frame:3..frame:4", "frame:3", "frame:4"),
            ("mark:\"a..b\"..mark:\"c..d\"", "mark:\"a..b\"", "mark:\"c..d\""),
            ("mark:a..mark:\"c..d\"", "mark:a", "mark:\"c..d\""),
            ("mark:\"a..b\"..", "mark:\"a..b\"", ""),
            ("mark:\"a..b", "mark:\"a", "b"),
        ] {
            assert_eq!(split_range(text), Some((from, to)), "{text}");
        }
        for text in ["", "1", "mark:a", "mark:\"a\"", "frame:1"] {
            assert_eq!(split_range(text), None, "{text}");
        }
    }
}
