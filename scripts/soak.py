"""Runs the soak of scripts/soak.sh, prints a table of what it saw, and writes it down."""

import argparse
import datetime
import os
import re
import subprocess
import time
from pathlib import Path

from bench import machine

WINDOW = (1920, 1080)
PAGE = """# Long recordings

`scripts/soak.sh {args.minutes:g}` generates a million heap events per second while the window follows their file, and writes
this page. The events have 20,000 stacks by key, and the keys keep getting new meanings. The trace may use {args.limit} MB; beyond that,
highwater drops closed allocations.

Machine: {machine}. Date: {date}. The event generator uses about one CPU.

{table}

*Frames* are the window's own work (logic, panels, tessellation) at {WINDOW[0]}×{WINDOW[1]}, without painting. *In memory* is
the whole process: the trace, its index, and the window. Some frees are of blocks that the generated program never
allocated.
"""
# What is behind the reader by so many bytes is read.
KEPT = 1 << 30


def resident(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return {key: int(re.search(rf"{key}:\s+(\d+)", status)[1]) / 1024 for key in ("VmRSS", "VmHWM")}


def frames(log):
    lines = log.read_text().splitlines()[1:] if log.exists() else []
    return [sum(map(float, line.split("\t")[1:4])) for line in lines if line.count("\t") == 6]


def spread(values):
    values = sorted(values)
    if not values:
        return "none"
    at = lambda part: values[min(len(values) - 1, int(part * len(values)))]
    return f"{at(0.5):.1f} ({at(0.95):.1f}), at most {values[-1]:.1f}"


def words(dump):
    lines = dump.read_text().splitlines() if dump.exists() else []
    return [line.split("\t", 2)[2] for line in lines if line.count("\t") >= 2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--instruments", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--limit", type=int, required=True)
    parser.add_argument("--out")
    args = parser.parse_args()
    folder = Path(args.dir)
    trace, log, dump = folder / "live.etl", folder / "frames.tsv", folder / "ui.txt"
    events = int(args.minutes * 60 * 1_000_000)

    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", "1", "-screen", "0", f"{WINDOW[0]}x{WINDOW[1]}x24", "+extension", "GLX"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    display = ":" + screen.stdout.readline().decode().strip()
    env = dict(
        os.environ,
        DISPLAY=display,
        HIGHWATER_FRAME_TIMES=str(log),
        HIGHWATER_UI_DUMP=str(dump),
        HIGHWATER_SETTINGS_DIR=str(folder / "settings"),
    )
    make = [args.instruments, "synth", "heap", "--replace", "-o", trace, "--events", events, "--stacks", "keys", "--speed", 1, "--distinct-stacks", 20000]
    made = subprocess.Popen([str(word) for word in make])
    window = None
    try:
        while not trace.exists() or trace.stat().st_size < 1 << 20:
            time.sleep(0.05)
        look = ["--follow", str(trace), "--memory-limit", str(args.limit), "--size", f"{WINDOW[0]}x{WINDOW[1]}"]
        window = subprocess.Popen([args.program, *look], env=env, stderr=subprocess.DEVNULL)
        lines = watch(args, made, window, trace, log, dump)
        if args.out:
            Path(args.out).write_text(PAGE.format(args=args, machine=machine(), date=datetime.date.today(), table="\n".join(lines), WINDOW=WINDOW))
    finally:
        for child in filter(None, [window, made, screen]):
            child.terminate()
            child.wait()


def watch(args, made, window, trace, log, dump):
    start, seen, freed = time.monotonic(), 0, 0
    frame_title = "frames, CPU ms: median (p95)"
    lines = [f"| minute | MB in the file | MB in memory (peak) | {frame_title} | seconds shown | the window says |", "|-|-|-|-|-|-|"]
    print(*lines, sep="\n", flush=True)
    marks = [minute for minute in (0.5, 1, 2, 5, 10, 20, 30, 60) if minute < args.minutes] + [args.minutes]
    for mark in marks:
        while time.monotonic() - start < mark * 60 and made.poll() is None:
            time.sleep(1)
            freed = free(trace, freed)
        line, seen = row(mark, window, trace, log, dump, seen)
        lines.append(line)
        print(line, flush=True)
    # Not to its end: the window would look into the file again, which has holes by now.
    return lines


def row(mark, window, trace, log, dump, seen):
    all_frames = frames(log)
    memory = resident(window.pid)
    shown = [match[1] for word in words(dump) if (match := re.match(r"Following: ([^,]*),", word))]
    told = [word for word in words(dump) if re.search(r"lost|dropped|problem|frees|bounds", word)]
    size = trace.stat().st_size >> 20
    cells = [mark, size, f"{memory['VmRSS']:.0f} ({memory['VmHWM']:.0f})", spread(all_frames[seen:])]
    cells += ["".join(shown), "; ".join(told)[:240]]
    return "| " + " | ".join(map(str, cells)) + " |", len(all_frames)


def free(trace, freed):
    """Gives back to the disk what lies far behind the end; the header stays."""
    end = (trace.stat().st_size - KEPT) >> 20 << 20
    start = max(freed, 1 << 20)
    if end > start:
        subprocess.run(["fallocate", "--punch-hole", "--offset", str(start), "--length", str(end - start), str(trace)], check=True)
        return end
    return freed


if __name__ == "__main__":
    main()
