"""`serve` with plain options starts without the library of the command line."""

import signal
import subprocess
import sys

import pytest

from gateway.cli import serving

PLAIN = [
    ("", {}),
    ("--port 0", {"AGW_PORT": "0"}),
    (
        "--host ::1 --port 65535 --admin-port 1 --workers 64",
        {"AGW_HOST": "::1", "AGW_PORT": "65535", "AGW_ADMIN_PORT": "1", "AGW_WORKERS": "64"},
    ),
    ("--no-migrate", {"AGW_MIGRATE": "false"}),
    ("--no-migrate --migrate", {"AGW_MIGRATE": "true"}),
]
LEFT_TO_THE_COMMAND_LINE = [
    *("--help", "-h", "--port", "--port x", "--port=8000", "--port 65536", "--port -1"),
    *("--port ²", "--workers 0", "--workers 65", "--host --port", "--hosts a", "a", "--port 1 a"),
]


@pytest.mark.parametrize(("words", "variables"), PLAIN)
def test_plain_options_are_variables(words, variables):
    assert serving.plain_options(words.split()) == variables


@pytest.mark.parametrize("words", LEFT_TO_THE_COMMAND_LINE)
def test_all_else_is_left_to_the_command_line(words):
    assert serving.plain_options(words.split()) is None


def start(*words):
    command = [sys.executable, "-m", "gateway", "serve", "--port", "0", *words]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "status"),
    [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)],
    ids=["stopped", "Ctrl-C"],
)
def test_serve_ends_with_the_exit_code_of_its_signal(environment, ending, status):
    environment.setenv("AGW_DRAIN_SECONDS", "0")
    server = start()
    assert "listens at" in server.stderr.readline()
    assert any("Application startup complete" in line for line in server.stderr)
    server.send_signal(ending)

    assert server.communicate(timeout=60)[0] == ""
    assert server.returncode == status


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        pytest.param("", 1, "AGW_ADMIN_TOKEN is needed", id="failed"),
        pytest.param("--port 65536", 2, "Invalid value for '--port'", id="wrong usage"),
    ],
)
def test_serve_reports_a_failure_as_every_command_does(environment, words, status, message):
    environment.delenv("AGW_ADMIN_TOKEN")
    done = start(*words.split())
    _, told = done.communicate(timeout=60)

    assert done.returncode == status
    assert told.startswith(message)
    assert told.count("\n") == 1
