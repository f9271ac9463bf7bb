//! The files in `docs/schema`: each JSON answer is as its schema says and has no key that the schema leaves out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use boon::{Compiler, Schemas};
use highwater_dev::synth::{Options, Scenario, generate};
use serde_json::{Value, json};

use crate::common::highwater;
use crate::documents::{Folder, Line};
use crate::marks::Game;

/// The commands whose answers are the examples in `docs/schema/examples`, by schema.
const EXAMPLES: &[(&str, &str)] = &[
    ("info", "highwater info game.etl --json"),
    ("report", "highwater report game.etl --layer tracker --by process,heap --from frame:100 --to frame:110 --top 1 --json"),
    ("unmatched", "highwater report game.etl --unmatched --by process,heap --json"),
    ("functions", "highwater functions game.etl --layer tracker --of PhysicsHeap::Allocate --top 1 --json"),
    ("findings", "highwater findings game.etl --top 2 --json"),
    ("pages", "highwater pages game.etl --at 28 --process MemoryTestApp.exe --json"),
    ("whatif", "highwater whatif game.etl --layer tracker --pool-by responsible --json"),
    ("diff", "highwater diff before.etl after.etl --by process --top 1 --json"),
    ("check", "highwater check game.etl --rules example.toml --json  # exit code 3"),
    ("marks", "highwater marks game.etl --json"),
    ("scopes", "highwater scopes game.etl --json"),
    ("frames", "highwater frames game.etl --layer heap --sort allocated --top 2 --json"),
    ("processors", "highwater processors game.etl --by function --top 2 --json"),
    ("bisect", "highwater bisect lake --json"),
    ("symbol_check", "highwater symbols check game.etl --process MemoryTestApp.exe --json"),
    ("symbol_fetch", "highwater symbols fetch game.etl --process MemoryTestApp.exe --symbols build --json  # exit code 1"),
    ("symbols", "highwater symbols lookup build/MemoryTestApp.pdb 0x15e6 --json"),
    ("symbol_lookup", "highwater symbols lookup game.etl --pid 4660 0x7ff63a4015e6 --json"),
    ("baseline", "highwater findings game.etl --kind growth --write-baseline baseline.json"),
];

/// The rules of an example.
const RULES: &str = "[[rule]]\nname = \"Budget\"\nprocess = \"MemoryTestApp.exe\"\nlayer = \"commit\"\npeak = \"32M\"\n";

/// Keys that no answer here has, by schema (`*`: each that describes it), and why.
const NOT_SEEN: &[(&str, &[&str], &str)] = &[
    ("info", &["with_windows", "ours", "windows", "error"], "Windows only"),
    ("info", &["gpu_allocation"], "generated traces do not have these events"),
    ("report", &["other_presents", "other_windows"], "needs presents of several windows by way of the graphics kernel"),
    ("frames", &["other_presents", "other_windows"], "needs presents of several windows by way of the graphics kernel"),
    ("report", &["marks_left_out"], "needs over 10,000 marks"),
    ("*", &["sums_saturate"], "needs sums beyond 64 bits"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The schema files, by name.
fn files() -> BTreeMap<String, Value> {
    let entries = fs::read_dir(root().join("docs/schema")).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    entries.filter(|path| path.is_file()).map(read).collect()
}

/// Calls `visit` with each object of a schema that describes an object of an answer.
fn objects(schema: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    if schema.get("properties").is_some_and(Value::is_object) && schema["type"] == "object" {
        visit(schema);
    }
    match schema {
        Value::Object(members) => members.values_mut().for_each(|member| objects(member, visit)),
        Value::Array(items) => items.iter_mut().for_each(|item| objects(item, visit)),
        _ => {}
    }
}

/// Adds the keys of all objects in an answer.
fn add_keys(answer: &Value, keys: &mut BTreeSet<String>) {
    match answer {
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            keys.insert(key.clone());
            add_keys(member, keys);
        }),
        Value::Array(items) => items.iter().for_each(|item| add_keys(item, keys)),
        _ => {}
    }
}

/// The schemas, closed for keys that they do not describe, and the keys that answers had.
struct Checker {
    schemas: Schemas,
    compiled: BTreeMap<String, boon::SchemaIndex>,
    seen: BTreeMap<String, BTreeSet<String>>,
}

