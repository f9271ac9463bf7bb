"""What CI services are given, as other programs read it; see check-ci.sh.

* YAML of packaging/ci and of all documents: PyYAML reads it, and every step has what composite actions need.
* SARIF of `check` and `diff`: the public schema of version 2.1.0.
"""

import copy
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import yaml

RULES = """
[[rule]]
name = "Budget <32M>"
process = "MemoryTestApp.exe"
layer = "commit"
peak = "32M"
[[rule]]
name = "Nobody"
process = "nobody.exe"
peak = 1
"""


def main():
    highwater, schema = sys.argv[1], Path(sys.argv[2])
    check_yaml()
    with tempfile.TemporaryDirectory() as folder:
        rules, sarif = Path(folder) / "rules.toml", Path(folder) / "out.sarif"
        rules.write_text(RULES)
        root = ["--source-root", r"C:\MemoryTestApp"]
        grown = ["diff", "demo:@0..20", "demo:@20..40", "--by", "process,responsible", "--fail-over", "1K"]
        check = ["check", "demo:", "--rules", str(rules)]
        for words, code in [(check + root, 3), (check, 3), (grown + root, 3), (grown, 3), (grown[:-1] + ["1G"], 0)]:
            done = subprocess.run([highwater, *words, "--quiet", "--sarif", str(sarif)], check=False)
            assert done.returncode == code, (words, done.returncode)
            validate(json.loads(sarif.read_text()), schema)
    print("YAML of packaging/ci and the documents, and SARIF, are well")


def validate(sarif, schema):
    validator = jsonschema.Draft7Validator(json.loads(schema.read_text()))
    validator.validate(sarif)
    # The validator must be able to refuse.
    bad = copy.deepcopy(sarif)
    bad["runs"][0]["tool"]["driver"].pop("name")
    assert list(validator.iter_errors(bad)), "the schema refuses nothing"


def check_yaml():
    blocks = [yaml.safe_load(block) for path in Path("docs").glob("*.md") for block in blocks_of(path)]
    assert any("jobs" in block for block in blocks) and any("include" in block for block in blocks), blocks
    folder = Path("packaging/ci")
    texts = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*/*.yml"))}
    assert sorted(texts) == ["action.yml", "highwater.gitlab-ci.yml", "workflow.yml"], sorted(texts)
    action = texts["action.yml"]
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert ("run" in step) != ("uses" in step) and ("run" not in step or step["shell"] == "bash"), step
    assert all("description" in value for value in action["inputs"].values())
    used = {name for step in action["runs"]["steps"] for name in inputs_of(step)}
    assert used == set(action["inputs"]), used ^ set(action["inputs"])
    given = texts["workflow.yml"]["jobs"]["memory"]["steps"][-1]["with"]
    assert set(given) <= set(action["inputs"]), given
    job = texts["highwater.gitlab-ci.yml"][".highwater"]
    assert job["artifacts"]["reports"] == {"junit": "memory.xml"} and job["artifacts"]["when"] == "always", job


def blocks_of(path):
    """The blocks of YAML in a document."""
    return re.findall(r"^```yaml\n(.*?)^```", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def inputs_of(step):
    """The inputs that a step names in expressions."""
    text = yaml.safe_dump(step)
    return {part.split(" ")[0].split("}")[0] for part in text.split("inputs.")[1:]}


if __name__ == "__main__":
    main()
