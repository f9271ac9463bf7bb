//! Formats and parses numbers for people, the same way in the window and in text reports. Also makes foreign texts safe
//! to display.

pub use crate::etl::text::{bytes, count};
use crate::units::Ticks;

/// Makes a foreign text safe to display in one line: replaces control characters, line breaks, characters that change
/// the writing direction, characters that XML cannot represent, and Unicode's noncharacters. Every string from a trace, a PDB or a file name
/// goes through here before it becomes part of a sentence or a cell.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if is_plain(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Whether [`plain`] keeps a character.
pub fn is_plain(c: char) -> bool {
    let breaks_line = matches!(c, '\u{2028}' | '\u{2029}');
    // Embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX #9).
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let no_xml = matches!(c, '\u{fffe}' | '\u{ffff}');
    // What a program may use for itself, and answers for people do.
    let is_internal = matches!(c, '\u{fdd0}'..='\u{fdef}');
    !(c.is_control() || breaks_line || turns || no_xml || is_internal)
}

/// A number of things, with the word for one or for several of them: `1 loss`, `1,200 losses`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A number of things whose plural ends in an s: `1 file`, `1,200 files`.
pub fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Losses of a recording, without those that are none: `3 events`, `1 buffer`, `3 events and 1 buffer`; empty if nothing was lost.
pub fn losses(events: u64, buffers: u64) -> String {
    let parts = [(events, "event"), (buffers, "buffer")].into_iter().filter(|(n, _)| *n > 0);
    parts.map(|(n, what)| plural(n, what)).collect::<Vec<_>>().join(" and ")
}

/// A clause about losses, of which there are some: `1 event was lost`, `3 events and 1 buffer were lost`.
pub fn were_lost(events: u64, buffers: u64) -> String {
    let verb = if events.saturating_add(buffers) == 1 { "was" } else { "were" };
    format!("{} {verb} lost", losses(events, buffers))
}

/// Describes a file whose whole content is in another one.
pub fn repeats(original: &str, is_part: bool) -> String {
    format!("{} of {}", if is_part { "part" } else { "copy" }, plain(original))
}

/// Bytes rounded to about two digits, for estimates: `40 GB`, `1.2 GB`, `850 MB`.
pub fn rough_bytes(n: u64) -> String {
    let text = bytes(n);
    let Some((number, unit)) = text.split_once(' ') else { return text };
    match number.parse::<f64>() {
        Ok(value) if value < 9.95 && unit != "B" => {
            let short = format!("{value:.1}");
            format!("{} {unit}", short.strip_suffix(".0").unwrap_or(&short))
        }
        Ok(value) => format!("{value:.0} {unit}"),
        Err(_) => text,
    }
}

/// A change in bytes, with its sign: `+10.00 MB`, `−40 B`, `0 B`; `i64::MIN` means unknown.
pub fn signed_bytes(n: i64) -> String {
    if n == i64::MIN {
        return "unknown".to_owned();
    }
    format!("{}{}", sign(n), bytes(n.unsigned_abs()))
}

fn sign(n: i64) -> &'static str {
    match n {
        0 => "",
        1.. => "+",
        _ => "\u{2212}",
    }
}

/// Parses bytes as people write them and as they are printed: `1500`, `1.5M`, `10 MB`, `8GiB`, in any case. K, M, G and T
/// are powers of 2^10.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    const WANTED: &str = "expected a size such as 100, 64K, 1.5M or 8 GB";
    const DECIMALS: usize = 9;
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..at], text[at..].trim_start().to_ascii_lowercase());
    let shift = match unit.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(WANTED.to_owned()),
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let is_number = [whole, decimals].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let has_fraction = number.contains('.');
    if !is_number || whole.is_empty() || decimals.len() > DECIMALS || (has_fraction && (shift == 0 || decimals.is_empty())) {
        return Err(WANTED.to_owned());
    }
    let fraction: u64 = format!("{decimals:0<DECIMALS$}").parse().unwrap_or(0);
    let part = (u128::from(fraction) * (1 << shift) + 500_000_000) / 1_000_000_000;
    let bytes = whole.parse().ok().and_then(|n: u64| n.checked_mul(1 << shift)).and_then(|n| n.checked_add(part as u64));
    bytes.ok_or_else(|| "that is larger than any block".to_owned())
}

