//! The machine and the time of a recording, as the headers of its files tell them.

use std::sync::Arc;

use super::Trace;
use crate::format;
use crate::stored::stored;
use crate::utc::rfc3339;

/// The machine that recorded a capture.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Machine {
    /// Its name, if the kernel's description of the system is in the files.
    pub name: Option<Arc<str>>,
    /// Windows version: major, minor, build. Zeros if unknown.
    pub os: (u8, u8, u32),
    /// Number of CPUs; 0 if unknown.
    pub processors: u32,
    /// Size of its pointers in bytes; 0 if unknown.
    pub pointer_size: u32,
}

stored!(struct Machine { name, os, processors, pointer_size });

impl Trace {
    /// Names and values for the user: when, how long and on which machine the trace was recorded, as far as known.
    pub fn about(&self) -> Vec<(&'static str, String)> {
        let recorded = rfc3339(self.clock.start_time).map(|time| {
            // To the second: more would only be noise.
            let second = time.split(['.', 'Z']).next().unwrap_or(&time);
            format!("{} UTC", second.replace('T', " "))
        });
        let duration = format::duration(self.clock.seconds(self.span.to) - self.clock.seconds(self.span.from));
        let when = [("Recorded", recorded), ("Duration", Some(duration))];
        let when = when.into_iter().filter_map(|(name, value)| Some((name, value?)));
        when.chain(self.machine.about()).collect()
    }
}

impl Machine {
    /// Names and values for the user, as far as known.
    fn about(&self) -> Vec<(&'static str, String)> {
        let (major, minor, build) = self.os;
        let windows = (major > 0).then(|| format!("{major}.{minor}.{build}"));
        let bits = (self.pointer_size > 0).then(|| format!("{} bits", self.pointer_size * 8));
        let all = [
            ("Machine", self.name.as_deref().map(format::plain)),
            ("Windows", windows.map(|text| text + &bits.map_or_else(String::new, |bits| format!(", {bits}")))),
            ("Processors", (self.processors > 0).then(|| self.processors.to_string())),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_told_with_its_name_if_the_files_have_it() {
        let machine = Machine { name: Some("BUILD-7".into()), os: (10, 0, 19045), processors: 8, pointer_size: 8 };
        let facts =
            |facts: &[(&'static str, &str)]| facts.iter().map(|&(name, value)| (name, value.to_owned())).collect::<Vec<_>>();
        assert_eq!(machine.about(), facts(&[("Machine", "BUILD-7"), ("Windows", "10.0.19045, 64 bits"), ("Processors", "8")]));
        assert_eq!(Machine::default().about(), []);
    }
}
