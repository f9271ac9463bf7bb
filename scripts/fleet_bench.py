"""Measures `highwater export --format parquet` of one large trace, on Linux.

Usage: fleet_bench.py HIGHWATER TRACE.etl    for example of: highwater synth heap -o big.etl --stacks keys
                                             --events 128000000 --live 1000000

Prints how long opening and writing take, and what memory the process has of its own (RssAnon) at most beyond what it
has when the trace is open. A trace is open when the first file of a table is there."""

import pathlib
import subprocess
import sys
import tempfile
import time


def own_memory(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("RssAnon")), None)


def main():
    highwater, trace = sys.argv[1:3]
    with tempfile.TemporaryDirectory(dir=pathlib.Path(trace).resolve().parent) as folder:
        words = [highwater, "export", trace, "--format", "parquet", "-o", folder]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        start, opened, samples = time.time(), None, []
        while process.poll() is None:
            memory = own_memory(process.pid)
            if memory is not None:
                samples.append((time.time() - start, memory / 1024))
            if opened is None and any(pathlib.Path(folder).glob("_staging-*/*/*/*.parquet")):
                opened = time.time() - start
            time.sleep(0.02)
        seconds, said = time.time() - start, process.stdout.read().strip()
        if process.returncode != 0 or opened is None:
            raise SystemExit(f"exit code {process.returncode}")
        files = [file.stat().st_size for file in pathlib.Path(folder).glob("*/*/*.parquet")]
    at_open = [memory for at, memory in samples if at <= opened]
    after = [memory for at, memory in samples if at > opened]
    rows = int(said.split(" written, ")[1].split()[0].replace(",", ""))
    print(f"{rows:,} allocations, tables of {sum(files) / 2**20:,.0f} MB")
    print(f"opened in {opened:.1f} s, at most {max(at_open):,.0f} MB; {at_open[-1]:,.0f} MB when it was open")
    print(f"written in {seconds - opened:.1f} s ({rows / (seconds - opened) / 1e6:.1f} million a second), at most {max(after) - at_open[-1]:,.0f} MB more")


if __name__ == "__main__":
    main()