/// A change of a count, with its sign: `+1,200`, `−3`, `0`.
pub fn signed_count(n: i64) -> String {
    format!("{}{}", sign(n), count(n.unsigned_abs()))
}

/// A moment in seconds since the trace start; markers in words.
pub fn moment(t: Ticks, seconds: f64) -> String {
    match t {
        Ticks::BEFORE_TRACE => "before the trace".to_owned(),
        Ticks::NEVER => "\u{2014}".to_owned(),
        _ => format!("{seconds:.6} s"),
    }
}

/// A length of time: `250 ns`, `34.0 µs`, `100 ms`, `12.300 s`.
pub fn duration(seconds: f64) -> String {
    let magnitude = seconds.abs();
    match magnitude {
        _ if magnitude >= 1.0 => format!("{seconds:.3} s"),
        _ if magnitude >= 1e-3 => format!("{:.3} ms", seconds * 1e3),
        _ if magnitude >= 1e-6 => format!("{:.1} \u{b5}s", seconds * 1e6),
        _ if magnitude == 0.0 => "0 s".to_owned(),
        _ => format!("{:.0} ns", seconds * 1e9),
    }
}

/// Seconds to the microsecond, without needless zeros.
pub fn seconds(s: f64) -> String {
    let text = format!("{s:.6}");
    let text = text.trim_end_matches('0');
    let text = text.strip_suffix('.').unwrap_or(text);
    format!("{} s", if text == "-0" { "0" } else { text })
}

/// A rounded length of time: `1 µs`, `10 ms`, `100 s`.
pub fn rough_duration(seconds: f64) -> String {
    let scales = [(1.0, "s"), (1e-3, "ms"), (1e-6, "\u{b5}s")];
    let (scale, unit) = scales.into_iter().find(|(scale, _)| seconds >= scale * 0.9995).unwrap_or((1e-9, "ns"));
    if seconds == 0.0 { "0 s".to_owned() } else { format!("{:.0} {unit}", seconds / scale) }
}

/// A part of a whole: `12.3 %`.
pub fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// Capitalizes the first letter of a message.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_and_verbs_follow_their_number() {
        assert_eq!((plural(1, "file"), plural(1200, "file")), ("1 file".to_owned(), "1,200 files".to_owned()));
        assert_eq!((counted(1, "box", "boxes"), counted(0, "box", "boxes")), ("1 box".to_owned(), "0 boxes".to_owned()));
        assert_eq!(were_lost(1, 0), "1 event was lost");
        assert_eq!(were_lost(0, 2000), "2,000 buffers were lost");
        assert_eq!(were_lost(3, 1), "3 events and 1 buffer were lost");
        assert_eq!(losses(0, 0), "");
    }

    #[test]
    fn nothing_of_others_is_obeyed_by_a_terminal() {
        let bad = "\u{1b}[31m\u{7}\u{8}\t\r\n\0\u{7f}\u{85}\u{9b}\u{2028}\u{202e}\u{202a}\u{2066}\u{2069}\u{ffff}";
        let told = plain(bad);
        assert_eq!(told.chars().count(), bad.chars().count(), "one letter for each");
        assert_eq!(told.replace('\u{fffd}', ""), "[31m");
        for good in ["игра.exe", "游戏.exe", "e\u{301}\u{200d}", "שלום\u{200e}", "a b\u{a0}c", "\u{1f3ae}"] {
            assert_eq!(plain(good), good);
        }
    }

    #[test]
    fn estimates_have_two_digits_or_so() {
        let cases =
            [(0, "0 B"), (1000, "1000 B"), (1300, "1.3 KB"), (4 << 20, "4 MB"), (40_400 << 20, "39 GB"), (850 << 20, "850 MB")];
        for (n, text) in cases {
            assert_eq!(rough_bytes(n), text);
        }
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(signed_bytes(-40), "\u{2212}40 B");
        assert_eq!(signed_bytes(i64::MIN + 1), "\u{2212}8.00 EB");
        assert_eq!(signed_bytes(i64::MIN), "unknown");
        assert_eq!([-1200, 0, 7].map(signed_count), ["\u{2212}1,200", "0", "+7"]);
    }
}
