"""
Compare the CalDAV connector's expansion of generated calendars with ical.js and rrule (npm).

`CALENDAR_OBJECTS` and `CALENDAR_SEED` choose the calendars. Without Node these are not compared.
`samples.py` compares the sample files of other libraries with recurring-ical-events.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parents[1] / ".peers" / HERE.name


def main() -> None:
    python = os.environ.get("PEERS_PROJECT_PYTHON", sys.executable)
    samples = subprocess.run([python, HERE / "samples.py"], check=False).returncode
    node = shutil.which("node")
    if node is None or not (ENVIRONMENT / "node_modules").is_dir():
        print("Node or its packages are not installed: ical.js and rrule were not asked")
        sys.exit(samples)
    calendars = subprocess.run(
        [python, HERE / "expand.py"], stdout=subprocess.PIPE, check=True
    ).stdout
    variables = {**os.environ, "NODE_PATH": str(ENVIRONMENT / "node_modules"), "TZ": "UTC"}
    command = [node, str(HERE / "check.cjs")]
    compared = subprocess.run(command, input=calendars, env=variables, check=False).returncode
    sys.exit(samples or compared)


main()
