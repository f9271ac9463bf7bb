//! Names of PIX's scopes and markers, which may be formats of `printf` with arguments.
//!
//! Arguments are words of 64 bits, or strings with a word before them that describes them (`PopulateFormatArguments`,
//! `ReadString` in `decoder/lib/EventReading.cpp` of microsoft/PixEvents, MIT). Rare specifiers stay as they
//! are, and so does a name with others than those of the decoder.

use std::fmt::Write;

/// A name, and whether the run-time cut it for want of room.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) is_cut: bool,
}

impl Name {
    /// Reads a name of bytes or of UTF-16 units, whose end fills a chunk of words; returns the words behind it.
    pub(super) fn read(words: &[u64], is_of_bytes: bool, chunk: usize) -> (Self, &[u64]) {
        let width = if is_of_bytes { 1 } else { 2 };
        let mut bytes = Vec::new();
        for (at, word) in words.iter().enumerate() {
            if *word == super::pix::END_MARK {
                return (Self::of(&bytes, is_of_bytes, true), &words[at..]);
            }
            let word = word.to_le_bytes();
            if let Some(end) = word.chunks_exact(width).position(|unit| unit.iter().all(|&byte| byte == 0)) {
                bytes.extend(&word[..end * width]);
                let behind = (at + 1).next_multiple_of(chunk).min(words.len());
                return (Self::of(&bytes, is_of_bytes, false), &words[behind..]);
            }
            bytes.extend(word);
        }
        // A name may be absent; one that is there ends with its NUL.
        (Self::of(&bytes, is_of_bytes, !words.is_empty()), &[])
    }

    fn of(bytes: &[u8], is_of_bytes: bool, is_cut: bool) -> Self {
        let text = match is_of_bytes {
            true => String::from_utf8_lossy(bytes).into_owned(),
            false => {
                let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
                String::from_utf16_lossy(&units)
            }
        };
        Self { text, is_cut }
    }

    /// Reads a name with a word before it that describes it; `None` if it is in a form of which the run-time's code and the
    /// decoder do not say the same.
    pub(super) fn read_described(words: &[u64]) -> Option<(Self, &[u64])> {
        /// Bits of the size of chunks, and that for bytes; those for alignment and for short forms are zero, as all others.
        const CHUNK_SHIFT: u32 = 55;
        const OF_BYTES: u64 = 1 << 54;
        let (&info, words) = words.split_first()?;
        if info == 0 {
            return Some((Self::default(), words)); // a null pointer (`PIXCopyEventArgument`)
        }
        let chunk = match info & !OF_BYTES {
            0x0400_0000_0000_0000 => 1, // 8 << CHUNK_SHIFT
            0x0800_0000_0000_0000 => 2, // 16 << CHUNK_SHIFT
            _ => return None,
        };
        debug_assert_eq!(8_u64 << CHUNK_SHIFT, 0x0400_0000_0000_0000);
        Some(Self::read(words, info & OF_BYTES != 0, chunk))
    }
}

/// A specifier of a format.
struct Specifier<'a> {
    /// All of it behind the percent sign.
    whole: &'a str,
    flags: &'a str,
    width: usize,
    precision: Option<usize>,
    /// Whether a number has 64 bits.
    is_long: bool,
    letter: char,
}

/// Largest width and precision that are carried out.
const MOST: usize = 64;