impl Checker {
    fn new() -> Self {
        let (mut schemas, mut compiler, mut compiled) = (Schemas::new(), Compiler::new(), BTreeMap::new());
        for (name, mut schema) in files() {
            objects(&mut schema, &mut |object| object["additionalProperties"] = json!(false));
            let place = format!("memory:///{name}.json");
            compiler.add_resource(&place, schema).unwrap();
            let index = compiler.compile(&place, &mut schemas).unwrap_or_else(|error| panic!("{name}: {error:#}"));
            compiled.insert(name, index);
        }
        Self { schemas, compiled, seen: BTreeMap::new() }
    }

    /// Checks an answer against the schema that it names.
    fn check(&mut self, answer: &Value, whence: &str) {
        let schema = answer["schema"].as_str().unwrap_or_else(|| panic!("{whence}: no schema in {answer}"));
        let name = schema.strip_prefix("highwater.").and_then(|rest| rest.split_once('/')).unwrap().0.to_owned();
        let index = *self.compiled.get(&name).unwrap_or_else(|| panic!("{whence}: docs/schema/{name}.json is missing"));
        self.schemas.validate(answer, index).unwrap_or_else(|error| panic!("{whence}: {error:#}"));
        add_keys(answer, self.seen.entry(name).or_default());
    }

    /// Runs a command and checks its JSON; with `--each`, that of every line.
    fn run(&mut self, words: &[&str]) {
        let run = highwater(words.iter().chain(&["--json"]));
        let said = format!("{words:?}: {}", run.err);
        // `symbols fetch` fails where symbols are missing, and answers.
        assert!(run.code == Some(0) || words.starts_with(&["symbols", "fetch"]), "{said}");
        assert!(!run.out.is_empty(), "{said}");
        for line in run.out.lines() {
            self.check(&serde_json::from_str(line).unwrap(), &said);
        }
    }
}

/// A file of a folder, as a word.
fn word(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

/// A generated trace with everything that can be added to one.
fn generated(folder: &Path) -> String {
    let options = Options {
        scenario: Scenario::Heap,
        events: 3000,
        free_stacks: true,
        counters: true,
        gpu: true,
        pix: true,
        samples: 500,
        lost_buffers: 1,
        ..Options::default()
    };
    let path = word(folder, "generated.etl");
    fs::write(&path, generate(&options, Cursor::new(Vec::new())).unwrap().into_inner()).unwrap();
    path
}

/// A generated trace with page faults.
fn with_faults(folder: &Path) -> String {
    let options = Options { scenario: Scenario::Commit, events: 500, faults: true, ..Options::default() };
    let path = word(folder, "faults.etl");
    fs::write(&path, generate(&options, Cursor::new(Vec::new())).unwrap().into_inner()).unwrap();
    path
}

const ALL_KEYS: &str =
    "process,heap,stack,freed_stack,type,thread,size,lifetime,function,module,tag,owner,responsible,responsible_module";

#[test]
fn each_answer_is_as_its_schema_says_and_has_no_other_key() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (game, generated) = (Game::new(), generated(folder));
    let mut checker = Checker::new();
    for trace in ["demo:", &generated, game.word()] {
        for command in ["info", "report", "functions", "findings", "marks", "scopes", "frames", "processors"] {
            checker.run(&[command, trace]);
        }
        checker.run(&["report", trace, "--by", ALL_KEYS, "--sources", "--top", "20"]);
        checker.run(&[
            "report",
            trace,
            "--unmatched",
            "--by",
            "process,heap,stack,function,module,responsible,responsible_module",
        ]);
        checker.run(&["report", trace, "--with", "commit"]);
        checker.run(&["pages", trace]);
        checker.run(&["pages", trace, "--by", ALL_KEYS]);
        checker.run(&["whatif", trace, "--pool-by", "responsible", "--arena-by", "frame"]);
        checker.run(&["processors", trace, "--by", "function"]);
        checker.run(&["processors", trace, "--by", "stack"]);
        checker.run(&["diff", "demo:", trace, "--by", ALL_KEYS, "--top", "20"]);
        checker.run(&["symbols", "check", trace]);
        checker.run(&["symbols", "fetch", trace, "--symbols", folder.to_str().unwrap()]);
        rules_and_baselines(&mut checker, folder, trace);
    }
    for command in ["info", "report", "functions", "findings", "marks", "scopes", "frames", "processors"] {
        checker.run(&[command, "demo:", &generated, "--each"]);
    }
    let no_rules = word(folder, "none.toml");
    fs::write(&no_rules, "").unwrap();
    checker.run(&["check", "demo:", &generated, "--rules", &no_rules, "--each"]);
    checker.run(&["report", "demo:", &generated, "--unmatched", "--each"]);
    checker.run(&["pages", "demo:", &generated, "--each"]);
    checker.run(&["whatif", "demo:", &generated, "--each"]);
    let faults = with_faults(folder);
    checker.run(&["info", &faults]);
    checker.run(&["report", &faults, "--with", "faults"]);
    checker.run(&["pages", "demo:", "--at", "28"]);
    let temporary = word(folder, "temporary.etl");
    fs::write(&temporary, crate::common::trace::temporary()).unwrap();
    checker.run(&["findings", &temporary]);
    let mapped = word(folder, "mapped.etl");
    fs::write(&mapped, crate::common::trace::mapped()).unwrap();
    checker.run(&["info", &mapped]);
    checker.run(&["report", &mapped, "--to", "0.0018", "--with", "commit"]);
    checker.run(&["functions", "demo:", "--of", "InnerLoopOperation"]);
    checker.run(&["symbols", "lookup", "demo:", "--pid", "4660", "0x7ff63a4015e6", "10"]);
    checker.run(&["symbols", "lookup", game.word(), "--pid", "4660", "0x7ffe10000008"]);
    let of_documents = Folder::new();
    let pdb = word(of_documents.path(), "build/MemoryTestApp.pdb");
    checker.run(&["symbols", "lookup", &pdb, "0x15e6"]);
    checker.run(&["bisect", crate::bisect::write_lake(folder).to_str().unwrap()]);
    all_are_described_and_seen(&checker);
}

