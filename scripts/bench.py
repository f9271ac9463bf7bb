"""Runs the measurements of scripts/bench.sh and writes the table.

Everything is a whole process, so memory is the system's own figure. The two
programs take turns, and medians are compared: the machine's noise meets both.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

WINDOW = (1920, 1080)
SMALL_WINDOW = (640, 400)
RUNS = 3

# Samples of the traces with them: a hundredth of the heap events, as many, ten times as many.
SAMPLES = [0, 10_000, 1_000_000, 10_000_000]

# Events of the trace with StackWalk that is opened beside heaptrack_print.
WALK = 2_000_000


def timed(command, env=None, processors=None):
    """Output, seconds and the largest resident memory of one run, on so many processors if that is said."""
    start = time.monotonic()
    only = processors and (lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:processors]))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, preexec_fn=only)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        raise SystemExit(f"{command[0]} failed")
    return output, seconds, usage.ru_maxrss * 1024


def sizes_of(args, n):
    """Figures of one size: medians over the runs."""
    output, _, asked_memory = timed([args.program, "measure", f"{args.dir}/{n}.etl", "--questions", "100"])
    return opened(args, f"{n}.etl", n, json.loads(output) | {"asked_peak": asked_memory} | opened_again(args, f"{n}.etl"))


def opened_again(args, file):
    """Keeping a trace and opening it from what was kept: medians over the runs, after one that keeps it."""
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        command = [args.program, "measure", f"{args.dir}/{file}", "--prepared", folder]
        timed(command)
        runs = [timed(command) for _ in range(RUNS)]
        kept = sum(kept.stat().st_size for kept in Path(folder).iterdir())
    return {
        "reopen_s": statistics.median(json.loads(output)["reopen_s"] for output, _, _ in runs),
        "reopen_peak": statistics.median(memory for _, _, memory in runs),
        "kept_bytes": kept,
    }


def opened(args, file, n, figures=None):
    """Opening a file beside heaptrack_print with as many events: medians over the runs, in turns. Other
    figures are those that are given, or of the last run."""
    ours, theirs = [], []
    for _ in range(RUNS):
        output, _, memory = timed([args.program, "measure", f"{args.dir}/{file}"])
        ours.append((json.loads(output), memory))
        command = ["heaptrack_print", "-f", f"{args.dir}/{n}.heaptrack", "-p", "0", "-a", "0", "-T", "0", "-l", "0"]
        theirs.append(timed(command)[1:])
    return (figures or ours[-1][0]) | {
        "load_s": statistics.median(run["load_s"] + run["open_s"] for run, _ in ours),
        "load_peak": statistics.median(memory for _, memory in ours),
        "heaptrack_s": statistics.median(seconds for seconds, _ in theirs),
        "heaptrack_peak": statistics.median(memory for _, memory in theirs),
    }


def percentile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def spread(values):
    """Median and 95th percentile as text."""
    return f"{statistics.median(values):.1f} ({percentile(values, 0.95):.1f})" if values else "–"


def mega(n):
    return f"{n / 1e6:.0f} M"


def per_row(figures, key):
    return figures[key] / max(figures["rows"], 1)


def opening(results, walk):
    yield "## Opening\n"
    yield "| heap events | file | seconds | events/s | GB/s | `heaptrack_print` | ratio | peak memory | per row |"
    yield "|-|-|-|-|-|-|-|-|-|"
    for name, f in [*((mega(n), f) for n, f in results.items()), (f"{mega(WALK)}, StackWalk", walk)]:
        rate, heaptrack = f["heap_events"] / f["load_s"], f["heap_events"] / f["heaptrack_s"]
        yield (
            f"| {name} | {f['file_bytes'] / 1e9:.2f} GB | {f['load_s']:.2f} | {rate / 1e6:.1f} M "
            f"| {f['file_bytes'] / f['load_s'] / 1e9:.2f} | {f['heaptrack_s']:.1f} s, {heaptrack / 1e6:.1f} M/s "
            f"| {f['heaptrack_s'] / f['load_s']:.1f} × | {f['load_peak'] / 1e6:.0f} MB | {per_row(f, 'load_peak'):.0f} B |"
        )
    yield (
        "\nTimes are from the start of reading to complete tables. Stacks are by key, except in the last line, where a"
        " complete stack follows each event. *Per row* is the peak memory of the process (rows, stacks, sites, live blocks,"
        " read buffers) divided by the number of allocations.\n"
    )
    yield "| heap events | allocations | bytes of rows | per row | sites | frames | index | building the index |"
    yield "|-|-|-|-|-|-|-|-|"
    for n, f in results.items():
        yield (
            f"| {mega(n)} | {f['rows']:,} | {f['row_bytes'] / 1e6:.0f} MB | {per_row(f, 'row_bytes'):.1f} B | {f['sites']:,} "
            f"| {f['stack_nodes']:,} | {sum(f['index_bytes']) / 1e6:.0f} MB | {f['index_s']:.2f} s |"
        )


    yield "\nOpening again, from what was kept of the trace (*Prepared traces*), with the ratio to the first opening:\n"
    yield "| heap events | kept | seconds | ratio | peak memory |"
    yield "|-|-|-|-|-|"
    for n, f in results.items():
        yield (
            f"| {mega(n)} | {f['kept_bytes'] / 1e6:.0f} MB | {f['reopen_s']:.2f} | {f['reopen_s'] / f['load_s']:.2f} "
            f"| {f['reopen_peak'] / 1e6:.0f} MB |"
        )


def questions(results):
    yield "\n## A new interval\n"
    yield "Milliseconds for 100 random intervals, median (95th percentile): totals of all sites, the graph's lines in"
    yield "1000 bins, and the tree with some sixty open lines. All numbers are exact. The filter *frame* keeps the allocations"
    yield "below one frame in the middle of a stack: *frame* is its first query, *frame, again* the later ones.\n"
    yield "| heap events | filter | totals | graph | tree | together |"
    yield "|-|-|-|-|-|-|"
    for n, f in results.items():
        groups = dict(f["questions"])
        everything = [took for kind in groups.values() for took in kind]
        scans = [("none, by scans of the rows", f["scans"])]
        for kind, list_ in [*groups.items(), ("**all**", everything), *scans]:
            columns = [spread([took[i] for took in list_]) for i in range(3)]
            yield f"| {mega(n)} | {kind} | {' | '.join(columns)} | {spread([sum(took) for took in list_])} |"
        yield f"| {mega(n)} | peaks of the open table's lines, which follow later | | | | {spread(f['peaks_ms'])} |"


VIEWS = ["totals", "top-down", "bottom-up", "by function", "by module", "flame graph", "flame graph, bottom-up"]
VIEWS += ["butterfly", "types", "compare", "compare, both parts new", "compare, with peaks"]
VIEWS += ["generations", "histograms", "allocations"]
CHOSEN = [f"rows of a size, {what}" for what in ("chosen", "totals", "top-down", "coarse graph", "first graph", "graph")]
ONCE = [f"{what}, once" for what in ("functions", "top-down", "bottom-up", "types", "compare", "findings")]


def views(results):
    count = min(len(f["views"]["totals"]) for f in results.values())
    yield "\n## Views\n"
    yield f"Milliseconds from query to answer, including totals, for {count} random intervals each: median (95th percentile) [median CPU"
    yield "time of all threads]. Views by place use the sums of sites. Generations, histograms and allocations scan the rows born"
    yield "before the end of the interval, and so do sums of chosen rows (*rows of a size*: up to 64 bytes). The butterfly is that of the function in the"
    yield "most stacks. In *compare*, only one part has a new interval, unless both are new. A new filter first chooses its rows, then shows"
    yield "their totals, then a coarse graph, which the *first graph* replaces. *Once*: work that is done once and kept.\n"
    yield f"| view | {' | '.join(mega(n) for n in results)} |"
    yield "|-|" + "-|" * len(results)
    for view in [*VIEWS, *CHOSEN, *ONCE]:
        yield f"| {view} | {' | '.join(took(f['views'].get(view, [])) for f in results.values())} |"


def views_alone(args):
    """The same section without the others."""
    asked = {n: timed([args.program, "measure", f"{args.dir}/{n}.etl", "--questions", "100"])[0] for n in args.events}
    return views({n: json.loads(output) for n, output in asked.items()})


def took(values):
    worked = [value["processors_ms"] for value in values if value["processors_ms"] is not None]
    return spread([value["ms"] for value in values]) + (f" [{statistics.median(worked):.1f}]" if worked else "")


def with_section(text, section):
    """A document with its section of that heading replaced, or before the last one if there was none."""
    heading = section[0].strip()
    parts = ("\n" + text).split("\n## ")
    names = ["## " + part.split("\n", 1)[0] for part in parts]
    part = "\n".join(section).strip().removeprefix("## ") + "\n"
    if heading in names[1:]:
        parts[names.index(heading)] = part
    else:
        parts.insert(len(parts) - 1, part)
    return "\n## ".join(part.rstrip("\n") + "\n" for part in parts).lstrip("\n")


def replace_section(file, section):
    out = Path(file)
    out.write_text(with_section(out.read_text(), section))


class Window:
    """The program's window on a screen of its own, without traces kept from before, with the times of its frames."""

    def __init__(self, args, n, *more, size=WINDOW):
        self.log = Path(args.dir) / "frames.tsv"
        self.dump = Path(args.dir) / "widgets.txt"
        for file in self.log, self.dump:
            file.unlink(missing_ok=True)
        self.screen = subprocess.Popen(
            ["Xvfb", "-displayfd", "1", "-screen", "0", f"{WINDOW[0]}x{WINDOW[1]}x24", "+extension", "GLX"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        display = ":" + self.screen.stdout.readline().decode().strip()
        settings = str(Path(args.dir) / "settings")
        self.env = dict(os.environ, DISPLAY=display, HIGHWATER_FRAME_TIMES=str(self.log), HIGHWATER_SETTINGS_DIR=settings)
        self.cache = tempfile.TemporaryDirectory(dir=args.dir)
        self.env.update({name: str(self.dump) for name in more}, XDG_CACHE_HOME=self.cache.name)
        self.started = time.time()
        command = [args.program, f"{args.dir}/{n}.etl", "--size", f"{size[0]}x{size[1]}"]
        self.program = subprocess.Popen(command, env=self.env, stderr=subprocess.DEVNULL)

    def __enter__(self):
        wait_until(lambda: any(frame[6] >= 3 for frame in self.frames()), 300)
        time.sleep(5)
        return self

    def __exit__(self, *_):
        for process in self.program, self.screen:
            process.terminate()
            process.wait()
        self.cache.cleanup()

    def seconds_to(self, stage):
        """Seconds from the start of the process to the first frame of a stage (src/app/base/frame_times.rs)."""
        return next(frame[5] for frame in self.frames() if frame[6] >= stage) - self.started

    def act(self, *words):
        subprocess.run(["xdotool", *map(str, words)], env=self.env, check=False)
        time.sleep(0.05)

    def frames(self):
        lines = self.log.read_text().splitlines()[1:] if self.log.exists() else []
        return [list(map(float, line.split("\t"))) for line in lines if line.count("\t") == 6]

    def place(self, begins):
        """The middle of the uppermost widget whose name begins so; only with a list of widgets."""
        lines = [line.split("\t") for line in self.dump.read_text().splitlines()] if self.dump.exists() else []
        places = [list(map(int, line[1].split())) for line in lines if len(line) > 2 and line[2].startswith(begins)]
        x, y, width, height = min(places, key=lambda place: place[1], default=(0, 0, 0, 0))
        return (x + width // 2, y + height // 2) if width else None


def places_of_lanes(args, n):
    """Where to click one after the other, so that all lanes are open to their heaps: listing what is on the
    screen takes time, so it is done in a window of its own, on a trace with the same heaps."""
    places = []
    with Window(args, n, "HIGHWATER_UI_DUMP") as window:
        while place := window.place("Expand lane"):
            places.append(place)
            window.act("mousemove", *place, "click", 1)
            window.act("mousemove", WINDOW[0] // 2, WINDOW[1] - 5)
            time.sleep(1)
    return places


def frames(args, n, lanes):
    """The window on a large trace: wheel, scrolling, another interval; times of its frames."""
    with Window(args, n) as window:
        for place in lanes:
            window.act("mousemove", *place, "click", 1)
            time.sleep(1)
        loaded = len(window.frames())
        x, y = WINDOW[0] // 2, WINDOW[1] // 4
        for turn in range(12):
            window.act("mousemove", x + 20 * turn, y)
            for _ in range(6):
                window.act("click", 4 if turn % 2 == 0 else 5)
            window.act("mousemove", 700 + 40 * turn, y, "mousedown", 1)
            window.act("mousemove", 1100 + 40 * turn, y)
            window.act("mouseup", 1)
            window.act("mousemove", x, WINDOW[1] * 3 // 4)
            for _ in range(10):
                window.act("click", 5)
            window.act("key", "asterisk")
        time.sleep(1)
        used = len(window.frames())
        settled = [settling(window, (x, y), button) for button in (4, 4, 4, 4, 5, 5, 5, 5)]
        all_frames = window.frames()[:used]
    times = {"first_graph": window.seconds_to(1), "complete": window.seconds_to(2), "settled": settled, "lanes": len(lanes)}
    return times | {"frames": all_frames[loaded:], "loading": all_frames[:loaded]}


def beside_report(args, n):
    """Seconds until `report` has answered, and until a small window shows all of the trace, by turns: medians."""
    report, window = [], []
    for _ in range(RUNS):
        report.append(timed([args.program, "report", f"{args.dir}/{n}.etl", "--json"])[1])
        with Window(args, n, size=SMALL_WINDOW) as small:
            window.append(small.seconds_to(2))
    return statistics.median(report), statistics.median(window)


def settling(window, place, button):
    """Seconds from a step of the wheel to the last frame because of it."""
    window.act("mousemove", *place)
    time.sleep(2)
    begin = time.time()
    window.act("click", button)
    time.sleep(4)
    return max((frame[5] - begin for frame in window.frames() if frame[5] > begin), default=0)


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("the window did not load the trace")
        time.sleep(0.1)


def window(measured, loaded):
    yield "\n## The window\n"
    yield f"{WINDOW[0]}×{WINDOW[1]} under Xvfb with software rendering, with eight lanes: one per process and one per heap. *First graph* and"
    yield "*complete* are seconds after the start of the process. *Settled* is seconds from a step of the mouse wheel to the last frame that it"
    yield "causes, including painting (median of eight). The other columns are CPU milliseconds per frame without painting, while the trace loads,"
    yield "and while it is zoomed, selected, scrolled and opened: median (95th percentile).\n"
    yield "| heap events | first graph | complete | settled | | frames | logic | panels | tessellation | together |"
    yield "|-|-|-|-|-|-|-|-|-|-|"
    for n, f in measured.items():
        times = f"{f['first_graph']:.2f} | {f['complete']:.1f} | {statistics.median(f['settled']):.2f}"
        for name, list_ in [("loading", f["loading"]), ("in use", f["frames"])]:
            columns = [spread([frame[i] for frame in list_]) for i in (1, 2, 3)]
            total = [sum(frame[1:4]) for frame in list_]
            yield (
                f"| {mega(n)} | {times} | {name} | {len(list_)} | {' | '.join(columns)} "
                f"| {spread(total)}, at most {max(total, default=0):.1f} |"
            )
    yield "\nSeconds until `report --json` has answered, and until a window of 640×400 is complete, by turns:\n"
    yield "| heap events | `report` | window | ratio |"
    yield "|-|-|-|-|"
    for n, (report, complete) in loaded.items():
        yield f"| {mega(n)} | {report:.1f} | {complete:.1f} | {complete / report:.2f} |"


def windows(args):
    """The section of the window, for the smallest and the largest trace."""
    lanes = places_of_lanes(args, min(args.events))
    measured = {n: frames(args, n, lanes) for n in sorted({min(args.events), max(args.events)})}
    return window(measured, {n: beside_report(args, n) for n in args.events})


def recorded(args):
    """The section of programs that heaptrack recorded."""
    yield "\n## Recorded programs\n"
    yield "heaptrack recorded two programs (`scripts/traffic.py`, `scripts/traffic.pl`). The recordings are converted to traces with"
    yield "stacks behind the events (*walk*) or by key. `heaptrack_print` reads its own recording. Medians of alternating runs.\n"
    yield "| program | events | stacks | sites | seconds | events/s | `heaptrack_print` | ratio |"
    yield "|-|-|-|-|-|-|-|-|"
    for name in ["python", "perl"]:
        ours, theirs = {"walk": [], "keys": []}, []
        for _ in range(RUNS + 2):
            for form, runs in ours.items():
                runs.append(json.loads(timed([args.program, "measure", f"{args.dir}/{name}-{form}.etl"])[0]))
            command = ["heaptrack_print", "-f", f"{args.dir}/{name}.zst", "-p", "0", "-a", "0", "-T", "0", "-l", "0"]
            theirs.append(timed(command)[1])
        heaptrack = statistics.median(theirs)
        for form, runs in ours.items():
            seconds = statistics.median(run["open_s"] + run["load_s"] for run in runs)
            events = runs[0]["heap_events"]
            yield (
                f"| {name} | {events / 1e6:.1f} M | {form} | {runs[0]['sites']:,} | {seconds:.2f} | {events / seconds / 1e6:.1f} M "
                f"| {heaptrack:.2f} s, {events / heaptrack / 1e6:.1f} M/s | {heaptrack / seconds:.2f} × |"
            )


def counted(args, file):
    """Instructions of opening a file: of all threads, of the one that everything waits for, of these what
    no other thread ever did, and of finding stacks, which one thread at a time does."""
    out = Path(args.dir) / "callgrind"
    for old in Path(args.dir).glob("callgrind*"):
        old.unlink()
    command = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}", args.program, "measure"]
    events = json.loads(timed([*command, f"{args.dir}/{file}"])[0])["heap_events"]
    parts = list(Path(args.dir).glob("callgrind-*"))
    threads = {part.name: by_function(part) for part in parts}
    stacks = sum(cost_of_calls(part, "Attach>::follow") for part in parts)
    main = threads.pop("callgrind-01")
    others = {name for functions in threads.values() for name in functions}
    all_of_main = sum(main.values())
    total = all_of_main + sum(sum(functions.values()) for functions in threads.values())
    return events, total, all_of_main, sum(count for name, count in main.items() if name not in others), stacks


def by_function(part):
    """The instructions in one file of callgrind's, by function."""
    names, counts, name, is_call = {}, {}, None, False
    for line in part.read_text().splitlines():
        if line.startswith("fn="):
            number, _, text = line[3:].partition(" ")
            name = names.setdefault(number, text) if text else names.get(number, number)
        elif line.startswith("cfn="):
            number, _, text = line[4:].partition(" ")
            if text:
                names[number] = text
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit() or line[:1] in "+-*":
            # What a call cost is told by the function that was called.
            words = line.split()
            if not is_call and len(words) == 2:
                counts[name] = counts.get(name, 0) + int(words[1])
            is_call = False
    return counts


def cost_of_calls(part, end):
    """The instructions of all calls of a function in one file of callgrind's, by the end of its name."""
    names, name, cost, is_call = {}, "", 0, False
    for line in part.read_text().splitlines():
        if line.startswith(("fn=", "cfn=")):
            number, _, text = line.partition("=")[2].partition(" ")
            name = names.setdefault(number, text) if text else names.get(number, number)
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit() or line[:1] in "+-*":
            if is_call and name.endswith(end):
                cost += int(line.split()[1])
            is_call = False
    return cost


def instructions(args, of_form=None):
    """The section of counted instructions: what more events cost, so that what comes once does not count."""
    of_form = of_form or counted_forms(args)
    yield "\n## Instructions\n"
    yield "Instructions per additional heap event, between 1 and 3 million events, counted by callgrind. *Main* counts the thread"
    yield "that sorts and replays the events, including work that it takes over from workers. *Only main* counts the functions that"
    yield "no other thread runs. *Finding stacks* is done by one thread at a time, mostly by another than *main*, for block batches.\n"
    yield "| stacks | per event | main | only main | finding stacks |"
    yield "|-|-|-|-|-|"
    for form, counts in of_form.items():
        yield f"| {form} | {' | '.join(f'{count:.0f}' for count in counts)} |"


def counted_forms(args):
    """Instructions of one event more: all, those of the main thread, those that only it does, and those of finding stacks."""
    forms = {}
    for form in ["keys", "walk"]:
        few, many = (counted(args, f"{form}-{n}.etl") for n in (1, 3))
        forms[form] = [(b - a) / (many[0] - few[0]) for a, b in zip(few[1:], many[1:])]
    return forms


def samples(args):
    """The section of processor samples: what they cost beside heap events, and what they take."""
    few, many = SAMPLES[1], SAMPLES[-1]
    files = {n: f"samples-{n}.etl" for n in SAMPLES}
    runs = {n: [] for n in SAMPLES}
    for _ in range(RUNS):
        for n, file in files.items():
            output, _, memory = timed([args.program, "measure", f"{args.dir}/{file}"])
            runs[n].append((json.loads(output), memory))
    seconds = {n: statistics.median(run["load_s"] for run, _ in all_runs) for n, all_runs in runs.items()}
    counts = {n: counted(args, files[n])[1] for n in SAMPLES if n < many}
    heap_events = mega(runs[0][0][0]["heap_events"])
    yield "\n## CPU samples\n"
    yield f"The traces contain CPU samples and {heap_events} heap events; each sample has one of 100,000 stacks by key. Medians of alternating runs."
    yield "*Per sample* is the additional time over the trace without samples; *to a heap event* divides it by the time per heap event of"
    yield f"that trace. Instructions are counted as above, for {few:,} and for a million samples.\n"
    yield "| samples | file | seconds | per sample | to a heap event | instructions per sample | peak memory |"
    yield "|-|-|-|-|-|-|-|"
    for n, all_runs in runs.items():
        figures, memory = all_runs[0][0], statistics.median(memory for _, memory in all_runs)
        one = (seconds[n] - seconds[0]) / n if n > few else None
        event = seconds[0] / figures["heap_events"]
        more = (counts[n] - counts[0]) / n if n and n in counts else None
        cells = [
            f"{n:,}",
            f"{figures['file_bytes'] / 1e9:.2f} GB",
            f"{seconds[n]:.2f}",
            f"{one * 1e9:.0f} ns" if one else "–",
            f"{one / event:.1f} ×" if one else "–",
            f"{more:.0f}" if more else "–",
            f"{memory / 1e6:.0f} MB",
        ]
        yield f"| {' | '.join(cells)} |"


def workers(args, of_form=None):
    """The section of threads: measured as far as there are processors, then by the counted instructions."""
    of_form = of_form or counted_forms(args)
    largest = min(max(args.events), 16_000_000)
    files = {"keys": f"{args.dir}/{largest}.etl", "walk": f"{args.dir}/walk-3.etl"}
    yield "\n## Workers\n"
    yield "Millions of heap events per second by number of CPUs; medians of five alternating runs. *Model* and the columns after it are"
    yield "computed from the rate of one CPU and the counted instructions: the CPUs share all instructions, but the rate cannot exceed that of"
    yield "the *only main* instructions, nor that of finding stacks. The model ignores memory and disk. *Same*: `highwater report` prints the same with 1,"
    yield "2, 8 and 32 threads.\n"
    yield "| stacks | 1 | 2 | 1 → 2 | model: 2 | 4 | 8 | 32 | same |"
    yield "|-|-|-|-|-|-|-|-|-|"
    for form, file in files.items():
        rates = {n: [] for n in (1, 2)}
        for _ in range(RUNS + 2):
            for n, list_ in rates.items():
                figures = json.loads(timed([args.program, "measure", file], processors=n)[0])
                list_.append(figures["heap_events"] / figures["load_s"] / 1e6)
        one, two = statistics.median(rates[1]), statistics.median(rates[2])
        total, _, only_main, stacks = of_form[form]
        model = [one * min(n, total / max(only_main, stacks)) for n in (2, 4, 8, 32)]
        reports = {timed([args.program, "report", "--json", file], threads(n))[0] for n in (1, 2, 8, 32)}
        columns = [f"{one:.1f}", f"{two:.1f}", f"{two / one:.2f} ×", *(f"{rate:.1f}" for rate in model)]
        yield f"| {form} | {' | '.join(columns)} | {'yes' if len(reports) == 1 else 'NO'} |"


def threads(n):
    return dict(os.environ, RAYON_NUM_THREADS=str(n))


def machine():
    cpu = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.processor())
    memory = next(int(l.split()[1]) * 1024 for l in open("/proc/meminfo") if l.startswith("MemTotal"))
    return f"{cpu}, {os.cpu_count()} CPUs, {memory / 2**30:.0f} GB, {platform.system()}"


def main():
    sections = {"views": views_alone, "window": windows, "recorded": recorded, "instructions": instructions,
                "samples": samples, "workers": workers}
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", choices=sections, help="leave the other sections as they are")
    parser.add_argument("events", type=int, nargs="+")
    args = parser.parse_args()
    alone = sections.get(args.only)
    if alone:
        replace_section(args.out, list(alone(args)))
        return
    results = {n: sizes_of(args, n) for n in args.events}
    walk, forms = opened(args, f"walk-{WALK}.etl", WALK), counted_forms(args)
    text = [
        "# How fast it is\n",
        "`scripts/bench.sh` generates the traces, measures everything in one run, and writes this page. Files are in the",
        "system's cache. The traces contain heap events of two processes with three heaps and four threads each, on four",
        "CPUs, with 100,000 distinct stacks by key and 200,000 live blocks. `heaptrack_print` reads the same number of",
        "events, already matched, in its own format.\n",
        f"Machine: {machine()}. Date: {time.strftime('%Y-%m-%d')}. Times on other machines differ; compare ratios.\n",
        *opening(results, walk),
        *recorded(args),
        *instructions(args, forms),
        *samples(args),
        *workers(args, forms),
        *questions(results),
        *views(results),
        *windows(args),
    ]
    Path(args.out).write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()
