"""Opens exports of highwater with other programs' readers and compares what they sum up to, and of pprof and
folded stacks each stack, with `highwater report --json`, for each layer and value; and what is not memory (marks, frames,
processor samples) with the JSON of its own commands. Called by check-exports.sh.

Usage: check_exports.py HIGHWATER SPEEDSCOPE_SCHEMA TRACE…

* CSV: Python's own reader.
* pprof: the protobuf library, with the message described here from the field numbers of profile.proto;
  and `go tool pprof`, where there is one.
* speedscope: the JSON schema that it ships.
* Firefox Profiler: there is no schema of its format; its tables are followed as its documents describe them.
"""

import csv
import gzip
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

LAYERS = ["commit", "heap", "tracker"]
# What is not written without stacks.
ONE_VALUE = ["folded", "pprof", "speedscope", "firefox"]
VALUES = {
    "outstanding": "outstanding_to",
    "impacting": "impacting_size",
    "allocated": "allocated_size",
    "count": "count",
    "peak": "peak",
}


def profile_class():
    """The message Profile with what is read here."""
    field = descriptor_pb2.FieldDescriptorProto
    number, text, part = field.TYPE_INT64, field.TYPE_STRING, field.TYPE_MESSAGE
    messages = {
        "ValueType": [("type", 1, number, ""), ("unit", 2, number, "")],
        "Label": [("key", 1, number, ""), ("str", 2, number, ""), ("num", 3, number, "")],
        "Sample": [("location_id", 1, field.TYPE_UINT64, "*"), ("value", 2, number, "*"), ("label", 3, part, "*Label")],
        "Line": [("function_id", 1, field.TYPE_UINT64, ""), ("line", 2, number, "")],
        "Location": [("id", 1, field.TYPE_UINT64, ""), ("mapping_id", 2, field.TYPE_UINT64, ""), ("line", 4, part, "*Line")],
        "Function": [("id", 1, field.TYPE_UINT64, ""), ("name", 2, number, "")],
        "Mapping": [("id", 1, field.TYPE_UINT64, ""), ("filename", 5, number, "")],
        "Profile": [
            ("sample_type", 1, part, "*ValueType"),
            ("sample", 2, part, "*Sample"),
            ("mapping", 3, part, "*Mapping"),
            ("location", 4, part, "*Location"),
            ("function", 5, part, "*Function"),
            ("string_table", 6, text, "*"),
            ("duration_nanos", 10, number, ""),
            ("default_sample_type", 14, number, ""),
        ],
    }
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field_name, tag, kind, more in fields:
            label = field.LABEL_REPEATED if more.startswith("*") else field.LABEL_OPTIONAL
            of = {"type_name": ".p." + more.lstrip("*")} if kind == part else {}
            message.field.add(name=field_name, number=tag, type=kind, label=label, **of)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))


PROFILE = profile_class()


def main():
    highwater, schema, traces = sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), sys.argv[3:]
    go = shutil.which("go")
    checked = 0
    with tempfile.TemporaryDirectory() as folder:
        for trace in traces:
            for layer in LAYERS:
                checked += check(highwater, schema, go, trace, layer, Path(folder), [])
        # A part in which all classes of lifetimes occur.
        part = ["--from", "7.5", "--to", "21"]
        checked += sum(check(highwater, schema, go, "demo:", layer, Path(folder), part) for layer in LAYERS)
        for part in [], part:
            checked += check_activity(highwater, schema, go, "demo:", Path(folder), part)
    print(f"{checked} exports opened by others have the numbers of the report" + ("" if go else "; go tool pprof: skipped, no Go"))


