"""
A demo gateway on a fixed day, for examples that are the same in every run.

It needs libfaketime (the package `faketime`).
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from preloaded_clock import clock_library, clock_variables

ROOT = Path(__file__).parents[2]
STARTS_AT = "2026-11-20 12:34:00"
_START_SECONDS = 120


class CannotStart(Exception):
    """The demo did not start; the message has its last words."""


@dataclass(frozen=True, slots=True)
class DemoGateway:
    """
    A running demo.

    Attributes:
        base_url: `http://127.0.0.1:PORT`.
        tokens: Profile -> access token.
        environment: Variables with which commands work on the demo's database.
    """

    base_url: str
    tokens: Mapping[str, str]
    admin_token: str
    environment: Mapping[str, str]

    def call(
        self, method: str, path: str, *, profile: str = "full", **content: Any
    ) -> httpx.Response:
        """Send a request with the access token of *profile*, or with the admin token (`admin`)."""
        credential = self.admin_token if profile == "admin" else self.tokens[profile]
        headers = {"authorization": f"Bearer {credential}", **content.pop("headers", {})}
        return httpx.request(
            method, self.base_url + path, headers=headers, timeout=60, trust_env=False, **content
        )

    def run(self, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a shell script at the demo's time; `./run` in it is the gateway's command."""
        command = folder / "run"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gateway "$@"\n', "utf-8")
        command.chmod(0o755)
        return subprocess.run(
            ["/bin/bash", "-eu", "-o", "pipefail", "-c", script],
            cwd=folder,
            env={**os.environ, "CHECKOUT": str(ROOT), **self.environment, **_clock()},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )


@contextmanager
def running(folder: Path) -> Iterator[DemoGateway]:
    """
    Run a demo in *folder*.

    Raises:
        CannotStart: It did not start, or libfaketime is missing.
    """
    clock = _clock()
    manifest = folder / "manifest.json"
    command = [sys.executable, "-m", "gateway", "demo", "--port", "0"]
    command += ["--data", str(folder / "data"), "--manifest", str(manifest)]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AGW_")},
        "AGW_RATE_LIMITS": "off",
        **clock,
        "NO_COLOR": "1",
        "TZ": "UTC",
    }
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment)
    try:
        described = _when_ready(manifest, server, folder / "log")
        secret_key = json.loads((folder / "data" / "demo.json").read_text())["secret_key"]
        yield DemoGateway(
            base_url=described["baseUrl"],
            tokens=described["tokens"],
            admin_token=described["adminToken"],
            environment={
                "AGW_DATA_DIR": str(folder / "data"),
                "AGW_SECRET_KEYS": secret_key,
                "AGW_ADMIN_TOKEN": described["adminToken"],
                "AGW_SANDBOX": "true",
                "AGW_PUBLIC_URL": described["baseUrl"],
                "OPERATOR": described["operatorId"],
                "NO_COLOR": "1",
                "COLUMNS": "200",
                "TZ": "UTC",
                **{name.upper(): text for name, text in described["tokens"].items()},
            },
        )
    finally:
        server.terminate()
        server.wait(120)


def _clock() -> dict[str, str]:
    library = clock_library()
    if library is None:
        raise CannotStart("This needs libfaketime: install the package faketime.")
    return clock_variables(library, FAKETIME=f"@{STARTS_AT}")


def _when_ready(manifest: Path, server: subprocess.Popen[bytes], log: Path) -> dict[str, Any]:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with suppress(OSError, ValueError):
            described: dict[str, Any] = json.loads(manifest.read_text("utf-8"))
            port = int(described["baseUrl"].rpartition(":")[2])
            socket.create_connection(("127.0.0.1", port), 1).close()
            return described
        time.sleep(0.1)
    raise CannotStart(f"The demo did not start:\n{log.read_text('utf-8', 'replace')[-2000:]}")
