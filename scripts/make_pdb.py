#!/usr/bin/env python3
"""Writes LLVM IR from which llc and lld make a program with a large PDB: functions
with lines, one inlined call and two calls that allocate in each, over many modules.

    make_pdb.py FOLDER FUNCTIONS MODULES

FOLDER gets one .ll for each module. Nothing of this is shipped: scripts/symbol-bench.sh
measures with it."""

import sys
from pathlib import Path

folder, functions, modules = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)
each = functions // modules
TYPES = 500  # a module


class Metadata:
    """Numbered nodes."""

    def __init__(self):
        self.lines = []

    def add(self, text):
        self.lines.append(text)
        return f"!{len(self.lines) - 1}"


def module(number):
    nodes = Metadata()
    body = []
    file = nodes.add(f'!DIFile(filename: "engine/source/module_{number:02}/subsystem.cpp", directory: "C:\\\\build\\\\game")')
    unit = nodes.add(
        f'distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: {file}, producer: "bench", isOptimized: true, '
        "runtimeVersion: 0, emissionKind: FullDebug)"
    )
    space = nodes.add(f'!DINamespace(name: "module_{number:02}", scope: null)')
    signature = nodes.add("!DISubroutineType(types: !{null})")
    types = [
        nodes.add(
            f'distinct !DICompositeType(tag: DW_TAG_structure_type, name: "Component<{number},{i},std::allocator<Entity> >", '
            f'scope: {space}, file: {file}, line: {i + 1}, size: 256, identifier: ".?AU?$Component@{number}@{i}")'
        )
        for i in range(TYPES)
    ]
    inlined = [
        nodes.add(
            f'distinct !DISubprogram(name: "Allocate<{i}>", linkageName: "?Allocate_{number}_{i}", scope: {space}, '
            f"file: {file}, line: {5000 + i}, type: {signature}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {unit})"
        )
        for i in range(100)
    ]
    first = number * each
    for i in range(each):
        name = f"System{first + i}_Update_All_Entities_Of_The_World_That_Have_This_Component"
        line = 10 * i + 1
        sub = nodes.add(
            f'distinct !DISubprogram(name: "{name}", linkageName: "?{name}@module_{number:02}@@YAXXZ", scope: {space}, '
            f"file: {file}, line: {line}, type: {signature}, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {unit})"
        )
        here = nodes.add(f"!DILocation(line: {line + 2}, scope: {sub})")
        call = nodes.add(f"distinct !DILocation(line: {line + 4}, scope: {sub})")
        inner = nodes.add(f"!DILocation(line: {5001 + i % 100}, scope: {inlined[i % 100]}, inlinedAt: {call})")
        end = nodes.add(f"!DILocation(line: {line + 6}, scope: {sub})")
        body.append(
            f'define void @"?{name}@module_{number:02}@@YAXXZ"() !dbg {sub} {{\n'
            f"  %a = call i8* @allocate(i64 {24 + i % 100}), !dbg {here}, !heapallocsite {types[i % TYPES]}\n"
            f"  %b = call i8* @allocate(i64 {32 + i % 50}), !dbg {inner}, !heapallocsite {types[(i + 7) % TYPES]}\n"
            f"  call void @keep(i8* %a, i8* %b), !dbg {end}\n"
            f"  ret void, !dbg {end}\n}}\n"
        )
    head = 'target triple = "x86_64-pc-windows-msvc"\n'
    if number == 0:
        head += "define i8* @allocate(i64 %n) noinline { ret i8* null }\n"
        head += "define void @keep(i8* %a, i8* %b) noinline { ret void }\ndefine i32 @start() { ret i32 0 }\n"
    else:
        head += "declare i8* @allocate(i64)\ndeclare void @keep(i8*, i8*)\n"
    flags = [nodes.add('!{i32 2, !"CodeView", i32 1}'), nodes.add('!{i32 2, !"Debug Info Version", i32 3}')]
    tail = f"!llvm.dbg.cu = !{{{unit}}}\n!llvm.module.flags = !{{{', '.join(flags)}}}\n"
    tail += "".join(f"!{i} = {line}\n" for i, line in enumerate(nodes.lines))
    (folder / f"module_{number:02}.ll").write_text(head + "".join(body) + tail)


for number in range(modules):
    module(number)
