"""
Check `POST /graphql` of a demo with the audit suite of GraphQL over HTTP, npm's ``graphql-http``.

All audits pass but those of docs/adr/0037-graphql-over-http.md.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from serving import demo

HERE = Path(__file__).resolve().parent
MODULES = HERE.parents[1] / ".peers" / HERE.name / "node_modules"
AUDITS = 61
QUERIES_BY_GET = ["5A70", "D6D5", "6A70"]  # docs/adr/0037-graphql-over-http.md


def main() -> None:
    node = shutil.which("node")
    if node is None or not MODULES.is_dir():
        print("no Node here: the audits are not run")
        return
    with demo(("graphql",)) as manifest:
        command = [node, HERE / "check.cjs"]
        command += [f"{manifest['baseUrl']}/graphql", manifest["tokens"]["full"]]
        environment = {**os.environ, "NODE_PATH": str(MODULES)}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    result = json.loads(done.stdout)
    assert result == {"audits": AUDITS, "failed": QUERIES_BY_GET}, result
    print(f"{AUDITS - len(QUERIES_BY_GET)} of {AUDITS} audits pass; the others are queries by GET")


if __name__ == "__main__":
    main()
