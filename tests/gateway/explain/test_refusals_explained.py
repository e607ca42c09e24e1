"""Every refused call of the suites is explained, and the proposed change lifts the refusal."""

import json
import os
import subprocess
import sys

import pytest
from paths import TESTS

SOME = (
    "rest_compat/email/test_email_gates.py",
    "rest_compat/collab/test_collab_rules.py",
    "rest_compat/tasks/test_tasks_reads.py",
)
ALL = ("rest_compat", "graph", "gateway/http/test_entry.py")


@pytest.mark.slow
def test_every_refusal_is_explained_and_lifted_by_the_change_that_is_proposed(tmp_path):
    report = tmp_path / "report"
    everything = os.environ.get("REFUSAL_SUITES") == "all"
    suites = [str(TESTS / suite) for suite in (ALL if everything else SOME)]
    marked = ["-m", "not browser"]
    most = os.environ.get("REFUSAL_PROOFS", "0" if everything else "2")  # of one test
    modules = os.pathsep.join([str(TESTS / "helpers"), *sys.path])
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "explain_proof_plugin", *marked, *suites],
        cwd=TESTS.parent,
        env={
            **os.environ,
            "PYTHONPATH": modules,
            "REFUSAL_PROOFS": most,
            "REFUSAL_REPORT": str(report),
        },
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    lines = [json.loads(line) for line in report.read_text("utf-8").splitlines()]

    assert [line for line in lines if "mismatch" in line] == []
    proved = [line for line in lines if line["exception"] is None]
    assert len(proved) >= (650 if everything else 60), run.stdout[-5000:]
