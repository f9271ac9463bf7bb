//! The name of a process's image in its original spelling.
//!
//! Process events have it in the code page of the machine, which no trace records, with `?` for
//! characters that the code page lacks. Paths of images and command lines are in Unicode: where the
//! name is not plain ASCII, it is taken from the image whose name may have become it, or else from the
//! program that the command line starts.

/// Old versions of Windows keep at least this many bytes of a name.
pub const CUT: usize = 14;

/// Most ways to read a command line that are tried.
const MOST_WAYS: usize = 64;

/// Whether the name of a process in an event may differ from the true one.
pub(crate) fn is_doubtful(name: &str) -> bool {
    name.contains(is_unsure)
}

/// The name of a process from the path of an image, if an event may give it as `told`.
pub(crate) fn of_image<'a>(told: &str, path: &'a str) -> Option<&'a str> {
    Some(file_name(path)).filter(|name| may_be(name, told))
}

/// The name of the program that a command line starts, if an event may give it as `told`.
pub fn of_command_line(told: &str, line: &str) -> Option<String> {
    let name = programs(line).find_map(|program| {
        let name = file_name(program);
        let with_extension = Some(format!("{name}.exe")).filter(|name| may_be(name, told));
        let as_it_stands = of_image(told, name).map(str::to_owned);
        // The extension may have been cut off.
        if is_cut(told) && !name.contains('.') { with_extension.or(as_it_stands) } else { as_it_stands.or(with_extension) }
    });
    name.map(super::names::name)
}

/// The last part of a path.
pub fn file_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or_default()
}

/// Programs that a command line may start: the quoted one, or all up to each space, as `CreateProcess`
/// tries them.
fn programs(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim_start();
    let quoted = line.strip_prefix('"').map(|quoted| quoted.split('"').next().unwrap_or_default());
    let spaces = line.match_indices(' ').map(|(at, _)| at).chain([line.len()]).take(MOST_WAYS);
    let mut is_over = false;
    let unquoted = spaces.map(|end| &line[..end]).take_while(move |program| {
        let is_program =
            program.len().checked_sub(4).and_then(|at| program.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(".exe"));
        !std::mem::replace(&mut is_over, is_program)
    });
    quoted.into_iter().chain(unquoted.filter(move |_| quoted.is_none()))
}

/// Whether a character may stand for another one.
fn is_unsure(c: char) -> bool {
    !c.is_ascii() || c == '?'
}

/// Whether a name has the length to which old versions of Windows cut names, with one byte a character.
fn is_cut(told: &str) -> bool {
    (CUT..=CUT + 1).contains(&told.chars().count())
}

/// Whether an event may give a name as `told`: both are the same before and behind all that is not
/// ASCII.
fn may_be(name: &str, told: &str) -> bool {
    let Some(first) = told.find(is_unsure) else { return name.eq_ignore_ascii_case(told) };
    let mut behind = told.rsplit(is_unsure).next().unwrap_or_default().chars();
    if !told.trim_end_matches(|c| !is_unsure(c)).ends_with('?') {
        behind.next(); // it can be the second byte of a character
    }
    let behind = behind.as_str();
    let ends_alike =
        || name.len().checked_sub(behind.len()).and_then(|at| name.get(at..)).is_some_and(|end| end.eq_ignore_ascii_case(behind));
    let begins_alike = name.get(..first).is_some_and(|begin| begin.eq_ignore_ascii_case(&told[..first]));
    // No code page has a space as the second byte of a character.
    let spaces = |text: &str| text.matches(' ').count();
    begins_alike
        && spaces(name) >= spaces(told)
        && name[first..].chars().next().is_some_and(|c| !c.is_ascii())
        && (is_cut(told) || ends_alike())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_code_page_are_those_of_the_image() {
        let cases = [
            ("h\u{f6}he.exe", "höhe.exe"),
            ("\u{e8}\u{e3}\u{f0}\u{e0}.exe", "игра.exe"),
            ("\u{d3}\u{ce}\u{cf}\u{b7}.exe", "游戏.exe"),
            ("\u{83}Q\u{81}[\u{83}\u{80}.exe", "ゲーム.exe"),
            ("\u{83}\u{5c}.EXE", "ソ.exe"),
            ("game\u{99}.exe", "Game™.exe"),
            ("????.exe", "игра.exe"),
            ("\u{e8}\u{e3}\u{f0}\u{e0} \u{e8}\u{e3}\u{f0}\u{e0} \u{e8}\u{e3}\u{f0}\u{e0}", "игра игра игра.exe"),
        ];
        for (told, name) in cases {
            assert!(is_doubtful(told));
            assert_eq!(of_image(told, &format!(r"\Device\HarddiskVolume3\Spiele\{name}")), Some(name));
            let lines = [
                format!(r#""C:\Spiele und mehr\{name}" -x"#),
                format!(r"C:\Spiele und mehr\{name} -x"),
                format!("{} /x", name.trim_end_matches(".exe")),
                name.to_owned(),
            ];
            for line in lines {
                assert_eq!(of_command_line(told, &line).as_deref(), Some(name), "{line}");
            }
        }
    }

    #[test]
    fn other_programs_and_images_give_no_name() {
        let told = "\u{e8}\u{e3}\u{f0}\u{e0}.exe";
        for path in [r"\Windows\ntdll.dll", r"\игра\game.exe", r"\игра.dll", "", r"\", "é"] {
            assert_eq!(of_image(told, path), None, "{path}");
        }
        for line in ["", " ", r#"""#, r#"cmd.exe "игра.exe""#, r"cmd.exe D:\игра.exe", r#""cmd" D:\игра.exe"#] {
            assert_eq!(of_command_line(told, line), None, "{line}");
        }
        assert!(!is_doubtful("game.exe") && !is_doubtful(""));
    }

    #[test]
    fn a_name_out_of_a_command_line_is_no_longer_than_a_name_can_be() {
        let line = format!("{}.exe -x", "игра".repeat(5_000));
        let told = "\u{e8}\u{e3}\u{f0}\u{e0}.exe";
        assert_eq!(of_command_line(told, &line).map(|name| name.chars().count()), Some(255));
    }
}
