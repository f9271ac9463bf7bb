"""Counts the events of traces with dissect.etl and compares with `highwater info --json`.

Usage: check_writer.py HIGHWATER FILE...

dissect.etl finds the buffers (as many as the session header says were written),
expands and frames them; what counts as what is the table of the machine interface.
Process and image payloads are decoded with dissect.etl's descriptions and must be
used up to the last byte. Exits with 1 if anything differs.

dissect.etl takes every compressed buffer for XPRESS. For the other two forms its
buffers are given dissect.util's decoders, by the number in the first buffer's state.
"""

import io
import json
import subprocess
import sys
from collections import Counter
from uuid import UUID

from dissect.etl.c_etl import c_etl
from dissect.etl.etl import ETL, Buffer, BufferFlag
from dissect.util.compression import lznt1, lzxpress, lzxpress_huffman

HOOKS = {
    0x1020: "heap_create", 0x1021: "heap_alloc", 0x1022: "heap_realloc", 0x1023: "heap_destroy", 0x1024: "heap_free",
    0x0262: "virtual_alloc", 0x0263: "virtual_free",
    0x020A: "transition_fault", 0x020B: "demand_zero_fault", 0x020C: "copy_on_write_fault", 0x020D: "guard_page_fault",
    0x020E: "hard_page_fault", 0x020F: "access_violation", 0x0220: "hard_fault",
    0x0425: "view_map", 0x0426: "view_unmap", 0x0427: "view_rundown", 0x0428: "view_rundown",
    0x1820: "stack", 0x1825: "stack_key_ref", 0x1826: "stack_key_ref",
    0x1822: "stack_key_definition", 0x1823: "stack_key_definition", 0x1824: "stack_key_definition",
    0x0301: "process_start", 0x0302: "process_end", 0x0303: "process_rundown", 0x0304: "process_rundown",
    0x030A: "image_load", 0x140A: "image_load", 0x1402: "image_unload", 0x1403: "image_rundown", 0x1404: "image_rundown",
}
TRACKER_IDS = {100: "tracker_alloc", 101: "tracker_free", 102: "tracker_realloc", 103: "tracker_open", 104: "tracker_close"}
GROUPS = {
    UUID("3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c"): 0x02,
    UUID("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"): 0x03,
    UUID("3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"): 0x05,
    UUID("222962ab-6180-4b88-a825-346b75f2a24a"): 0x10,
    UUID("2cb15d1d-5fc1-11d2-abe1-00a0c911f518"): 0x14,
    UUID("def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"): 0x18,
}
IMAGE_ID = UUID("b3e675d7-2554-4f18-830b-2762732560de")
CUSTOM_HEAP = UUID("988917c5-5748-42a8-a127-a9a2285265d5")
STACK_ITEMS = {5, 6, 17, 18}
DECODED = {0x0301, 0x0302, 0x0303, 0x0304, 0x030A, 0x1402, 0x1403, 0x1404}


BUFFER_HEADER = 0x48


def huffman(data, size):
    """dissect.util does not know the size: it stops as soon as the last word of codes
    is loaded, though up to 32 bits of it are still to be read. With two words more it
    reads all, and then some nonsense, which can look like the start of a block."""
    try:
        return lzxpress_huffman.decompress(data + bytes(4))[:size]
    except ValueError:
        return huffman_of_size(io.BytesIO(data), size)


def huffman_of_size(src, size):
    """The same with dissect.util's codes and bits, up to the size."""
    out, bits = bytearray(), lzxpress_huffman.BitString()
    while len(out) < size:
        root, end = lzxpress_huffman._build_tree(src.read(256)), min(len(out) + 65536, size)
        bits.init(src)
        while len(out) < end:
            symbol = bits.decode(root)
            if symbol < 256:
                out.append(symbol)
                continue
            length, k = symbol & 15, symbol - 256 >> 4
            distance = (1 << k) + bits.lookup(k)
            if length == 15:
                length += src.read(1)[0]
                if length == 270:
                    length = int.from_bytes(src.read(2), "little")
            bits.skip(k)
            for _ in range(length + 3):
                out.append(out[-distance])
    return bytes(out)


DECODERS = {
    2: lambda data, _: lznt1.decompress(data),
    3: lambda data, _: lzxpress.decompress(data),
    4: huffman,
}