def runner(highwater):
    """Runs the program, which must succeed."""

    def run(*words):
        done = subprocess.run([highwater, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"highwater {' '.join(words)}: exit code {done.returncode}: {done.stderr}")
        return done.stdout

    return run


def refused(highwater, reason, *words):
    """Runs the program, which must fail for this reason and print nothing."""
    done = subprocess.run([highwater, *words], capture_output=True, text=True, check=False)
    if done.returncode != 1 or reason not in done.stderr or done.stdout:
        sys.exit(f"highwater {' '.join(words)}: exit code {done.returncode}, and not 1 with {reason!r}: {done.stderr}")


def check_activity(highwater, schema, go, trace, folder, part):
    """Marks, frames and processor samples of a trace, or of a part of it."""
    run = runner(highwater)

    def same(what, found, expected):
        if found != expected:
            sys.exit(f"{trace}, {what}: {found}, and not {expected}")

    marks = json.loads(run("marks", trace, "--json", *part))["marks"]
    table = list(csv.DictReader(io.StringIO(run("marks", trace, "--csv", *part), newline="")))
    same("CSV of marks", [(float(row["at_s"]), row["text"]) for row in table], [(mark["at_s"], mark["text"]) for mark in marks])
    layers = json.loads(run("frames", trace, "--json", *part))["layers"]
    table = list(csv.DictReader(io.StringIO(run("frames", trace, "--csv", *part), newline="")))
    frames = [(of["layer"], frame["number"], frame["allocated_size"]) for of in layers for frame in of["frames"]]
    same("CSV of frames", [(row["layer"], int(row["number"]), int(row["allocated_size"])) for row in table], frames)

    stacks = json.loads(run("processors", trace, "--json", "--by", "stack", *part))["stacks"]
    expected = sums((of["pid"], stack_of(of), of["samples"]) for of in stacks)
    total = sum(expected.values())
    if not marks or not frames or not total:
        sys.exit(f"{trace} has no marks, frames or samples to compare")

    def export(format, *words):
        out = folder / f"samples.{format}"
        run("export", trace, "--format", format, "--value", "samples", "--replace", "-o", str(out), *part, *words)
        return out

    pprof = PROFILE.FromString(gzip.decompress(export("pprof").read_bytes()))
    check_pprof(pprof)
    same("kinds of pprof", [pprof.string_table[kind.type] for kind in pprof.sample_type], ["samples"])
    same("pprof", sums(pprof_stacks(pprof, 0)), expected)
    same("folded", sums(folded_stacks(export("folded").read_text().splitlines())), expected)
    speedscope = json.loads(export("speedscope").read_text())
    jsonschema.validate(speedscope, schema)
    same("speedscope", sum(speedscope["profiles"][0]["weights"]), total)
    if go:
        same("go tool pprof", go_sum(go, folder / "samples.pprof", "samples", 0), total)
    firefox = [json.loads(export("firefox").read_text())]
    firefox.append(json.loads(run("export", trace, "--format", "firefox", "--layer", "heap", "-o", "-", *part)))
    for profile in firefox:
        same("Firefox's samples", sum(firefox_samples(profile)), total)
        same("Firefox's markers", sorted(firefox_markers(profile)), sorted(mark["text"] for mark in marks))
    return 2 + 3 + len(firefox)


def firefox_samples(profile):
    """The weights of the samples of all threads, in order of time."""
    for thread in profile["threads"]:
        samples = thread["samples"]
        # Times are those since the one before, or their own.
        times = samples.get("time") or samples["timeDeltas"]
        assert len(times) == len(samples["stack"]) == samples["length"]
        assert "time" not in samples or times == sorted(times)
        assert all(stack is not None and stack < thread["stackTable"]["length"] for stack in samples["stack"])
        weights = samples.get("weight") or [1] * samples["length"]
        yield from weights


def firefox_markers(profile):
    """The texts of all markers."""
    for thread in profile["threads"]:
        for data in thread["markers"]["data"]:
            text = data["text"]
            yield text if isinstance(text, str) else thread["stringArray"][text]


def check(highwater, schema, go, trace, layer, folder, part):
    """All formats of one layer of one trace, or of a part of it."""
    run = runner(highwater)

    groups = json.loads(run("report", trace, "--json", "--layer", layer, "--by", "process,stack", *part))["groups"]
    expected = {value: sum(group[field] for group in groups) for value, field in VALUES.items()}
    words = ["export", trace, "--layer", layer, "-o", "-", *part]
    if not groups:
        for format in ONE_VALUE:
            refused(highwater, "no matching allocations", *words, "--format", format)
        return len(ONE_VALUE)

    def export(format, *words):
        out = folder / f"out.{format}"
        run("export", trace, "--format", format, "--layer", layer, "--replace", "-o", str(out), *part, *words)
        return out

    def same(what, value, found):
        if found != expected[value]:
            sys.exit(f"{trace}, {layer}, {what}, {value}: {found}, and the report says {expected[value]}")

    table = list(csv.DictReader(io.StringIO(export("csv", "--by", "process,stack").read_text(), newline="")))
    pprof = PROFILE.FromString(gzip.decompress(export("pprof").read_bytes()))
    check_pprof(pprof)
    kinds = [pprof.string_table[kind.type] for kind in pprof.sample_type]

    def stacks(what, value, found):
        of_report = sums((group["pid"], stack_of(group), group[VALUES[value]]) for group in groups)
        if found != of_report:
            wrong = [stack for stack in found | of_report if found.get(stack) != of_report.get(stack)]
            sys.exit(f"{trace}, {layer}, {what}, {value}: {len(wrong)} stacks are not the report's, such as {wrong[0]}")

    for value, field in VALUES.items():
        stacks("pprof", value, sums(pprof_stacks(pprof, kinds.index(value))))
        same("csv", value, sum(int(row[field]) for row in table))
        same("pprof", value, sum(sample.value[kinds.index(value)] for sample in pprof.sample))
        if any(group[field] for group in groups):
            folded = export("folded", "--value", value).read_text().splitlines()
            same("folded", value, sum(int(line.rsplit(" ", 1)[1]) for line in folded))
            stacks("folded", value, sums(folded_stacks(folded)))
        else:
            refused(highwater, "no stack has a value", *words, "--format", "folded", "--value", value)
        speedscope = json.loads(export("speedscope", "--value", value).read_text())
        jsonschema.validate(speedscope, schema)
        signs = [1, -1]
        same("speedscope", value, sum(sign * sum(p["weights"]) for sign, p in zip(signs, speedscope["profiles"])))
        same("firefox", value, sum(firefox_weights(json.loads(export("firefox", "--value", value).read_text()))))
    if go:
        for index, value in enumerate(kinds):
            same("go tool pprof", value, go_sum(go, folder / "out.pprof", value, index))
    return 1 + 1 + 3 * len(VALUES)


def stack_of(group):
    """The frames of a group of a report, the outermost first, as formats of one line write them."""
    return ";".join(frame.replace(";", ":") for frame in group["stack"] or ["(no stack recorded)"])


def sums(stacks):
    """What there is by process and stack, where it is anything."""
    all = {}
    for pid, stack, weight in stacks:
        all[pid, stack] = all.get((pid, stack), 0) + weight
    return {key: weight for key, weight in all.items() if weight != 0}


def pprof_stacks(profile, value):
    """Process, stack and weight of each sample."""
    text = profile.string_table
    names = {function.id: text[function.name].replace(";", ":") for function in profile.function}
    frames = {location.id: [names[line.function_id] for line in reversed(location.line)] for location in profile.location}
    for sample in profile.sample:
        pid = next(label.num for label in sample.label if text[label.key] == "pid")
        yield pid, ";".join(frame for id in reversed(sample.location_id) for frame in frames[id]), sample.value[value]


def folded_stacks(lines):
    """The same of folded stacks; ids stand in parentheses behind the names of processes."""
    for line in lines:
        stack, weight = line.rsplit(" ", 1)
        process, stack = stack.split(";", 1)
        yield int(re.search(r"\((\d+)[^()]*\)$", process)[1]), stack, int(weight)


def check_pprof(profile):
    """What the format demands: all that is named is there."""
    assert profile.string_table[0] == ""
    locations = {location.id for location in profile.location}
    functions = {function.id for function in profile.function}
    mappings = {mapping.id for mapping in profile.mapping} | {0}
    assert 0 not in locations and 0 not in functions
    assert all(id in locations for sample in profile.sample for id in sample.location_id)
    assert all(line.function_id in functions for location in profile.location for line in location.line)
    assert all(location.mapping_id in mappings for location in profile.location)
    assert all(len(sample.value) == len(profile.sample_type) for sample in profile.sample)


def go_sum(go, file, value, index):
    """What Go's own pprof sums up, once it has drawn its table."""
    if not PROFILE.FromString(gzip.decompress(file.read_bytes())).sample:
        return 0
    top = subprocess.run([go, "tool", "pprof", "-top", f"-sample_index={value}", file], capture_output=True, text=True, check=False)
    if top.returncode != 0 or f"Type: {value}" not in top.stdout:
        sys.exit(f"go tool pprof -top: {top.stderr}{top.stdout}")
    raw = subprocess.run([go, "tool", "pprof", "-raw", file], capture_output=True, text=True, check=True).stdout
    samples = re.findall(r"^((?: *-?\d+)+):(?: \d+)+ *$", raw, re.MULTILINE)
    return sum(int(sample.split()[index]) for sample in samples)


def firefox_weights(profile):
    """The weights of all native allocations, whose stacks lead to names."""
    for thread in profile["threads"]:
        stacks, frames, functions = thread["stackTable"], thread["frameTable"], thread["funcTable"]
        allocations = thread.get("nativeAllocations", {"stack": [], "weight": [], "time": []})
        assert len(allocations["stack"]) == len(allocations["weight"]) == len(allocations["time"]) == allocations.get("length", 0)
        for stack, weight in zip(allocations["stack"], allocations["weight"]):
            seen = stack
            while seen is not None:
                name = thread["stringArray"][functions["name"][frames["func"][stacks["frame"][seen]]]]
                assert name
                outer = stacks["prefix"][seen]
                assert outer is None or outer < seen
                seen = outer
            yield weight


main()
