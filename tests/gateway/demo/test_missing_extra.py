"""Without the packages of an extra, what needs them names the extra; the gateway needs none."""

import os
import subprocess
import sys

import pytest
from uvicorn.config import STARTUP_FAILURE

from gateway.version import VERSION

WITHOUT_EXTRA = """
import sys
sys.modules["{module}"] = None
sys.argv = ["access-gateway", *{words!r}]
from gateway.cli.main import run
run()
"""


@pytest.mark.slow  # a process for each row
@pytest.mark.parametrize(
    "words", [["demo", "--port", "0", "--data", "demo"], ["sandbox", "--port", "0"]]
)
def test_a_missing_extra_is_named_in_one_sentence(tmp_path, words):
    program = WITHOUT_EXTRA.format(module="icalendar", words=words)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "The module icalendar is not installed. The sandbox needs the extra packages: "
        f"pip install 'dist/access_gateway-{VERSION}-py3-none-any.whl[demo]' "
        "(./run build makes the wheel)."
    )


MISSING = {
    "icalendar": ({"AGW_SANDBOX": "true"}, "The sandbox", "demo"),
    "opentelemetry": (
        {"AGW_TRACES_ENDPOINT": "http://127.0.0.1:4318"}, "AGW_TRACES_ENDPOINT", "traces"
    ),
}  # fmt: skip


@pytest.mark.slow  # a process for each row
@pytest.mark.parametrize("module", MISSING)
def test_a_worker_names_the_missing_module(tmp_path, module):
    settings, user, extra = MISSING[module]
    program = WITHOUT_EXTRA.format(module=module, words=[]).replace(
        "from gateway.cli.main import run\nrun()", "from gateway.server import create\ncreate()"
    )
    secrets = {
        "AGW_ADMIN_TOKEN": "the-admin-token-of-tests",
        "AGW_SECRET_KEYS": "a-secret-of-tests",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, **secrets, **settings, "AGW_LOG_FORMAT": "json"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == STARTUP_FAILURE
    assert (
        f"a worker could not start: The module {module} is not installed. {user} needs the extra "
        f"packages: pip install 'dist/access_gateway-{VERSION}-py3-none-any.whl[{extra}]' "
        "(./run build makes the wheel)."
    ) in done.stderr


@pytest.mark.slow  # a process
def test_a_gateway_without_a_collector_needs_no_opentelemetry(tmp_path):
    program = WITHOUT_EXTRA.format(module="opentelemetry", words=[]).replace(
        "from gateway.cli.main import run\nrun()",
        "from gateway.server import create\nassert create() is not None",
    )
    secrets = {
        "AGW_ADMIN_TOKEN": "the-admin-token-of-tests",
        "AGW_SECRET_KEYS": "a-secret-of-tests",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, **secrets},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


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
