"""Measures exports of one large trace, on Linux.

Usage: export_bench.py HIGHWATER TRACE.etl [FORMAT…]    for example of: highwater-dev synth heap -o big.etl --stacks keys
                                                         --events 128000000 --live 1000000

Prints for each format how long opening and writing take, and what memory the process has of its own (RssAnon) at most
beyond what it has when the trace is open. A trace is open when the first file is begun."""

import pathlib
import subprocess
import sys
import tempfile
import time

FORMATS = ["parquet", "csv", "json", "folded", "pprof", "speedscope", "firefox"]
# Tables have all the columns of rows. Lists have groups, of which there are most by stack and size of block.
WORDS = {"parquet": [], "csv": ["--by", "process,heap,stack,size"], "json": ["--by", "process,heap,stack,size"]}


def own_memory(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon")), None)


def measure(highwater, trace, format):
    with tempfile.TemporaryDirectory(dir=pathlib.Path(trace).resolve().parent) as folder:
        folder = pathlib.Path(folder)
        out, begun = (folder, "_staging-*/*/*/*.parquet") if format == "parquet" else (folder / "out", "out.*.new")
        words = [highwater, "export", trace, "--format", format, "-o", out, *WORDS.get(format, [])]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        start, opened, samples = time.time(), None, []
        while process.poll() is None:
            memory = own_memory(process.pid)
            if memory is not None:
                samples.append((time.time() - start, memory / 1024))
            if opened is None and any(folder.glob(begun)):
                opened = time.time() - start
            time.sleep(0.02)
        seconds, said = time.time() - start, process.stdout.read().strip()
        if process.returncode != 0 or opened is None:
            raise SystemExit(f"{format}: exit code {process.returncode}")
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    at_open = [memory for at, memory in samples if at <= opened]
    after = [memory for at, memory in samples if at > opened] or at_open[-1:]
    print(f"{format}: {size:,.1f} MB")
    print(f"  opened in {opened:.1f} s, at most {max(at_open):,.0f} MB; {at_open[-1]:,.0f} MB when it was open")
    speed = ""
    if format == "parquet":
        rows = int(said.split(" written, ")[1].split()[0].replace(",", ""))
        speed = f" ({rows:,} allocations, {rows / (seconds - opened) / 1e6:.1f} million a second)"
    print(f"  written in {seconds - opened:.1f} s{speed}, at most {max(after) - at_open[-1]:,.0f} MB more", flush=True)


def main():
    highwater, trace, *formats = sys.argv[1:]
    for format in formats or FORMATS:
        measure(highwater, trace, format)


if __name__ == "__main__":
    main()
