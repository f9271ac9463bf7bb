//! Answers on a terminal: tables that fit, colours, and words about names that are missing.

use std::process::Command;

use crate::common::highwater;

/// What the program writes for a terminal of so many columns, as the program for Windows' shells tells it.
fn on_terminal(columns: usize, no_color: &str, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
    command.env("HIGHWATER_COLUMNS_OF_CONSOLE", columns.to_string()).env("NO_COLOR", no_color).env_remove("TERM");
    let output = command.args(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of the first table: from its heading to the line that says what is left out.
fn table<'t>(text: &'t str, heading: &str) -> Vec<&'t str> {
    let lines = text.lines().skip_while(|line| !line.contains(heading));
    lines.take_while(|line| !line.is_empty() && !line.starts_with(['\u{2026}', 'N'])).collect()
}

#[test]
fn tables_fit_the_terminal_and_their_numbers_are_whole() {
    let cases: [(&[&str], &str); 5] = [
        (&["report", "demo:", "--by", "process,responsible"], "Impacting"),
        (&["functions", "demo:"], "Impacting"),
        (&["diff", "demo:@0..10", "demo:@10..30", "--by", "responsible"], "Change"),
        (&["frames", "demo:"], "Lasts"),
        (&["marks", "demo:"], "Lasts"),
    ];
    for (words, heading) in cases {
        let whole = highwater(words).out;
        let numbers: Vec<String> = table(&whole, heading)[1..].iter().flat_map(|line| sizes(line)).collect();
        for columns in [60, 80, 120, 200] {
            let text = on_terminal(columns, "1", words);
            let lines = table(&text, heading);
            assert_eq!(lines.len(), table(&whole, heading).len());
            for line in &lines[1..] {
                assert!(line.chars().count() <= columns, "{words:?} in {columns}: {line}");
                assert!(sizes(line).iter().all(|size| numbers.contains(size)), "{words:?} in {columns}: {line}");
            }
        }
        let wide = on_terminal(60, "1", &[words, &["--wide"]].concat());
        assert_eq!(table(&wide, heading), table(&whole, heading), "as in a file");
    }
}

/// The sizes in a line.
fn sizes(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_unit = |word: &str| ["B", "KB", "MB", "GB"].contains(&word);
    words.windows(2).filter(|pair| is_unit(pair[1])).map(|pair| pair.join(" ")).collect()
}

#[test]
fn colours_and_bars_are_for_terminals_and_no_color_is_heard() {
    let words = ["report", "demo:", "--by", "responsible", "--top", "3"];
    let file = highwater(words).out;
    assert!(!file.contains(['\u{1b}', '\u{2588}']), "{file}");
    let coloured = on_terminal(160, "", &words);
    assert!(coloured.contains("\u{1b}[1m") && coloured.contains('\u{2588}'), "{coloured}");
    let plain = on_terminal(160, "1", &words);
    assert!(!plain.contains('\u{1b}') && plain.contains('\u{2588}'), "{plain}");
    let json = on_terminal(120, "", &["report", "demo:", "--json"]);
    assert!(!json.contains(['\u{1b}', '\u{2588}']));
}

#[test]
fn without_names_and_a_path_one_line_says_how_to_get_them_and_missing_folders_are_named() {
    let run = |symbols: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_highwater"));
        command.env_remove("_NT_SYMBOL_PATH").env_remove("_NT_ALT_SYMBOL_PATH");
        let output = command.args(["report", "demo:", "--by", "stack"]).args(symbols).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let told = run(&[]);
    assert_eq!(told.matches("--symbols FOLDER").count(), 1, "{told}");
    assert!(told.contains("no function names for TelemetryService.exe"), "{told}");
    let told = run(&["--symbols", "no/such/folder"]);
    assert_eq!(told.matches("no such folder in the symbol path: no/such/folder").count(), 1, "{told}");
    assert!(!told.contains("--symbols FOLDER"), "{told}");
}
