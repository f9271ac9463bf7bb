//! Examples of commands, for their help and the manual's pages. A test runs all of them.

use clap::Command;

/// Examples by the words of a command: the line that one types, and what it does.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "highwater",
        &[
            ("highwater game.etl", "open a trace in the window"),
            ("highwater report game.etl --by responsible", "who holds the memory, by function"),
        ],
    ),
    (
        "highwater record",
        &[
            ("highwater record --name game.exe --stacks -o game.etl", "until Ctrl+C, with call stacks"),
            (
                "highwater record --launch game.exe --ring 5m --stop-when \"private>8G\" -o leak.etl",
                "the five minutes before it is too much",
            ),
            ("highwater record --name game.exe --stacks --print-wprp >memory.wprp", "a profile for wpr, where highwater is not"),
        ],
    ),
    ("highwater demo", &[("highwater demo", "the built-in trace in the window")]),
    ("highwater replay", &[("highwater replay game.etl --speed 4", "as if it were recorded now, four times as fast")]),
    ("highwater info", &[("highwater info game.etl", "sessions, losses, events and problems")]),
    (
        "highwater report",
        &[
            ("highwater report game.etl --by responsible", "who holds the memory, by function"),
            (
                "highwater report game.etl --from 12 --to 14 --by process,stack --top 5",
                "the five largest changes of two seconds, with call stacks",
            ),
            ("highwater report game.etl --allocated 10..20 --freed never --by responsible", "leaks between two moments"),
            ("highwater report game.etl --by responsible --html out.html", "a page to send to somebody"),
            ("highwater report game.etl --by process,stack --ndjson", "one group per line, for jq and scripts"),
        ],
    ),
    (
        "highwater functions",
        &[
            ("highwater functions game.etl --top 20", "the functions behind most memory"),
            ("highwater functions game.etl --of InnerLoopOperation", "its callers and callees"),
        ],
    ),
    ("highwater marks", &[("highwater marks game.etl --text level", "marks with a text")]),
    ("highwater scopes", &[("highwater scopes game.etl --sort count", "the most frequent first")]),
    ("highwater frames", &[("highwater frames game.etl --sort allocated --top 10", "the ten frames that allocate most")]),
    ("highwater processors", &[("highwater processors game.etl --by function", "the functions that ran most")]),
    ("highwater findings", &[("highwater findings game.etl", "leaks, steps, spikes and peaks, with functions and lines")]),
    ("highwater pages", &[("highwater pages game.etl --at 30", "memory in nearly empty pages, and who keeps them")]),
    (
        "highwater whatif",
        &[
            ("highwater whatif game.etl --layer heap", "the same requests in other allocators"),
            ("highwater whatif game.etl --pool-by responsible --arena-by frame", "and in pools and arenas"),
        ],
    ),
    (
        "highwater diff",
        &[
            ("highwater diff before.etl after.etl --by responsible", "what a change did, by function"),
            ("highwater diff game.etl@0..10 game.etl@10..30", "two parts of one trace"),
            ("highwater diff before.etl after.etl --fail-over 100M", "fail a build that grew"),
            (
                "highwater diff before.etl after.etl --by responsible --fail-over 100M --annotate github",
                "annotate what grew in a pull request",
            ),
        ],
    ),
    (
        "highwater check",
        &[
            ("highwater check game.etl --init -o budget.toml", "starter rules from a healthy trace"),
            ("highwater check game.etl --rules budget.toml --junit memory.xml", "in a nightly build"),
            (
                "highwater check game.etl --rules budget.toml --annotate github --sarif memory.sarif",
                "annotate the code in GitHub Actions",
            ),
        ],
    ),
    (
        "highwater export",
        &[
            ("highwater export game.etl --layer heap --format pprof -o game.pb.gz", "for go tool pprof"),
            ("highwater export game.etl --layer heap --rows --format csv -o blocks.csv", "every block in a line"),
            ("highwater export before.etl after.etl --format parquet -o lake --tag build=1245", "tables for DuckDB or Spark"),
            (
                "highwater export before.etl after.etl --format parquet -o lake --keep-going",
                "go on without captures that cannot be read",
            ),
        ],
    ),
    #[cfg(feature = "parquet")]
    (
        "highwater bisect",
        &[
            ("highwater bisect lake", "the builds at which callers began to hold more, or less"),
            ("highwater bisect lake --process MemoryTestApp.exe --per frame", "what an average frame allocates"),
        ],
    ),
    ("highwater cut", &[("highwater cut game.etl --from 12 --to 14 -o spike.etl", "two seconds to send to somebody")]),
    ("highwater symbols", &[("highwater symbols check game.etl --symbols C:\\build", "whether names will be there")]),
    (
        "highwater symbols lookup",
        &[("highwater symbols lookup game.etl --pid 4660 0x7ff63a4015e6@12.5", "an address of a process, at a time")],
    ),
    (
        "highwater symbols fetch",
        &[("highwater symbols fetch game.etl --symbols srv*https://msdl.microsoft.com/download/symbols", "PDBs of Windows")],
    ),
    ("highwater symbols check", &[("highwater symbols check game.etl", "which modules have names")]),
    (
        "highwater mcp",
        &[
            ("highwater mcp --root traces", "what an agent's client starts; docs/agents.md says where to write that"),
            ("highwater mcp game.etl --symbols build", "for one trace, with names from its PDBs"),
        ],
    ),
    (
        "highwater completions",
        &[("highwater completions bash > ~/.local/share/bash-completion/completions/highwater", "for bash")],
    ),
];

/// The examples of a command, by its words.
pub(super) fn of(words: &str) -> &'static [(&'static str, &'static str)] {
    EXAMPLES.iter().find(|(of, _)| *of == words).map_or(&[], |(_, examples)| examples)
}

/// Adds the examples to the help of a command and of its subcommands.
pub(super) fn added(command: Command) -> Command {
    let words = command.get_name().to_owned();
    add(command, &words)
}

fn add(mut command: Command, words: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    for name in names {
        let words = format!("{words} {name}");
        command = command.mut_subcommand(name, |sub| add(sub, &words));
    }
    let lines: Vec<String> = of(words).iter().map(|(line, does)| format!("  {line}\n      {does}")).collect();
    if lines.is_empty() { command } else { command.after_help(format!("Examples:\n{}", lines.join("\n"))) }
}
