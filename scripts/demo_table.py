#!/usr/bin/env python3
"""What scripts/demo.sh needs to know of the program that it built.

    demo_table.py key < OUTPUT_OF_READOBJ     name of the PDB's folder in a symbol store
    demo_table.py pdb EXE KEY                 src/demo/build.rs
    demo_table.py table EXE PDB SOURCES       crates/dev/src/synth/program.rs

Asks LLVM's tools: functions and their sizes come from the PDB, calls and where they
return to from the machine code."""

import re
import subprocess
import sys
import zlib
from pathlib import Path


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def number(pattern, text):
    return int(re.search(pattern, text)[1], 0)


def written_here(what):
    print(f"//! {what} as it was built from `assets/demo`.")
    print("//! Written by `scripts/demo.sh`; not to be changed by hand.\n")


def guid_bytes(text):
    return bytes.fromhex(re.search(r"PDBGUID: \(([^)]*)\)", text)[1].replace(" ", ""))


def key(text):
    raw = guid_bytes(text)
    ordered = raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:]
    return f"{ordered.hex().upper()}{number(r'PDBAge: ([0-9]+)', text):X}"


def functions(pdb, text_rva):
    """Functions by address: rva, size, name."""
    pattern = r"S_[GL]PROC32 \[size = \d+\] `([^`]*)`\s+parent = \d+, end = \d+, addr = 0001:(\d+), code size = (\d+)"
    found = re.findall(pattern, run("llvm-pdbutil", "dump", "--symbols", pdb))
    return sorted((text_rva + int(at), int(size), name) for name, at, size in found)


def imports(exe):
    """Names by the rva of their slot in the import address table."""
    slots = {}
    for library in run("llvm-readobj", "--coff-imports", exe).split("Import {")[1:]:
        slot = number(r"ImportAddressTableRVA: (0x[0-9A-F]+)", library)
        for name in re.findall(r"Symbol: (\S+)", library):
            slots[slot] = name
            slot += 8
    return slots


def calls(exe, base, functions, imports):
    """Calls of functions by name: caller, callee, rva that they return to."""
    lines = re.sub(r"\n\s+#", " #", run("llvm-objdump", "-d", "--no-show-raw-insn", exe)).splitlines()
    code = [match.groups() for match in (re.match(r"\s*([0-9a-f]+):\s+(.*)", line) for line in lines) if match]
    target = {rva + base: name for rva, _, name in functions}
    for address, instruction in code:
        if jump := re.match(r"jmpq?\s+\*.*# 0x([0-9a-f]+)", instruction):
            target[int(address, 16)] = imports[int(jump[1], 16) - base]
    found = []
    for (address, instruction), (after, _) in zip(code, code[1:]):
        if not instruction.startswith("call"):
            continue
        call = re.match(r"callq?\s+0x([0-9a-f]+)", instruction)
        assert call, f"what is called at {address}? {instruction}"
        rva = int(address, 16) - base
        caller = next(name for start, size, name in functions if start <= rva < start + size)
        found.append((caller, target[int(call[1], 16)], int(after, 16) - base))
    assert len({(caller, callee) for caller, callee, _ in found}) == len(found), "one function calls another in two places"
    return sorted(found)


def guid_array(headers):
    return ", ".join(f"0x{byte:02X}" for byte in guid_bytes(headers))


def pdb(exe, store_key):
    headers = run("llvm-readobj", "--coff-debug-directory", exe)
    written_here("The PDB of `MemoryTestApp.exe`")
    print("/// GUID of the PDB.")
    print(f"pub(super) const GUID: [u8; 16] = [{guid_array(headers)}];\n")
    print("/// Age of the PDB.")
    print(f"pub(super) const AGE: u32 = {number(r'PDBAge: ([0-9]+)', headers)};\n")
    print("/// The PDB in a cabinet, as a symbol store has it.")
    print(f'pub(super) const CABINET: &[u8] = include_bytes!("../../assets/demo/MemoryTestApp.pdb/{store_key}/MemoryTestApp.pd_");')


def table(exe, pdb, sources):
    headers = run("llvm-readobj", "--file-headers", "--sections", "--coff-debug-directory", exe)
    base = number(r"ImageBase: (0x[0-9A-F]+)", headers)
    text_rva = number(r"Name: \.text.*?VirtualAddress: (0x[0-9A-F]+)", headers.replace("\n", " "))
    all_functions = functions(pdb, text_rva)
    all_calls = calls(exe, base, all_functions, imports(exe))
    files = sorted(path for path in Path(sources).iterdir() if path.suffix in (".h", ".cpp"))
    digest = zlib.crc32(b"".join(path.name.encode() + b"\0" + path.read_bytes() for path in files))
    written_here("`MemoryTestApp.exe` of the demo")
    print("use super::image::{Build, Call, Function};\n")
    print("/// Which build it is.")
    print("pub(super) const BUILD: Build = Build {")
    print(f"guid: [{guid_array(headers)}],")
    print(f"time_stamp: {number(r'TimeDateStamp: .*[(](0x[0-9A-F]+)', headers):#010X},".replace("0X", "0x"))
    print("};\n\n/// Bytes that it has when it is mapped.")
    print(f"pub(super) const SIZE: u64 = {number(r'SizeOfImage: ([0-9]+)', headers):#x};\n")
    print("/// CRC-32 of the sources, each behind its name and a zero.")
    print(f"#[cfg(test)]\npub(super) const SOURCES: u32 = {digest:#010X};\n".replace("0X", "0x"))
    print("/// Its functions.")
    print("pub(super) const FUNCTIONS: &[Function] = &[")
    for rva, size, name in all_functions:
        print(f'Function {{ name: "{name}", rva: {rva:#x}, size: {size:#x} }},')
    print("];\n\n/// Its calls, by caller and callee.")
    print("pub(super) const CALLS: &[Call] = &[")
    for caller, callee, rva in all_calls:
        print(f'Call {{ caller: "{caller}", callee: "{callee}", returns_to: {rva:#x} }},')
    print("];")


if sys.argv[1] == "key":
    print(key(sys.stdin.read()))
elif sys.argv[1] == "pdb":
    pdb(*sys.argv[2:])
else:
    table(*sys.argv[2:])
