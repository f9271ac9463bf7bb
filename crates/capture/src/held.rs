//! Two macros for numbers that somebody else defines. Both check each number at compile time; they do not accept a
//! constant without something to compare it with.
//!
//! * [`as_windows_has`]: numbers that windows-sys declares. It is a dependency on Windows, and for tests on every system.
//! * [`as_published`]: numbers from a public definition, quoted with its source.
//!
//! `tests/etw` includes this file, too, for a table of its own.

/// Declares constants that windows-sys has: name, type, number, and the expression in windows-sys.
macro_rules! as_windows_has {
    ($($(#[$about:meta])* $name:ident: $type:ty = $value:expr, $theirs:expr;)+) => {
        $($(#[$about])* pub const $name: $type = $value;)+
        #[cfg(any(windows, test))]
        const _: () = {
            $(assert!($name as u64 == $theirs as u64, concat!(stringify!($name), " is another number in windows-sys"));)+
        };
    };
}

/// Declares constants that windows-sys does not have: name, type, number, the defining text, and its source.
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

/// Combines the numbers in a definition by *or*: decimal, or hexadecimal after `0x`. Digits inside a name do not count.
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
