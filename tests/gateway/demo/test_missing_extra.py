"""Without the packages of the extra `demo`, its commands name the extra; the gateway needs none."""

import subprocess
import sys

import pytest

WITHOUT_EXTRA = """
import sys
sys.modules["icalendar"] = None
sys.argv = ["access-gateway", *{words!r}]
from gateway.cli.main import run
run()
"""


@pytest.mark.slow  # a process for each row
@pytest.mark.parametrize(
    "words", [["demo", "--port", "0", "--data", "demo"], ["sandbox", "--port", "0"]]
)
def test_a_missing_extra_is_named_in_one_sentence(tmp_path, words):
    program = WITHOUT_EXTRA.format(words=words)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "The demo needs the extra packages: pip install 'access-gateway[demo]'."
    )


@pytest.mark.slow  # a process
def test_the_gateway_is_assembled_without_the_sandbox():
    program = (
        "import sys, gateway.app, gateway.server, gateway.cli.main\n"
        "assert not [name for name in sys.modules if name.partition('.')[0] == 'sandbox']\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