/// Checks `check` and the baselines that it and `findings` write.
fn rules_and_baselines(checker: &mut Checker, folder: &Path, trace: &str) {
    let [rules, tight, baseline] = ["rules.toml", "tight.toml", "baseline.json"].map(|name| word(folder, name));
    assert_eq!(highwater(["check", trace, "--init", "-o", &rules, "--force"]).code, Some(0));
    checker.run(&["check", trace, "--rules", &rules]);
    let rule = "[[rule]]\nname = \"tight\"\nby = [\"process\", \"owner\"]\nlayer = \"heap\"\ncount = 1\n";
    fs::write(&tight, rule).unwrap();
    let broken = highwater(["check", trace, "--rules", &tight, "--json"]);
    assert_eq!(broken.code, Some(3), "{broken:?}");
    checker.check(&serde_json::from_str(&broken.out).unwrap(), "a broken rule");
    for words in [&["check", trace, "--rules", &tight][..], &["findings", trace]] {
        highwater(words.iter().chain(&["--write-baseline", &baseline, "--replace"]));
        let written = serde_json::from_str(&fs::read_to_string(&baseline).unwrap()).unwrap();
        checker.check(&written, "a baseline");
        checker.run(&[words, &["--baseline", &baseline]].concat());
    }
    let foreign = r#"{"schema":"highwater.baseline/1","accepted":[{"process":null,"layer":"heap","kind":"growth","responsible":null,"most_bytes":1}]}"#;
    checker.check(&serde_json::from_str(foreign).unwrap(), "a baseline without reasons");
    fs::write(&baseline, foreign).unwrap();
    checker.run(&["findings", trace, "--baseline", &baseline]);
}

/// Checks that each schema had answers, and that together they had every key that it describes.
fn all_are_described_and_seen(checker: &Checker) {
    for (name, mut schema) in files() {
        let seen = checker.seen.get(&name).unwrap_or_else(|| panic!("no answer here is a {name}"));
        let mut described = BTreeSet::new();
        objects(&mut schema, &mut |object| described.extend(object["properties"].as_object().unwrap().keys().cloned()));
        let missing: Vec<&String> = described.difference(seen).collect();
        let of_it = NOT_SEEN.iter().filter(|(of, ..)| *of == name).flat_map(|(_, keys, _)| *keys).copied();
        let of_each = NOT_SEEN.iter().filter(|(of, ..)| *of == "*").flat_map(|(_, keys, _)| *keys).copied();
        let excused: Vec<&str> = of_it.chain(of_each.filter(|key| described.contains(*key))).collect();
        assert!(missing.iter().all(|key| excused.contains(&key.as_str())), "{name}: {missing:?} in no answer");
        assert!(excused.iter().all(|key| missing.iter().any(|missing| missing == key)), "{name}: {excused:?} are in answers");
    }
}

