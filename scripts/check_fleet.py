"""Judges the tables of `highwater export --format parquet` by what is known of the captures in them.

Usage: check_fleet.py make HIGHWATER HIGHWATER_DEV FOLDER    ten captures of a fleet, and their tables in FOLDER/lake
       check_fleet.py check HIGHWATER HIGHWATER_DEV FOLDER   that, the six questions, and all totals against `report`

The captures are two builds on five machines. Planted: the newer build leaks four times as many samples and
posts twice as many messages, and one machine has ten times as many settings as others."""

import json
import pathlib
import subprocess
import sys
from collections import defaultdict

import fleet

LEAK, SETTING, PAIR, MESSAGE, BUFFER = 40, 256, 512, 128, 10 << 20
APP = "MemoryTestApp.exe"
BUILDS = {"1238": {"day": 1, "leaks": 100, "messages": 300}, "1245": {"day": 9, "leaks": 400, "messages": 600}}
MACHINES = range(1, 6)
OUTLIER, PAIRS = 3, 40


def settings(machine):
    return (20 + machine) * (10 if machine == OUTLIER else 1)


def run(highwater, *words):
    done = subprocess.run([highwater, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{words}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def make(highwater, instruments, folder):
    """The captures, exported as each machine's nightly job would."""
    for build, of in BUILDS.items():
        for machine in MACHINES:
            path = folder / build / f"render-0{machine}" / "trace.etl"
            path.parent.mkdir(parents=True)
            slide = 7 * machine + of["day"]
            nightly = [of["day"], slide, of["leaks"], settings(machine), of["messages"], PAIRS]
            run(instruments, "synth", "nightly", "-o", path, "--nightly", ",".join(map(str, nightly)))
            tags = ["--tag", f"build={build}", "--tag", f"machine=render-0{machine}", "--tag", "branch=main"]
            run(highwater, "export", path, "--format", "parquet", "-o", folder / "lake", *tags)


def planted():
    """What the six questions answer."""
    mean = lambda values: sum(values) / len(values)
    kept = [settings(machine) for machine in MACHINES]
    old, new = BUILDS["1238"], BUILDS["1245"]
    heap = lambda of, machine: of["leaks"] * LEAK + settings(machine) * SETTING
    usual = {build: sorted(heap(of, machine) for machine in MACHINES)[2] for build, of in BUILDS.items()}
    outliers = [
        [f"render-0{OUTLIER}", build, "heap", heap(of, OUTLIER), usual[build], round(heap(of, OUTLIER) / usual[build], 2)]
        for build, of in BUILDS.items()
    ]
    churn = [["commit", APP, build, 1, BUFFER, 3.3] for build in BUILDS]
    churn += [["heap", APP, b, of["messages"], of["messages"] * MESSAGE, 0.05] for b, of in reversed(BUILDS.items())]
    at_exit = []
    for build, of in BUILDS.items():
        at_exit.append([build, APP, "heap", of["leaks"] + round(mean(kept)), of["leaks"] * LEAK + round(mean(kept) * SETTING)])
        at_exit.append([build, APP, "tracker", PAIRS, PAIRS * PAIR])
    before, now = old["leaks"] * LEAK, new["leaks"] * LEAK
    return {
        "stacks": [["heap", APP, f"{APP}!InnerLoopOperation", before, now, now - before]],
        "types": [["heap", "Sample", "1238", "1245", before, now, new["leaks"]]],
        "machines": sorted(outliers, key=lambda row: -row[5]),
        "churn": churn,
        "exit": at_exit,
    }


VALUES = ["outstanding_from", "outstanding_to", "count", "size", "allocated_count", "allocated_size",
          "freed_count", "freed_size", "impacting_size"]

# The rules of the numbers for [from_s, to_s), over rows that take part in it.
TOTALS = """
SELECT {keys},
  sum(CASE WHEN (birth_s IS NULL OR birth_s < from_s) THEN size ELSE 0 END) AS outstanding_from,
  sum(CASE WHEN (death_s IS NULL OR death_s >= to_s) THEN size ELSE 0 END) AS outstanding_to,
  count(*) AS "count", sum(size) AS size,
  sum(CASE WHEN birth_s >= from_s THEN 1 ELSE 0 END) AS allocated_count,
  sum(CASE WHEN birth_s >= from_s THEN size ELSE 0 END) AS allocated_size,
  sum(CASE WHEN death_s < to_s THEN 1 ELSE 0 END) AS freed_count,
  sum(CASE WHEN death_s < to_s THEN size ELSE 0 END) AS freed_size
FROM (SELECT a.*, c.from_s, c.to_s, p.name AS process, p.pid, p.start_s, h.name AS heap,
             coalesce(a.type, '(unknown type)') AS type_name, s.text AS stack, s.function, s.module
      FROM allocations a JOIN captures c USING (capture)
      JOIN processes p USING (capture, process_id) JOIN heaps h USING (capture, heap_id) JOIN stacks s USING (capture, stack_id)
      WHERE c.files[1] = ?)
GROUP BY ALL
"""

# Keys of a report, and the same in its JSON and in the tables.
KEYS = {
    "process,heap": (["layer", "process", "pid", "process_start_s", "heap"], "layer, process, pid, start_s, heap"),
    "type": (["layer", "type"], "layer, type_name"),
    "thread": (["layer", "thread"], "layer, thread"),
    "process,stack": (["layer", "pid", "process_start_s", "stack"], "layer, pid, start_s, stack"),
    "function --fold": (["layer", "function"], "layer, function"),
    "module --fold": (["layer", "module"], "layer, module"),
}


def plain(value):
    if isinstance(value, list):
        return ";".join(frame.replace(";", ":") for frame in value) or "(no stack recorded)"
    return value


def check_totals(highwater, engine, path, choices):
    """Every value of every group of every report equals that of the tables; tells how many were compared."""
    compared = 0
    for by, (of_report, of_tables) in KEYS.items():
        report = json.loads(run(highwater, "report", path, "--json", "--by", *by.split(), *choices))
        expected = {}
        for group in report["groups"]:  # stacks of other addresses can have the same names
            key = tuple(plain(group[key]) for key in of_report)
            expected[key] = [sum(pair) for pair in zip(expected.get(key, [0] * len(VALUES)), (group[value] for value in VALUES))]
        columns, rows = ask(engine, TOTALS.format(keys=of_tables), path)
        width, found = len(of_report), {}
        for row in rows:
            numbers = [int(value) for value in row[width:]]
            found[tuple(row[:width])] = numbers + [numbers[1] - numbers[0]]
        if found != expected:
            wrong = [(key, found.get(key), expected.get(key)) for key in {*found, *expected} if found.get(key) != expected.get(key)]
            raise SystemExit(f"{path} by {by} {choices}: tables and report differ in {len(wrong)}: {wrong[:3]}")
        compared += len(expected) * len(VALUES)
        if by == "process,heap":
            compared += check_heaps(engine, path, report["groups"]) + check_capture(engine, path, report)
    return compared


def check_heaps(engine, path, groups):
    """What `heaps` says itself, and where the series begin and end. Heaps without a group held nothing that was chosen."""
    sql = """SELECT p.pid, p.start_s, h.layer, h.name, h.outstanding_from, h.outstanding_to, h.peak, max(s.outstanding),
                    min_by(s.outstanding, s.time_s), max_by(s.outstanding, s.time_s)
             FROM heaps h JOIN captures c USING (capture) JOIN processes p USING (capture, process_id)
             LEFT JOIN series s USING (capture, heap_id) WHERE c.files[1] = ? GROUP BY ALL"""
    of_heap = defaultdict(list)
    for pid, start, layer, name, *numbers in ask(engine, sql, path)[1]:
        of_heap[pid, start, layer, name].append([number or 0 for number in numbers])
    compared = 0
    for group in groups:
        heaps = of_heap[group["pid"], group["process_start_s"], group["layer"], group["heap"]]
        sums = [sum(column) for column in zip(*heaps)]
        edges = [group["outstanding_from"], group["outstanding_to"]]
        if sums[:2] != edges or sums[4:] != edges:
            raise SystemExit(f"{path}: heaps or series differ from the report: {heaps} {group}")
        if len(heaps) == 1 and not heaps[0][3] <= heaps[0][2] == group["peak"]:
            raise SystemExit(f"{path}: the peak differs from the report: {heaps} {group}")
        compared += 5
    key_of = lambda group: (group["pid"], group["process_start_s"], group["layer"], group["heap"])
    for key in of_heap.keys() - set(map(key_of, groups)):
        if any(number for numbers in of_heap[key] for number in numbers):
            raise SystemExit(f"{path}: the report has no such heap: {key} {of_heap[key]}")
        compared += 6 * len(of_heap[key])
    return compared


def check_capture(engine, path, report):
    """The interval, and how far the numbers can be trusted."""
    expected = {**report["quality"], **report["interval"]}
    columns, rows = ask(engine, f"SELECT {', '.join(expected)} FROM captures c WHERE c.files[1] = ?", path)
    if [dict(zip(columns, row)) for row in rows] != [expected]:
        raise SystemExit(f"{path}: captures differs from the report: {rows} {expected}")
    return len(expected)


FRAMES = """
SELECT f.number, f.from_s, f.to_s, a.layer, count(*), sum(a.size)
FROM game_frames f JOIN captures c USING (capture) JOIN allocations a
  ON a.capture = f.capture AND a.process_id = f.process_id AND a.birth_s >= f.from_s AND a.birth_s < f.to_s
WHERE c.files[1] = ? GROUP BY ALL
"""


def check_activity(highwater, engine, path, words):
    """Marks and frames are those that the commands list, and what is born in frames is what they say; blocks of a frame that
    begins before the interval can be gone when that begins. Tells how many values were compared."""
    is_cut = "--from" in words
    interval = [word for at, word in enumerate(words) if word in ("--from", "--to") or words[at - 1] in ("--from", "--to")]
    listed = json.loads(run(highwater, "marks", path, "--json", *interval))["marks"]
    columns = ["pid", "provider", "text", "at_s", "from_s", "to_s"]
    sql = "SELECT p.pid, m.provider, m.text, m.at_s, m.from_s, m.to_s FROM marks m JOIN captures c USING (capture) " \
        "LEFT JOIN processes p USING (capture, process_id) WHERE c.files[1] = ? ORDER BY m.at_s"
    found = [dict(zip(columns, row)) for row in ask(engine, sql, path)[1]]
    if found != [{column: mark[column] for column in columns} for mark in listed]:
        raise SystemExit(f"{path}: marks differ: {found} {listed}")
    layers = json.loads(run(highwater, "frames", path, "--json", *words))["layers"]
    sql = "SELECT f.number, f.from_s, f.to_s FROM game_frames f JOIN captures c USING (capture) WHERE c.files[1] = ? ORDER BY f.number"
    frames = ask(engine, sql, path)[1]
    of_frame = defaultdict(lambda: (0, 0))
    for number, from_s, to_s, layer, count, size in ask(engine, FRAMES, path)[1]:
        of_frame[layer, number] = (count, size)
    for layer in layers:
        if frames != [(frame["number"], frame["from_s"], frame["to_s"]) for frame in layer["frames"]]:
            raise SystemExit(f"{path}: frames differ: {frames[:3]} {layer['frames'][:3]}")
        for frame in [] if is_cut else layer["frames"]:
            expected = (frame["allocated_count"], frame["allocated_size"])
            if of_frame[layer["layer"], frame["number"]] != expected:
                raise SystemExit(f"{path}: {layer['layer']}: {of_frame[layer['layer'], frame['number']]} {frame}")
    if not listed or not frames:
        raise SystemExit(f"{path}: there are marks and frames")
    return len(listed) * len(columns) + len(frames) * 3 + sum(2 * len(layer["frames"]) for layer in layers if not is_cut)


def ask(engine, sql, path):
    cursor = engine.connection.execute(sql, [str(path)])
    return [column[0] for column in cursor.description], cursor.fetchall()


# Each row of the first is one of the second; all stacks have their frames, in order and as their text has them (its
# outer frames can be left out), and frames are called as their other columns say.
REFERENCES = [
    "SELECT count(*) FROM allocations a ANTI JOIN stacks s USING (capture, stack_id)",
    "SELECT count(*) FROM allocations a ANTI JOIN heaps h USING (capture, heap_id, process_id, layer)",
    "SELECT count(*) FROM allocations a ANTI JOIN captures c USING (capture)",
    "SELECT count(*) FROM (SELECT * FROM allocations WHERE freed_stack_id IS NOT NULL) a "
    "ANTI JOIN stacks s ON s.capture = a.capture AND s.stack_id = a.freed_stack_id",
    "SELECT count(*) FROM heaps h ANTI JOIN processes p USING (capture, process_id)",
    "SELECT count(*) FROM modules m ANTI JOIN processes p USING (capture, process_id)",
    "SELECT count(*) FROM (SELECT capture, stack_id, any_value(s.depth) AS depth, count(f.frame) AS frames "
    "FROM stacks s LEFT JOIN frames f USING (capture, stack_id) GROUP BY ALL) WHERE frames <> depth",
    "SELECT count(*) FROM (SELECT capture, stack_id, min(depth) AS lowest, max(depth) AS highest, count(*) AS frames, "
    "count(DISTINCT depth) AS depths FROM frames GROUP BY ALL) WHERE lowest <> 0 OR highest <> frames - 1 OR depths <> frames",
    "SELECT count(*) FROM stacks s JOIN (SELECT capture, stack_id, string_agg(replace(frame, ';', ':'), ';' ORDER BY depth) AS text "
    "FROM frames GROUP BY ALL) f USING (capture, stack_id) "
    "WHERE f.text <> s.text AND NOT (s.text LIKE '…;%' AND suffix(f.text, substr(s.text, 2)))",
    "SELECT count(*) FROM frames f WHERE f.frame <> CASE WHEN f.module IS NULL THEN '0x' || lower(to_hex(f.address)) "
    "WHEN f.function IS NULL THEN f.module || '!+0x' || lower(to_hex(f.rva)) ELSE f.module || '!' || f.function END",
    "SELECT count(*) FROM (SELECT capture, stack_id FROM stacks GROUP BY ALL HAVING count(*) > 1)",
    "SELECT count(*) FROM captures c JOIN (SELECT capture, count(*) AS n FROM allocations GROUP BY ALL) a USING (capture) "
    "WHERE a.n <> c.allocations",
]


def check_references(engine):
    for sql in REFERENCES:
        (missing,) = engine.connection.execute(sql).fetchone()
        if missing:
            raise SystemExit(f"{missing} rows do not fit: {sql}")


def check_ended(highwater, folder, path):
    """Processes count at their exit only if that is in the interval: that of the nightly program is between 3.4 and 3.5 s."""
    sql = dict(fleet.questions())["exit"]
    for name, words, layers in [("before", ["--to", "3.4"], []), ("after", ["--from", "3.6"], []),
                                ("while", ["--from", "3.4", "--to", "3.6"], ["heap", "tracker"])]:
        lake = folder / f"ended-{name}"
        run(highwater, "export", path, "--format", "parquet", "-o", lake, "--tag", "build=1", *words)
        found = [row[2] for row in fleet.DuckDb(lake).ask(sql)[1]]
        if found != layers:
            raise SystemExit(f"{words}: expected blocks at exit in {layers}, the tables say {found}")


def check_bisect(highwater, engine, folder):
    """`bisect` finds what was planted, in the numbers that the tables have. Two builds on five machines can be told from
    chance in 2 of 32 times. Tells how many numbers were compared."""
    answer = json.loads(run(highwater, "bisect", folder / "lake", "--rate", "0.1", "--json"))
    leaks = [BUILDS[build]["leaks"] * LEAK for build in BUILDS]
    expected = [[APP, f"{APP}!InnerLoopOperation", "heap", *BUILDS, *leaks]]
    keys = ["process", "responsible", "layer", "from_build", "to_build", "before", "after"]
    if [[shift[key] for key in keys] for shift in answer["shifts"]] != expected:
        raise SystemExit(f"bisect: expected {expected}, it says {answer['shifts']}")
    sql = dict(fleet.questions())["builds"].replace("LIMIT 20", "")
    held = {tuple(row[:4]): row[4] for row in engine.ask(sql)[1]}
    means = [(shift, mean) for shift in answer["shifts"] for mean in shift["builds"]]
    for shift, mean in means:
        of_tables = held.get((shift["process"], shift["layer"], shift["responsible"], mean["build"]), 0)
        if round(mean["bytes"]) != of_tables:
            raise SystemExit(f"bisect: {mean} of {shift['responsible']}, the tables say {of_tables}")
    return len(means)


def others(instruments, folder):
    """Captures of all kinds of memory and stacks."""
    kinds = {
        "heap-walk": ["heap", "--free-stacks"],
        "heap-keys": ["heap", "--stacks", "keys", "--wow64", "--lost-buffers", "2"],
        "commit": ["commit", "--stacks", "walk"],
        "trackers": ["trackers", "--compressed"],
        "bare": ["heap", "--stacks", "none"],
    }
    for name, words in kinds.items():
        path = folder / "others" / f"{name}.etl"
        path.parent.mkdir(exist_ok=True)
        run(instruments, "synth", *words, "-o", path, "--events", 4000, "--distinct-stacks", 60, "--live", 700)
    run(instruments, "synth", "demo", "-o", folder / "others" / "demo.etl")
    return sorted((folder / "others").glob("*.etl"))


def check(highwater, instruments, folder):
    make(highwater, instruments, folder)
    engine = fleet.DuckDb(folder / "lake")
    answers = fleet.answers(engine)
    for question, rows in planted().items():
        if answers[question][1] != rows:
            raise SystemExit(f"{question}: expected {rows}, the tables say {answers[question][1]}")
    keys = "SELECT count(DISTINCT stack_key), count(DISTINCT rva), count(DISTINCT address) FROM stacks JOIN frames " \
        f"USING (capture, stack_id) WHERE stacks.function = '{APP}!InnerLoopOperation' AND frames.function = 'Main'"
    if engine.connection.execute(keys).fetchone() != (1, 1, len(BUILDS) * len(MACHINES)):
        raise SystemExit("a stack has not the same key wherever the program lies")
    compared, captures = 0, sorted(folder.glob("*/*/trace.etl"))
    for path in captures:
        compared += check_totals(highwater, engine, path, [])
    compared += check_bisect(highwater, engine, folder)
    check_references(engine)
    check_ended(highwater, folder, captures[0])
    more = others(instruments, folder)
    demo = [folder / "others" / "demo.etl"]
    # The generated ones last some milliseconds; an interval outside of a trace is refused.
    choices = {"all": (more, []), "part": (demo, ["--from", "0.5", "--to", "2.25"]), "moment": (more, ["--from", "0.001", "--to", "0.0025"]),
               "chosen": (demo, ["--process", APP, "--size", "..1K", "--freed", "3..|never", "--to", "20"])}
    for name, (files, words) in choices.items():
        run(highwater, "export", *files, "--format", "parquet", "-o", folder / name, *words)
        engine = fleet.DuckDb(folder / name)
        for path in files:
            compared += check_totals(highwater, engine, path, words)
        if name != "moment":
            compared += check_activity(highwater, engine, folder / "others" / "demo.etl", words)
        check_references(engine)
    print(f"The six questions have the planted answers; {compared} values of {len(captures) + 2 * len(more) + 2} captures equal report.")


def main():
    command, highwater, instruments, folder = *sys.argv[1:4], pathlib.Path(sys.argv[4])
    {"make": make, "check": check}[command](highwater, instruments, folder)


if __name__ == "__main__":
    main()
