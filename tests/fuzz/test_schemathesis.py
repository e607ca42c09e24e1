"""
Generated requests against a running gateway: nothing may end in a server error.

Schemathesis reads openapi.json from the server itself. `FUZZ_EXAMPLES` sets
how many examples each operation gets, `FUZZ_SECONDS` when each run stops.
"""

import os
import subprocess
import sys
from pathlib import Path

import demo_process
import pytest

pytestmark = pytest.mark.slow

EXAMPLES = os.environ.get("FUZZ_EXAMPLES", "20")
SECONDS = os.environ.get("FUZZ_SECONDS", "40")
# What an answer must be. Left out on purpose: that every schema-valid body is accepted (rules such
# as "nobody twice" are not expressible) and that every other is refused (a limit above its maximum
# is lowered, an empty value counts as absent, unknown keys are ignored: decisions 0).
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,response_headers_conformance"
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with demo_process.running(tmp_path_factory.mktemp("fuzz"), AGW_RATE_LIMITS="off") as manifest:
        yield manifest


def fuzz(folder: Path, address: str, token: str, *words: str) -> tuple[int, str]:
    """Run schemathesis; return its exit status and what it said."""
    command = [str(Path(sys.executable).with_name("st")), "run", address, *words]
    command += ["-H", f"Authorization: Bearer {token}", "--max-examples", EXAMPLES]
    command += ["--no-color", "--generation-database", "none", "--seed", "20261120"]
    command += ["--max-time", SECONDS, "--warnings", "off", "--continue-on-failure"]
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("profile", ["full", "masked"])
def test_no_documented_path_breaks(tmp_path, demo, profile):
    status, said = fuzz(
        tmp_path,
        f"{demo['baseUrl']}/openapi.json",
        demo["tokens"][profile],
        *("--include-path-regex", "^/api/access/", "--checks", CHECKS),
    )

    assert status == 0, said[-6000:]


def test_the_management_api_does_not_break(tmp_path, demo):
    status, said = fuzz(
        tmp_path,
        f"{demo['baseUrl']}/openapi.json",
        demo["adminToken"],
        *("--exclude-path-regex", "^/api/access/", "--checks", "not_a_server_error"),
    )

    assert status == 0, said[-6000:]