def buffer_data(self):
    """Stands for the buffers' own way to their data."""
    if not self._data:
        self.fh.seek(0x2C)
        decompress = DECODERS.get(int.from_bytes(self.fh.read(2), "little"))
        self.fh.seek(self.data_offset)
        size = self.filled_bytes - BUFFER_HEADER
        if self.header.BufferFlag & BufferFlag.COMPRESSED:
            data = decompress(self.fh.read(self.size - BUFFER_HEADER), size)
            assert len(data) == size, f"{len(data)} bytes instead of {size}"
        else:
            data = self.fh.read(size)
        self._data = memoryview(data)
    return self._data


Buffer.data = property(buffer_data)


def kind_of(header):
    """The machine interface's name of an event, or None."""
    name = type(header).__name__
    if hasattr(header, "hook_id"):
        return HOOKS.get(header.hook_id)
    if name == "EventHeader":
        # dissect.etl gives the provider's bytes in the wrong order; the header has them right.
        provider = UUID(bytes_le=bytes(header.header.ProviderId))
        if provider == CUSTOM_HEAP:
            return TRACKER_IDS.get(header.header.Id)
        if not header.header.Flags & 0x100:
            return None
        opcode = header.header.OpCode
    else:
        # Of a classic header, the type is the lowest byte of what dissect.etl calls the version.
        provider, opcode = header.provider_id, header.header.Version & 0xFF
    if provider == IMAGE_ID:
        return "image_id_rsds" if opcode == 0x24 else None
    return HOOKS.get(GROUPS.get(provider, 0xFF) << 8 | opcode)


def inline_stacks(header):
    """Stacks among the extended items. The chain is walked by its link bits:
    dissect.etl itself also takes the payload for items."""
    if type(header).__name__ != "EventHeader" or not header.header.Flags & 1:
        return 0
    found, at, payload = 0, 0, bytes(header.payload)
    while True:
        item = c_etl.EventHeaderExtendedDataItemHeader(payload[at:])
        found += int(item.ExtType) in STACK_ITEMS
        if not item.Reserved1 & 1:
            return found
        at += (int(item.Size) + 7) & ~7


def badly_decoded(header, record):
    """What is wrong with a process or image payload under dissect.etl's description
    of it, or None. (Its descriptions of heap and VirtualAlloc events are of the
    32-bit form, so they say nothing of ours.)"""
    if getattr(header, "hook_id", 0) not in DECODED or not header.is_64bit:
        return None
    try:
        fields = record.event._struct
        rest = None if fields is None else len(header.payload) - len(fields.dumps())
    except EOFError:
        rest = "too few"
    return None if rest == 0 else f"hook {header.hook_id:#x}: {rest} bytes left over"


def count(path):
    events, bad = Counter(), Counter()
    with open(path, "rb") as file:
        etl = ETL(file)
        buffers = 0
        for buffer in etl.buffers():
            buffers += 1
            for record in buffer:
                events["total"] += 1
                kind = kind_of(record.header)
                if kind:
                    events[kind] += 1
                events["inline_stack"] += inline_stacks(record.header)
                fault = badly_decoded(record.header, record)
                if fault:
                    bad[fault] += 1
        header = etl.logfile_header.header
        # The last buffer must end with the file.
        if buffer.next_buffer != file.seek(0, 2):
            bad["the file goes on behind the last buffer"] += 1
    session = {
        "buffers": buffers, "processors": header.NumberOfProcessors, "pointer_size": etl.pointer_size,
        "events_lost": header.EventsLost, "buffers_lost": header.BufferLost, "logger": etl.logfile_header.logger_name,
        "compressed": bool(header.LogFileMode & 0x04000000),
        "clock": {1: "qpc", 2: "system", 3: "cpu"}[header.ReservedFlags],
    }
    return events, session, bad


def compare(highwater, path):
    info = json.loads(subprocess.run([highwater, "info", "--json", path], check=True, capture_output=True).stdout)
    events, session, bad = count(path)
    wrong = [f"problem: {p}" for p in info["problems"]] + [f"{n} times: {what}" for what, n in bad.items()]
    for key, ours in info["events"].items():
        if events[key] != ours:
            wrong.append(f"events.{key}: {ours}, dissect.etl has {events[key]}")
    for key, theirs in session.items():
        if info["files"][0][key] != theirs:
            wrong.append(f"{key}: {info['files'][0][key]!r}, dissect.etl has {theirs!r}")
    print(f"{'DIFFERS' if wrong else 'agrees '} {path}: {events['total']} events, {session['buffers']} buffers")
    for line in wrong:
        print(f"    {line}")
    return not wrong


if __name__ == "__main__":
    results = [compare(sys.argv[1], path) for path in sys.argv[2:]]
    sys.exit(0 if results and all(results) else 1)
