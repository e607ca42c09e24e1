"""Runs the suite of one surface over other servers, by a plugin that puts them in their place."""

import os
import subprocess
import sys
from xml.etree import ElementTree as ET

from paths import REPOSITORY


def run_suite(plugin, folder, *paths, marks, all_rows=True, **variables):
    """
    Run the rows with *marks*; return the names of those that passed, and of the others.

    Without *all_rows*, rows that are the same for both providers run once.
    """
    plugins = [plugin] if all_rows else [plugin, "one_provider_plugin"]
    report = folder / "report.xml"
    helpers, sources = REPOSITORY / "tests" / "helpers", REPOSITORY / "src"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:xdist"),
            *(f"-p{name}" for name in plugins),
            *(f"--junitxml={report}", "--tb=no", "-m", marks),
            *paths,
        ],
        cwd=REPOSITORY,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(helpers), str(sources)]),
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    passed, failed = [], []
    for case in ET.parse(report).iter("testcase"):
        is_failed = case.find("failure") is not None or case.find("error") is not None
        (failed if is_failed else passed).append(case.get("name"))
    return passed, failed