impl<'a> Specifier<'a> {
    /// Reads a specifier behind its percent sign; `None` for forms that are not carried out.
    fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let all = text;
        let (flags, text) = text.split_at(text.find(|c| !matches!(c, '-' | '+' | ' ' | '#' | '0')).unwrap_or(text.len()));
        let number = |text: &'a str| text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let (width, mut text) = number(text);
        let width = if width.is_empty() { 0 } else { width.parse().ok()? };
        let mut precision = None;
        if let Some(behind) = text.strip_prefix('.') {
            let (digits, behind) = number(behind);
            (precision, text) = (Some(if digits.is_empty() { 0 } else { digits.parse().ok()? }), behind);
        }
        let sizes = [("ll", true), ("I64", true), ("I32", false), ("hh", false), ("l", false), ("h", false), ("z", true)];
        let size = sizes.into_iter().find_map(|(size, is_long)| Some((text.strip_prefix(size)?, is_long)));
        let (text, is_long) = size.unwrap_or((text, false));
        let letter = text.chars().next().filter(char::is_ascii)?;
        let is_small = width <= MOST && precision.is_none_or(|precision| precision <= MOST);
        let (whole, rest) = all.split_at(all.len() - text.len() + 1);
        is_small.then_some((Self { whole, flags, width, precision, is_long, letter }, rest))
    }

    /// Writes an argument; `None` for letters that are not carried out.
    fn put(&self, out: &mut String, arguments: &mut &[u64]) -> Option<()> {
        let mut word = || arguments.split_off_first().copied();
        let body = match self.letter {
            's' | 'S' => {
                let (name, rest) = Name::read_described(arguments)?;
                *arguments = rest;
                let most = self.precision.unwrap_or(usize::MAX);
                name.text.chars().take(most).collect()
            }
            'c' | 'C' => char::from_u32(word()? as u32)?.to_string(),
            'd' | 'i' => {
                let word = word()?;
                let number = if self.is_long { word as i64 } else { (word as i32).into() };
                self.digits(&number.to_string())
            }
            'u' => self.digits(&self.narrow(word()?).to_string()),
            'x' if !self.flags.contains('#') => self.digits(&format!("{:x}", self.narrow(word()?))),
            'X' if !self.flags.contains('#') => self.digits(&format!("{:X}", self.narrow(word()?))),
            'p' => format!("{:016X}", word()?),
            'f' | 'F' => format!("{:.*}", self.precision.unwrap_or(6), f64::from_bits(word()?)),
            // Each takes a word, and stays as it is.
            'a' | 'A' | 'e' | 'E' | 'g' | 'G' | 'n' | 'o' | 'x' | 'X' => {
                word()?;
                out.push('%');
                out.push_str(self.whole);
                return Some(());
            }
            _ => return None,
        };
        let is_number = !matches!(self.letter, 's' | 'S' | 'c' | 'C' | 'p');
        let sign = match () {
            () if !is_number || matches!(self.letter, 'u' | 'x' | 'X') || body.starts_with('-') => "",
            () if self.flags.contains('+') => "+",
            () if self.flags.contains(' ') => " ",
            () => "",
        };
        let body = format!("{sign}{body}");
        let missing = self.width.saturating_sub(body.chars().count());
        let is_whole = self.precision.is_some() && !matches!(self.letter, 'f' | 'F');
        let digits = body.trim_start_matches(['+', '-', ' ']);
        let (sign, digits) = body.split_at(body.len() - digits.len());
        match () {
            () if self.flags.contains('-') => write!(out, "{body}{:missing$}", ""),
            () if self.flags.contains('0') && is_number && !is_whole => write!(out, "{sign}{:0<missing$}{digits}", ""),
            () => write!(out, "{:missing$}{body}", ""),
        }
        .ok()
    }

    fn narrow(&self, word: u64) -> u64 {
        if self.is_long { word } else { word & u64::from(u32::MAX) }
    }

    /// Digits of a whole number with zeros up to its precision.
    fn digits(&self, number: &str) -> String {
        let digits = number.trim_start_matches('-');
        let sign = &number[..number.len() - digits.len()];
        format!("{sign}{digits:0>width$}", width = self.precision.unwrap_or(0))
    }
}

/// The text of a format with its arguments, or the format itself if it has specifiers that are not carried out.
pub(super) fn text_of(format: &str, mut arguments: &[u64]) -> String {
    formatted(format, &mut arguments).unwrap_or_else(|| format.to_owned())
}

fn formatted(format: &str, arguments: &mut &[u64]) -> Option<String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        rest = match behind.strip_prefix('%') {
            Some(behind) => {
                out.push('%');
                behind
            }
            None => {
                let (specifier, behind) = Specifier::read(behind)?;
                specifier.put(&mut out, arguments)?;
                behind
            }
        };
        if out.len() > 1 << 12 {
            return None;
        }
    }
    out.push_str(rest);
    Some(out)
}

/// The number of words that the arguments of a format take; `None` if that is not certain.
pub(super) fn words_of_arguments(format: &str, words: &[u64]) -> Option<usize> {
    let mut rest = words;
    formatted(format, &mut rest)?;
    Some(words.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_written_as_printf_does() {
        let minus = -7_i64 as u64;
        for (format, arguments, text) in [
            ("Frame %d", &[minus][..], "Frame -7"),
            ("%5d|%-5d|%05d|%+d", &[7, 7, minus, 7], "    7|7    |-0007|+7"),
            ("%x %08X %u %lld", &[0xAB, 0xAB, u64::MAX, u64::MAX], "ab 000000AB 4294967295 -1"),
            ("%.2f %f", &[1.5_f64.to_bits(), 0.25_f64.to_bits()], "1.50 0.250000"),
            ("%.3d%%", &[7], "007%"),
            ("%c%C", &[65, 66], "AB"),
            ("%s!", &[0x0440_0000_0000_0000, 0x6968], "hi!"),
            ("%e", &[0], "%e"),
            ("%*d", &[1, 2], "%*d"),
            ("%d", &[], "%d"),
            ("%", &[1], "%"),
            ("%999d", &[1], "%999d"),
            ("plain", &[1], "plain"),
        ] {
            assert_eq!(text_of(format, arguments), text, "{format}");
        }
        assert_eq!(words_of_arguments("%s %d", &[0, 5, 9]), Some(2));
        assert_eq!(words_of_arguments("%s", &[1 << 60 | 0x0400_0000_0000_0000, 0]), None, "an alignment");
    }

    #[test]
    fn names_end_with_their_nul_or_are_cut() {
        let word = |text: &str| u64::from_le_bytes(std::array::from_fn(|n| text.as_bytes().get(n).copied().unwrap_or(0)));
        let words = [word("ABCDEFGH"), word("I"), 5];
        let name = |text: &str, is_cut| Name { text: text.to_owned(), is_cut };
        assert_eq!(Name::read(&words, true, 1), (name("ABCDEFGHI", false), &words[2..]));
        assert_eq!(Name::read(&words[..1], true, 1), (name("ABCDEFGH", true), &[][..]));
        assert_eq!(Name::read(&[word("I"), 9, 5], true, 2).1, [5], "chunks of 16 bytes");
        assert_eq!(Name::read(&[0x42_0041, 1], false, 1), (name("AB", false), &[1][..]));
        assert_eq!(Name::read(&[], false, 1).0, name("", false));
    }
}
