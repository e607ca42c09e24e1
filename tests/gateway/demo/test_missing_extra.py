"""What needs a package that is not installed names it: of an extra, or the sandbox."""

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


SECRETS = {"AGW_ADMIN_TOKEN": "the-admin-token-of-tests", "AGW_SECRET_KEYS": "a-secret-of-tests"}
SENTENCE = (
    "The module opentelemetry is not installed. AGW_TRACES_ENDPOINT needs the extra packages: "
    f"pip install 'dist/access_gateway-{VERSION}-py3-none-any.whl[traces]' "
    "(./run build makes the wheel)."
)


def run(program, folder, **variables):
    """Run a program without the extra in a process."""
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, **SECRETS, "AGW_DATA_DIR": str(folder), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow  # a process
def test_a_command_names_the_missing_extra_in_one_sentence(tmp_path):
    program = WITHOUT_EXTRA.format(
        module="opentelemetry", words=["query", "{ accessToken { id } }"]
    )
    traces = {"AGW_TRACES_ENDPOINT": "http://127.0.0.1:4318"}
    done = run(program, tmp_path, AGW_TOKEN="agw_x", **traces)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [SENTENCE]


@pytest.mark.slow  # a process
@pytest.mark.parametrize("command", ["demo", "sandbox"])
def test_a_command_says_where_the_sandbox_is(tmp_path, command):
    program = WITHOUT_EXTRA.format(module="sandbox", words=[command, "--port", "0"])
    done = run(program, tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "The module sandbox is not installed. The sandbox and the demo run in a checkout: "
        "./run demo."
    ]


@pytest.mark.slow  # a process
def test_a_worker_names_the_missing_module(tmp_path):
    program = WITHOUT_EXTRA.format(module="opentelemetry", words=[]).replace(
        "from gateway.cli.main import run\nrun()", "from gateway.server import create\ncreate()"
    )
    traces = {"AGW_TRACES_ENDPOINT": "http://127.0.0.1:4318"}
    done = run(program, tmp_path, AGW_LOG_FORMAT="json", **traces)

    assert done.returncode == STARTUP_FAILURE
    assert f"a worker could not start: {SENTENCE}" in done.stderr


@pytest.mark.slow  # a process
def test_a_gateway_without_a_collector_needs_no_opentelemetry(tmp_path):
    program = WITHOUT_EXTRA.format(module="opentelemetry", words=[]).replace(
        "from gateway.cli.main import run\nrun()",
        "from gateway.server import create\nassert create() is not None",
    )
    done = run(program, tmp_path)

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
