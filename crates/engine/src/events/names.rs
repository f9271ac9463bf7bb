//! Cuts names from events to the length that names can have. A name that is repeated for each frame or
//! row and has a megabyte would make an answer of gigabytes. All code that reads a name from a payload
//! passes it through here.
//!
//! Windows has file names of 255 UTF-16 units and paths of 32,767 (Microsoft's *Maximum Path Length
//! Limitation*). The limits for names of methods with their namespace, and for signatures, are our own.

/// Units of a name of a file, process, thread or tracker.
const NAME: usize = 255;
/// Units of a path or a command line.
const PATH: usize = 32_767;
/// Units of a method's name, or of its signature.
const METHOD: usize = 512;

/// Cuts a name of a file, process, thread or tracker.
pub(super) fn name(text: String) -> String {
    cut(text, NAME)
}

/// Cuts a command line, or another text that is stored once.
pub(super) fn line(text: String) -> String {
    cut(text, PATH)
}

/// Cuts the name of a method, or its signature.
pub(super) fn method(text: String) -> String {
    cut(text, METHOD)
}

/// Cuts a path, whose last part is a name.
pub(super) fn path(text: String) -> String {
    let mut path = cut(text, PATH);
    let begin = path.rfind(['\\', '/']).map_or(0, |at| at + 1);
    let end = begin + length(&path[begin..], NAME);
    path.truncate(end);
    path
}

fn cut(mut text: String, most: usize) -> String {
    let end = length(&text, most);
    text.truncate(end);
    text
}

/// Bytes of the longest prefix of a text with at most `most` UTF-16 units.
fn length(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len(); // no letter has more units than bytes
    }
    let mut units = 0;
    let ends = text.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > most
    });
    ends.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_letters() {
        assert_eq!(name("a".repeat(300)), "a".repeat(255));
        assert_eq!(name("ä".repeat(255)), "ä".repeat(255));
        assert_eq!(name("ä".repeat(256)), "ä".repeat(255));
        // Two units each: the last would be cut in its middle.
        assert_eq!(name("\u{1f3ae}".repeat(200)), "\u{1f3ae}".repeat(127));
        assert_eq!(method("m".repeat(30_000)).len(), 512);
        assert_eq!(line("c".repeat(40_000)).len(), 32_767);
    }

    #[test]
    fn a_path_ends_with_a_name() {
        let folder = r"\Device\HarddiskVolume3\".to_owned() + &"f".repeat(300);
        assert_eq!(path(format!(r"{folder}\{}", "n".repeat(30_000))), format!(r"{folder}\{}", "n".repeat(255)));
        assert_eq!(path(format!("{folder}/a.dll")), format!("{folder}/a.dll"));
        assert_eq!(path("x".repeat(40_000)), "x".repeat(255));
        assert_eq!(path(format!(r"\{}\a", "x".repeat(40_000))), format!(r"\{}", "x".repeat(255)));
        assert_eq!(path(String::new()), "");
    }
}
