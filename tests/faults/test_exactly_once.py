"""A short run of `exactly_once.py`; the long one is `--keys 1000 --kills 30`."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_no_send_is_doubled_or_lost_by_kills_and_lost_answers():
    script = Path(__file__).with_name("exactly_once.py")
    run = subprocess.run(
        [sys.executable, script, "--keys", "60", "--kills", "3"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert run.returncode == 0, run.stdout
    assert "60 answered 200, 0 duplicates, 0 missing" in run.stdout
