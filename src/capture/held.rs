//! Two ways to write down a number that somebody else defines, each with what it is held against while it
//! is compiled: a constant without that cannot be written so.
//!
//! * [`as_windows_has`]: what windows-sys declares. It is there on Windows, and for tests on every system.
//! * [`as_published`]: the number in a public definition, quoted with its source beside it.
//!
//! `tests/etw` takes this file in, too, for a table of its own.

/// Constants that windows-sys has: name, type, number, and the same in windows-sys.
macro_rules! as_windows_has {
    ($($(#[$about:meta])* $name:ident: $type:ty = $value:expr, $theirs:expr;)+) => {
        $($(#[$about])* pub const $name: $type = $value;)+
        #[cfg(any(windows, test))]
        const _: () = {
            $(assert!($name as u64 == $theirs as u64, concat!(stringify!($name), " is another number in windows-sys"));)+
        };
    };
}

/// Constants that windows-sys has not: name, type, number, the words that define it, and where they stand.
macro_rules! as_published {
    ($($(#[$about:meta])* $name:ident: $type:ty = $value:expr, $definition:literal, $source:literal;)+) => {
        $($(#[$about])* #[doc = concat!("\n\nDefined by ", $source, ": `", $definition, "`.")] pub const $name: $type = $value;)+
        const _: () = {
            $(
                assert!($name as u64 == number($definition), concat!(stringify!($name), " is another number where it is defined"));
                assert!(!$source.is_empty());
            )+
        };
    };
}

pub(crate) use {as_published, as_windows_has};

/// The numbers of a definition, put together by *or*: decimal, or hexadecimal after `0x`. What stands inside
/// a name is none.
pub(crate) const fn number(definition: &str) -> u64 {
    let text = definition.as_bytes();
    let (mut at, mut all, mut is_any) = (0, 0, false);
    while at < text.len() {
        let is_start = text[at].is_ascii_digit() && (at == 0 || !is_of_name(text[at - 1]));
        if !is_start {
            at += 1;
            continue;
        }
        let is_hexadecimal = text[at] == b'0' && at + 1 < text.len() && text[at + 1] == b'x';
        let base = if is_hexadecimal { 16 } else { 10 };
        at += if is_hexadecimal { 2 } else { 0 };
        let mut value = 0;
        while at < text.len() && is_of_name(text[at]) {
            value = value * base + digit(text[at], base);
            at += 1;
        }
        all |= value;
        is_any = true;
    }
    assert!(is_any, "a definition without a number");
    all
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

const fn digit(byte: u8, base: u64) -> u64 {
    let value = match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        b'A'..=b'F' => byte - b'A' + 10,
        _ => 16,
    };
    assert!((value as u64) < base, "no digit");
    value as u64
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn a_definition_has_the_numbers_that_stand_alone_in_it() {
        assert_eq!(number("EVENT_TRACE_FLAG_PROFILE 0x01000000"), 0x0100_0000);
        assert_eq!(number("Direct3D9 Present 42"), 42);
        assert_eq!(number("EVENT_TRACE_GROUP_PERFINFO 0x0F00 | 0x2e"), 0x0F2E);
        assert!(std::panic::catch_unwind(|| number("MARK2")).is_err() && std::panic::catch_unwind(|| number("12ab")).is_err());
    }
}