/// JSON with a line for each key, in its own order.
fn pretty(json: &str) -> String {
    let (mut out, mut depth, mut is_string, mut is_escaped) = (String::new(), 0, false, false);
    let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
    for c in json.chars().filter(|c| *c != '\n') {
        match c {
            _ if is_string => {
                out.push(c);
                is_string = is_escaped || c != '"';
                is_escaped = c == '\\' && !is_escaped;
            }
            '{' | '[' => {
                depth += 1;
                out += &format!("{c}{}", line(depth));
            }
            '}' | ']' => {
                depth -= 1;
                let is_empty = out.trim_end().ends_with(['{', '[']);
                out.truncate(out.trim_end().len());
                out += &format!("{}{c}", if is_empty { String::new() } else { line(depth) });
            }
            ',' => out += &format!(",{}", line(depth)),
            ':' => out += ": ",
            ' ' => {}
            other => {
                is_string = other == '"';
                out.push(other);
            }
        }
    }
    out + "\n"
}

#[test]
fn each_schema_has_an_example_that_is_a_real_answer() {
    let folder = Folder::new();
    fs::write(folder.path().join("example.toml"), RULES).unwrap();
    crate::bisect::write_lake(folder.path());
    let mut checker = Checker::new();
    for (name, command) in EXAMPLES {
        let line = Line::parse(command).unwrap();
        let run = line.run(folder.path());
        assert_eq!(run.code, Some(line.code), "{command}: {run:?}");
        let text = if *name == "baseline" { fs::read_to_string(folder.path().join("baseline.json")).unwrap() } else { run.out };
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert!(answer["schema"].as_str().unwrap().starts_with(&format!("highwater.{name}/")), "{command}");
        checker.check(&answer, command);
        let file = root().join(format!("docs/schema/examples/{name}.json"));
        if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
            fs::write(&file, pretty(&text)).unwrap();
        }
        let example: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap_or_default()).unwrap_or_default();
        assert_eq!(example, answer, "{} is not what `{command}` prints", file.display());
    }
    assert_eq!(checker.seen.keys().collect::<Vec<_>>(), files().keys().collect::<Vec<_>>());
    let reference = fs::read_to_string(root().join("docs/cli.md")).unwrap();
    for name in files().keys() {
        let links = [format!("(schema/{name}.json)"), format!("(schema/examples/{name}.json)")];
        assert!(links.iter().all(|link| reference.contains(link)), "docs/cli.md does not link {name}");
    }
}

/// Adds the names of the schemas in the strings of a folder's sources.
fn add_names(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_names(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let strings = text.split("\"highwater.").skip(1).filter_map(|rest| rest.split_once('"'));
            let schemas = strings.filter_map(|(string, _)| string.split_once('/'));
            names.extend(schemas.filter(|(_, version)| version.parse::<u32>().is_ok()).map(|(name, _)| name.to_owned()));
        }
    }
}

#[test]
fn each_schema_that_the_program_names_has_a_file_and_no_other_has() {
    let mut names = BTreeSet::new();
    for folder in ["src/cli", "crates"] {
        add_names(&root().join(folder), &mut names);
    }
    // The report of `record --self-test` is for us: its form follows what we want to know of a machine.
    assert!(names.remove("self-test") && names.len() >= 16, "{names:?}");
    // A file in the folder of tables, which docs/fleet.md describes.
    assert!(names.remove("unreadable"), "{names:?}");
    assert_eq!(files().into_keys().collect::<BTreeSet<String>>(), names);
}

#[test]
fn schemas_are_open_describe_each_key_and_agree_on_what_they_share() {
    let mut shared: BTreeMap<String, Value> = BTreeMap::new();
    for (name, mut schema) in files() {
        let number = schema["properties"]["schema"]["const"].as_str().unwrap().rsplit_once('/').unwrap().1.to_owned();
        assert_eq!(schema["properties"]["schema"]["const"], format!("highwater.{name}/{number}"));
        let definitions = schema["$defs"].clone();
        for (name, definition) in definitions.as_object().into_iter().flatten() {
            let known = shared.entry(name.clone()).or_insert_with(|| definition.clone());
            assert_eq!(known, definition, "{name} has two meanings");
        }
        objects(&mut schema, &mut |object| {
            assert!(object.get("additionalProperties").is_none(), "{name}: keys may be added");
            let required: Vec<&str> = object["required"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
            for (key, property) in object["properties"].as_object().unwrap() {
                let definition = property["$ref"].as_str().map(|place| &definitions[place.rsplit_once('/').unwrap().1]);
                let own = property["description"].as_str();
                let description = own.or_else(|| definition.and_then(|definition| definition["description"].as_str()));
                let description = description.unwrap_or_else(|| panic!("{name}: {key} is not described"));
                let is_optional = ["Absent", "absent"].iter().any(|word| description.contains(word));
                assert_eq!(!required.contains(&key.as_str()), is_optional, "{name}: {key}: {description}");
            }
        });
    }
}
