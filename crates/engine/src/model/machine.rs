//! The machine and the time of a recording, as the headers of its files tell them.

use super::Trace;
use crate::format;
use crate::utc::rfc3339;

/// The machine that recorded a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Machine {
    /// Windows version: major, minor, build. Zeros if unknown.
    pub os: (u8, u8, u32),
    /// Number of CPUs; 0 if unknown.
    pub processors: u32,
    /// Size of its pointers in bytes; 0 if unknown.
    pub pointer_size: u32,
}

impl Trace {
    /// Names and values for the user: when, how long and on which machine the trace was recorded, as far as known.
    pub fn about(&self) -> Vec<(&'static str, String)> {
        let Machine { os: (major, minor, build), processors, pointer_size } = self.machine;
        let recorded = rfc3339(self.clock.start_time).map(|time| {
            // To the second: more would only be noise.
            let second = time.split(['.', 'Z']).next().unwrap_or(&time);
            format!("{} UTC", second.replace('T', " "))
        });
        let duration = format::duration(self.clock.seconds(self.span.to) - self.clock.seconds(self.span.from));
        let windows = (major > 0).then(|| format!("{major}.{minor}.{build}"));
        let bits = (pointer_size > 0).then(|| format!("{} bits", pointer_size * 8));
        let processors = (processors > 0).then(|| processors.to_string());
        let all = [
            ("Recorded", recorded),
            ("Duration", Some(duration)),
            ("Windows", windows.map(|text| text + &bits.map_or_else(String::new, |bits| format!(", {bits}")))),
            ("Processors", processors),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
