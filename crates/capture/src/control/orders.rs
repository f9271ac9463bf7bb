//! The command line of an elevated recorder, formatted and parsed. Anybody can start the recorder with any arguments
//! (Windows then asks the user), so it accepts exactly what the window sends and nothing else. Names of pipes and users
//! are validated.
//!
//! ```text
//! --request {…} --folder C:\… | --clean-up     the task
//! --pipe highwater-… --sid S-1-…               the pipe, and the user who may open it
//! ```

use std::ffi::OsString;
use std::path::PathBuf;

use crate::{CaptureError, Request};

/// The orders that a recorder is started with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Orders {
    /// The task to do.
    pub errand: Errand,
    /// The pipe for progress and commands.
    pub pipe: PipeName,
    /// The user who may open the pipe.
    pub sid: Sid,
}

/// A task of a recorder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Errand {
    /// Records into lanes in a folder until it is told to stop.
    Record {
        /// The request.
        request: Box<Request>,
        /// The folder, which exists already.
        folder: PathBuf,
    },
    /// Stops the sessions and restores the registry values of recordings that no longer run.
    CleanUp,
}

/// The name of a pair of pipes: `highwater-` and letters, digits and dashes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PipeName(String);

impl PipeName {
    /// Checks a name; `None` if it is not of this form.
    pub fn new(name: &str) -> Option<Self> {
        const MOST: usize = 128;
        let rest = name.strip_prefix("highwater-")?;
        let is_name = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (is_name && name.len() <= MOST).then(|| Self(name.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The SID of one account as text, `S-1-5-21-…`. Its parts are numbers, so it cannot smuggle anything else into the
/// text of a security descriptor, such as the two letters that stand for everybody. Well-known groups such as `S-1-1-0`
/// (everybody) are refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sid(String);

impl Sid {
    /// Checks a SID; `None` if it is not that of one account.
    pub fn new(text: &str) -> Option<Self> {
        /// More numbers than an account's SID has.
        const MOST: usize = 8;
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let number = |part: &str| is_number(part).then(|| part.parse::<u32>().ok()).flatten();
        let numbers: Vec<u32> = text.strip_prefix("S-1-")?.splitn(MOST, '-').map(number).collect::<Option<_>>()?;
        // Accounts of machines and domains, cloud accounts (Entra ID), and the system itself.
        let is_account = match numbers[..] {
            [5, 21, _, _, _, id] => !is_built_in_group(id),
            [12, 1, _, _, _, _] | [5, 18] => true,
            _ => false,
        };
        is_account.then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether this last number of a domain SID is that of a built-in group: below 1,000 only a few are users (Microsoft's
/// page of well-known SIDs).
fn is_built_in_group(id: u32) -> bool {
    const USERS: [u32; 5] = [500, 501, 502, 503, 504];
    id < 1000 && !USERS.contains(&id)
}

impl Orders {
    /// Formats the orders as command line arguments, without the program's name.
    pub fn words(&self) -> Result<Vec<String>, CaptureError> {
        let mut words = match &self.errand {
            Errand::CleanUp => vec!["--clean-up".to_owned()],
            Errand::Record { request, folder } => {
                let folder = folder.to_str().ok_or_else(|| bad("the path of the folder is not text"))?;
                let request = serde_json::to_string(request).map_err(|error| bad(&error.to_string()))?;
                vec!["--request".to_owned(), request, "--folder".to_owned(), folder.to_owned()]
            }
        };
        words.extend(["--pipe", self.pipe.as_str(), "--sid", self.sid.as_str()].map(str::to_owned));
        Ok(words)
    }

    /// Parses command line arguments. Unknown and repeated arguments are errors.
    pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, CaptureError> {
        let mut words = words.into_iter().map(|word| word.into_string().map_err(|_| bad("a word is not text")));
        let (mut request, mut folder, mut pipe, mut sid, mut clean_up) = (None, None, None, None, None);
        while let Some(word) = words.next() {
            let slot = match word?.as_str() {
                "--clean-up" => {
                    if clean_up.replace(()).is_some() {
                        return Err(bad("a word stands there twice"));
                    }
                    continue;
                }
                "--request" => &mut request,
                "--folder" => &mut folder,
                "--pipe" => &mut pipe,
                "--sid" => &mut sid,
                other => return Err(bad(&format!("nobody knows the word {other:?}"))),
            };
            let value = words.next().ok_or_else(|| bad("the last word is missing"))??;
            if slot.replace(value).is_some() {
                return Err(bad("a word stands there twice"));
            }
        }
        let errand = match (request, folder, clean_up) {
            (None, None, Some(())) => Errand::CleanUp,
            (Some(request), Some(folder), None) => {
                let request: Request = serde_json::from_str(&request).map_err(|error| bad(&error.to_string()))?;
                Errand::Record { request: Box::new(request), folder: folder.into() }
            }
            _ => return Err(bad("it takes a request with a folder, or --clean-up")),
        };
        let pipe = pipe.as_deref().and_then(PipeName::new).ok_or_else(|| bad("--pipe highwater-… is wanted"))?;
        let sid = sid.as_deref().and_then(Sid::new).ok_or_else(|| bad("--sid S-1-… is wanted"))?;
        Ok(Self { errand, pipe, sid })
    }
}

fn bad(reason: &str) -> CaptureError {
    CaptureError::BadRequest(format!("the recorder's command line: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::events::class;
    use crate::{Ring, Target};

    fn orders(errand: Errand) -> Orders {
        Orders { errand, pipe: PipeName::new("highwater-0a1B-7").unwrap(), sid: Sid::new("S-1-5-21-7-8-9-1001").unwrap() }
    }

    fn record(request: Request) -> Orders {
        orders(Errand::Record { request: Box::new(request), folder: r"\\?\C:\a b\größer 漢字".into() })
    }

    fn parse(words: &[String]) -> Result<Orders, CaptureError> {
        Orders::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn what_the_window_asks_for_is_what_the_recorder_understands() {
        let all = Request::new(Target::Pids(vec![10, 20]));
        let requests = [
            all.clone(),
            Request { commit: false, trackers: false, stacks: false, ..Request::new(Target::Image("my game.exe".into())) },
            Request { free_stacks: true, ring: Some(Ring::Time(Duration::from_millis(90_500))), ..all.clone() },
            Request { ring: Some(Ring::Bytes((64 << 20) + 1)), ..Request::new(Target::Launch("a \"b c\" \\".into())) },
            Request {
                stop_when: ["private>8G", "commit>90%", "commit>61441M", "free<500M", "growth>10M/s"]
                    .map(|condition| condition.parse().unwrap())
                    .to_vec(),
                ..all.clone()
            },
            Request { buffer_size: Some(1 << 20), buffers: Some(64), heap: false, ..all.clone() },
            Request { frames: true, ..all.clone() },
            Request { managed: true, ..all.clone() },
            Request { marks: vec![class::MULTI_MAIN, class::MULTI_WORKER], ..all.clone() },
            Request { samples: true, ..all.clone() },
            Request { faults: true, ..all },
        ];
        for orders in requests.map(record).into_iter().chain([orders(Errand::CleanUp)]) {
            assert_eq!(parse(&orders.words().unwrap()).unwrap(), orders);
        }
    }

    #[test]
    fn a_command_line_that_the_window_would_not_say_is_refused() {
        let good = record(Request::new(Target::Pids(vec![10]))).words().unwrap();
        for left_out in 0..good.len() {
            let mut words = good.clone();
            words.remove(left_out);
            assert!(parse(&words).is_err(), "{words:?}");
        }
        let with = |more: &[&str]| [good.clone(), more.iter().map(|&word| word.to_owned()).collect()].concat();
        for more in [&["--clean-up"][..], &["--sid", "S-1-1-0"], &["--folder", "x"], &["--output", "x"], &["x"]] {
            assert!(parse(&with(more)).is_err(), "{more:?}");
        }
        assert!(parse(&["--clean-up".to_owned()]).is_err(), "for nobody");
        let marks =
            |of: &str| good.iter().map(|word| word.replace("\"marks\":[]", &format!("\"marks\":[{of}]"))).collect::<Vec<_>>();
        assert!(parse(&marks("\"231CF54B-22A0-49E4-A59A-47052A30FFED\"")).is_ok());
        for name in ["\"Multi-Main\"", "1", "\"{231CF54B-22A0-49E4-A59A-47052A30FFED}\"", "null"] {
            assert!(parse(&marks(name)).is_err(), "{name}: the window says GUIDs");
        }
        let twice = [orders(Errand::CleanUp).words().unwrap(), vec!["--clean-up".to_owned()]].concat();
        assert!(parse(&twice).is_err());
    }

    #[test]
    fn users_are_numbers_and_pipes_are_ours() {
        for sid in [
            "S-1-5-18",
            "S-1-5-21-3623811015-3361044348-30300820-1013",
            "S-1-5-21-3623811015-3361044348-30300820-500",
            "S-1-12-1-1521512041-1121324531-812345678-4123456789",
        ] {
            assert_eq!(Sid::new(sid).unwrap().as_str(), sid);
        }
        for sid in
            ["", "WD", "BA", "S-1-", "S-1-5-", "S-1-5--7", "s-1-5-18", "S-2-5-18", "S-1-5-18)(A;;GA;;;WD", "S-1-0x5", " S-1-5"]
        {
            assert_eq!(Sid::new(sid), None, "{sid:?}");
        }
        assert_eq!(Sid::new(&format!("S-1-{}", "1".repeat(300))), None);
        // Everyone, authenticated users, interactive users, users, administrators, app packages, all users of a domain.
        for group in ["S-1-1-0", "S-1-0", "S-1-0-0", "S-1-2-0", "S-1-5-4", "S-1-5-7", "S-1-5-11", "S-1-5-32-544", "S-1-5-32-545"]
        {
            assert_eq!(Sid::new(group), None, "{group}");
        }
        for group in ["S-1-15-2-1", "S-1-16-8192", "S-1-5-21-1-2-3-513", "S-1-5-21-1-2-3-512", "S-1-5-21-1-2-3-515", "S-1-5-21-1"]
        {
            assert_eq!(Sid::new(group), None, "{group}");
        }
        let good = record(Request::new(Target::Pids(vec![10]))).words().unwrap();
        let everybody: Vec<String> = good.iter().map(|word| word.replace("S-1-5-21-7-8-9-1001", "S-1-1-0")).collect();
        assert!(parse(&good).is_ok() && parse(&everybody).is_err());
        assert!(PipeName::new("highwater-988917c5-5748").is_some());
        for name in ["", "highwater-", "other-1", r"highwater-\..\..\C:\x", "highwater-1/2", "highwater-é", "highwater-1 2"] {
            assert_eq!(PipeName::new(name), None, "{name:?}");
        }
        assert_eq!(PipeName::new(&format!("highwater-{}", "1".repeat(300))), None);
    }
}
