#!/usr/bin/env python3
"""Prints the licences of everything that is linked into the program.

    licences.py TARGET FEATURES

Names, versions and licence terms come from cargo, the texts from the
packages themselves. A package without terms is an error; one without a text (some
leave it in their repository) is listed with its terms.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

LICENCE = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense|ofl|ufl)", re.IGNORECASE)
NOT_LINKED = {"tests", "test", "testdata", "examples", "benches"}
RUST = """Rust's standard library: MIT OR Apache-2.0, Copyright (c) The Rust Project contributors.
Programs linked with mingw-w64 hold parts of its runtime (public domain, and ZPL-2.1) and of GCC's libgcc
(GPL-3.0 with the GCC Runtime Library Exception, which lets programs of any licence hold it)."""


def cargo(*words):
    return subprocess.run(["cargo", *words], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def linked(target, features):
    """Packages that are linked: no macros, nothing that only builds or tests need."""
    choice = ["--locked", "--features", features]
    tree = cargo("tree", *choice, "--target", target, "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}")
    wanted = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    packages = json.loads(cargo("metadata", *choice, "--format-version", "1"))["packages"]
    chosen = [package for package in packages if (package["name"], f"v{package['version']}") in wanted and package["source"]]
    return sorted(chosen, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The licence files of a package, those of fonts in it included."""
    folder = Path(package["manifest_path"]).parent
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix in ("", ".md", ".txt"))
    named = [path for path in files if LICENCE.search(path.name) and not NOT_LINKED & set(path.relative_to(folder).parts)]
    if package["license_file"]:
        named.append(folder / package["license_file"])
    for path in sorted(set(named)):
        yield path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n").strip()


def main():
    packages = linked(*sys.argv[1:])
    without = [package["name"] for package in packages if not package["license"] and not package["license_file"]]
    if without:
        sys.exit(f"no licence: {', '.join(without)}")

    holders = {}
    for package in packages:
        for text in texts(package):
            # The same words, however they are broken into lines.
            same = holders.setdefault(" ".join(text.split()), (text, []))
            same[1].append(f"{package['name']} {package['version']}")

    sys.stdout.reconfigure(encoding="utf-8")
    print("highwater holds the work of others, with thanks. What it is, and under which terms:\n")
    for package in packages:
        print(f"{package['name']} {package['version']}: {package['license'] or 'see its text below'}")
    print(f"\n{RUST}")
    for text, names in sorted(holders.values(), key=lambda item: item[1]):
        print(f"\n{'=' * 80}\n{', '.join(dict.fromkeys(names))}\n{'-' * 80}\n{text}")


if __name__ == "__main__":
    main()
