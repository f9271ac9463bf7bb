"""Drives `highwater mcp` with the protocol's own client and compares each answer with what its command prints. Called by
check-mcp.sh.

Usage: check_mcp.py HIGHWATER FOLDER

FOLDER has a copy of the demo trace, "it's a trace.etl".
"""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
from mcp import Client, MCPError, StdioServerParameters

INVALID_PARAMS = -32602
FILE = "it's a trace.etl"
CALLS = [
    ("open", {}),
    ("info", {"files": [FILE]}),
    ("findings", {"top": 3}),
    ("report", {"by": "responsible", "top": 5, "from": "12.5"}),
    ("report", {"files": [FILE], "by": "process,type", "allocated": ["10..30", "..25"], "max_bytes": 1_000_000}),
    ("functions", {"of": "InnerLoopOperation", "top": 5}),
    ("stack", {"frame": "ManipulateTemporaryBuffer", "top": 2}),
    ("diff", {"a": "demo:@0..20", "b": f"{FILE}@20..", "by": "responsible", "top": 5}),
]


def printed(highwater, folder, command):
    """What a command prints."""
    words = shlex.split(command)
    assert words[0] == "highwater" and "--json" in words, command
    environment = {name: value for name, value in os.environ.items() if not name.startswith("_NT_")}
    run = subprocess.run([highwater, *words[1:]], cwd=folder, env=environment, capture_output=True, check=True)
    return json.loads(run.stdout)


async def refused(client, tool, arguments, word):
    """Arguments that a tool does not have are an error of the protocol."""
    try:
        await client.call_tool(tool, arguments)
    except MCPError as error:
        assert error.code == INVALID_PARAMS and word in str(error), error
    else:
        raise AssertionError(f"{tool} takes {arguments}")


async def session(highwater, folder, mode):
    """One session with a way of beginning; returns the number of answers."""
    parameters = StdioServerParameters(command=highwater, args=["mcp", "demo:", "--root", "."], cwd=folder)
    async with Client(parameters, mode=mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"open", "info", "findings", "report", "functions", "diff", "pages", "stack"} <= tools.keys(), tools.keys()
        for tool in tools.values():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        for tool, arguments in CALLS:
            jsonschema.validate(arguments, tools[tool].input_schema)
            result = await client.call_tool(tool, arguments)
            answer = result.structured_content
            assert not result.is_error and json.loads(result.content[0].text) == answer, (tool, result)
            bound = arguments.get("max_bytes", 20_000)
            assert max(len(json.dumps(answer)), len(result.content[0].text)) <= bound, tool
            whole, missing = printed(highwater, folder, answer["command"]), answer.get("truncated", 0)
            assert answer.keys() - whole.keys() <= {"doubts", "command", "truncated"}, answer.keys()
            if not missing:
                assert {key: answer[key] for key in whole} == whole, answer["command"]
        await refused(client, "report", {"colour": "red"}, "colour")
        await refused(client, "leaks", {}, "leaks")
        for files, word in [([str(folder.parent)], "--root"), (["none.etl"], "none.etl")]:
            result = await client.call_tool("open", {"files": files})
            assert result.is_error and word in result.content[0].text, result
        together = await asyncio.gather(*(client.call_tool("report", {"top": n}) for n in range(1, 31)))
        assert [len(result.structured_content["groups"]) for result in together[:3]] == [1, 2, 3]
        return client.protocol_version, len(CALLS) + len(together)


def main():
    highwater, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    for mode in ["auto", "legacy"]:
        version, answers = asyncio.run(session(str(highwater), folder, mode))
        print(f"{mode}: protocol {version}, {answers} answers are what the commands print")


main()
