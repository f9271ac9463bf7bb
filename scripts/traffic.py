"""A real program's allocations, for scripts/bench.sh: syntax trees of the standard library, as JSON and back.

Run with PYTHONMALLOC=malloc, else Python keeps small blocks to itself.
"""

import ast
import json
import pathlib
import sysconfig

kept = []
for file in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))[:30]:
    names = {}
    for node in ast.walk(ast.parse(file.read_text(errors="replace"))):
        names.setdefault(type(node).__name__, []).append(getattr(node, "lineno", 0))
    kept.append(json.loads(json.dumps(names)))
print(len(kept))
